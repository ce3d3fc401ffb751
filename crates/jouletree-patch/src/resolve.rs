//! What names, attributes and calls refer to. Values flow along assignments, arguments and results until nothing new is
//! learned; within a scope in the order of the text, between scopes as whatever a name ever refers to.

mod branches;
mod classes;
mod containers;
mod functions;
mod modules;

use rustc_hash::FxHashMap;

use crate::links::Links;
use crate::scopes::{Binding, Scopes};
use crate::tree::*;
use crate::values::{PathId, Paths, Values};
use crate::walk::Program;

/// What is inside of a container.
#[derive(Debug, Default, Clone)]
pub(crate) struct Container<'a> {
    pub is_dictionary: bool,
    /// Elements, or a dictionary's values, wherever they are.
    pub any: Values,
    /// Elements of a tuple by place.
    pub slots: Vec<Values>,
    /// Values of a dictionary by the keys that are plain text.
    pub keys: FxHashMap<&'a str, Values>,
}

/// Why a container is there, beside displays, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Made {
    /// What a generator function yields.
    Yields(u32),
    /// `*args` or `**kwargs` of a function.
    Extra(u32, bool),
    /// What a built-in function makes, by the file and where it is called.
    By(usize, u32, u8),
}

/// An argument as it is passed.
pub(crate) type Passed<'a> = (&'a ArgumentName, Values);

/// How a function of a class is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Plain,
    Property,
    Static,
    OfClass,
}

/// Everything that is known about a program.
pub(crate) struct Knowledge<'a> {
    pub scopes: Scopes<'a>,
    pub paths: Paths<'a>,
    pub containers: Vec<Container<'a>>,
    made: FxHashMap<Made, u32>,
    /// Whether anything was learned since this was last unset.
    pub is_new: bool,
    /// What assignments have overwritten, so that branches can be undone.
    log: Vec<Overwritten<'a>>,
    libraries: &'a [String],
    /// Which names of modules are files of the program.
    pub links: &'a Links,
    /// The file that is walked.
    pub file: usize,
}

#[derive(Debug, Clone, Copy)]
struct Overwritten<'a> {
    scope: usize,
    name: &'a str,
    before: Binding,
}

/// What a branch has assigned: scope, name, before and after.
type Outcome<'a> = FxHashMap<(usize, &'a str), (Binding, Binding)>;

/// The mark in a path of what may come from `import *`.
pub(crate) const STAR: &str = ".*.";

impl<'a> Knowledge<'a> {
    pub fn new(program: &Program<'a>, libraries: &'a [String]) -> Knowledge<'a> {
        let counts = &program.counts;
        Knowledge {
            scopes: Scopes::of(&program.modules, counts),
            paths: Paths::default(),
            containers: vec![Container::default(); counts.displays],
            made: FxHashMap::default(),
            is_new: false,
            log: Vec::new(),
            libraries,
            links: program.links,
            file: 0,
        }
    }

    /// Whether a path is of one of the wanted libraries.
    pub fn is_library(&self, path: PathId) -> bool {
        self.is_library_name(self.paths.name(path))
    }

    pub fn is_library_name(&self, name: &str) -> bool {
        let inside = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.libraries.iter().any(|library| name.strip_prefix(library.as_str()).is_some_and(inside))
    }

    /// Forgets where the program has come to, so that it can be walked again from the start of a scope.
    pub fn begin(&mut self, scope: usize) {
        if let Some(scope) = self.scopes.all.get_mut(scope) {
            scope.names.values_mut().for_each(|binding| binding.is_assigned = false);
        }
        self.log.clear();
    }

    fn binding(&mut self, scope: usize, name: &'a str) -> Option<&mut Binding> {
        Some(self.scopes.all.get_mut(scope)?.names.entry(name).or_default())
    }

    /// Adds to what a name ever refers to.
    pub fn learn(&mut self, scope: usize, name: &'a str, values: &Values) {
        if let Some(binding) = self.binding(scope, name)
            && binding.ever.join(values)
        {
            self.is_new = true;
        }
    }

    /// Assigns a name where the program has come to.
    pub fn assign(&mut self, scope: usize, name: &'a str, values: Values) {
        let target = self.scopes.assigned_in(scope, name);
        self.learn(target, name, &values);
        if target != scope {
            return;
        }
        if let Some(binding) = self.binding(scope, name) {
            let before = *binding;
            binding.now = values;
            binding.is_assigned = true;
            self.log.push(Overwritten { scope, name, before });
        }
    }

    /// What a name refers to; `None` where nothing in the program binds it.
    pub fn read(&self, scope: usize, name: &str) -> Option<Values> {
        let (owner, is_same_run) = self.scopes.find(scope, name)?;
        let binding = self.scopes.all.get(owner)?.names.get(name)?;
        let is_now = is_same_run && binding.is_assigned && !binding.is_shared;
        Some(if is_now { binding.now } else { binding.ever })
    }

    /// Whether a name is a parameter of which nothing is known.
    pub fn is_unknown_parameter(&self, scope: usize, name: &str) -> bool {
        let binding =
            self.scopes.find(scope, name).and_then(|(owner, _)| self.scopes.all.get(owner)?.names.get(name));
        binding.is_some_and(|binding| binding.is_parameter && binding.ever.is_empty())
    }
}
