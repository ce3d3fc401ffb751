//! Which modules of a program are which of its files, and what each file's imports mean.

use rustc_hash::FxHashMap;

use crate::syntax::with_stack;

/// A module: a file, or a folder of them that has no file of its own.
#[derive(Debug, Default)]
struct Linked {
    file: Option<usize>,
    /// Modules inside of a package, by name.
    inside: FxHashMap<Box<str>, u32>,
}

/// The modules of a program.
#[derive(Debug, Default)]
pub(crate) struct Links {
    modules: Vec<Linked>,
    /// What the imports of each file name, dots first: `pkg.model`, `..model`, `.`.
    imports: Vec<FxHashMap<Box<str>, u32>>,
    /// The files that each file has imported, packages around them included.
    needed: Vec<Vec<usize>>,
}

impl Links {
    /// Adds a module and gives its number.
    pub fn add(&mut self, file: Option<usize>) -> u32 {
        self.modules.push(Linked { file, ..Linked::default() });
        self.modules.len() as u32 - 1
    }

    /// Puts a module into a package.
    pub fn put(&mut self, package: u32, name: &str, module: u32) {
        if let Some(package) = self.modules.get_mut(package as usize) {
            package.inside.insert(name.into(), module);
        }
    }

    /// Notes what an import of a file names.
    pub fn import(&mut self, file: usize, name: String, module: u32) {
        place(&mut self.imports, file).insert(name.into(), module);
    }

    /// Notes that a file imports a module.
    pub fn need(&mut self, file: usize, module: u32) {
        if let Some(other) = self.file(module) {
            let needed = place(&mut self.needed, file);
            if !needed.contains(&other) {
                needed.push(other);
            }
        }
    }

    /// The file of a module.
    pub fn file(&self, module: u32) -> Option<usize> {
        self.modules.get(module as usize)?.file
    }

    /// A module inside of a package.
    pub fn inside(&self, package: u32, name: &str) -> Option<u32> {
        self.modules.get(package as usize)?.inside.get(name).copied()
    }

    /// What a file calls by a name with its dots.
    pub fn module(&self, file: usize, name: &str) -> Option<u32> {
        self.imports.get(file)?.get(name).copied()
    }

    /// What a file calls by so many dots and a name.
    pub fn relative(&self, file: usize, level: u32, name: &str) -> Option<u32> {
        if level == 0 { self.module(file, name) } else { self.module(file, &dotted(level, name)) }
    }

    /// The files that a file imports.
    pub fn needed(&self, file: usize) -> &[usize] {
        self.needed.get(file).map_or(&[], Vec::as_slice)
    }

    /// The given files, those that import any of them, and whatever all these import.
    pub fn around(&self, files: &[usize], count: usize) -> Vec<bool> {
        let mut importers: Vec<Vec<usize>> = vec![Vec::new(); count];
        for file in 0..count {
            for other in self.needed(file) {
                place(&mut importers, *other).push(file);
            }
        }
        let above = reached(files, count, |file| importers.get(file).map_or(&[], Vec::as_slice));
        let above: Vec<usize> = (0..count).filter(|file| above.get(*file) == Some(&true)).collect();
        reached(&above, count, |file| self.needed(file))
    }

    /// The files that take part, in groups that import each other, and in each what is imported first.
    pub fn groups(&self, takes_part: &[bool]) -> Vec<Vec<usize>> {
        let count = takes_part.len();
        let does = |file: usize| takes_part.get(file) == Some(&true);
        let mut beside: Vec<Vec<usize>> = vec![Vec::new(); count];
        for file in (0..count).filter(|file| does(*file)) {
            for other in self.needed(file).iter().filter(|other| does(**other)) {
                place(&mut beside, *other).push(file);
                place(&mut beside, file).push(*other);
            }
        }
        let mut is_placed = vec![false; count];
        let mut groups = Vec::new();
        for first in (0..count).filter(|file| does(*file)) {
            if is_placed.get(first) != Some(&false) {
                continue;
            }
            let together = reached(&[first], count, |file| beside.get(file).map_or(&[], Vec::as_slice));
            let mut group = Vec::new();
            for file in (0..count).filter(|file| together.get(*file) == Some(&true)) {
                self.imported_first(file, &mut is_placed, &does, &mut group);
            }
            groups.push(group);
        }
        groups
    }

    fn imported_first(
        &self,
        file: usize,
        is_placed: &mut [bool],
        does: &impl Fn(usize) -> bool,
        order: &mut Vec<usize>,
    ) {
        match is_placed.get_mut(file) {
            Some(is_placed) if !*is_placed && does(file) => *is_placed = true,
            _ => return,
        }
        for other in self.needed(file) {
            with_stack(|| self.imported_first(*other, is_placed, does, order));
        }
        order.push(file);
    }
}

/// What can be reached from some files.
pub(crate) fn reached<'n>(from: &[usize], count: usize, next: impl Fn(usize) -> &'n [usize]) -> Vec<bool> {
    let mut is_reached = vec![false; count];
    let mut waiting = from.to_vec();
    while let Some(file) = waiting.pop() {
        match is_reached.get_mut(file) {
            Some(is_reached) if !*is_reached => *is_reached = true,
            _ => continue,
        }
        waiting.extend(next(file));
    }
    is_reached
}

/// The place of a file in a table that grows with its files.
fn place<T: Default>(table: &mut Vec<T>, file: usize) -> &mut T {
    if table.len() <= file {
        table.resize_with(file + 1, T::default);
    }
    &mut table[file]
}

/// The name of an import with its dots.
pub(crate) fn dotted(level: u32, name: &str) -> String {
    format!("{}{name}", ".".repeat(level as usize))
}
