//! Walks a program, as often as there is something to learn, and at last notes its calls of libraries.

mod annotations;
mod builtins;
mod calls;
mod definitions;
mod expressions;
mod imports;
mod notes;
mod statements;
mod targets;
mod tracing;

use rustc_hash::FxHashSet;

use crate::links::Links;
use crate::resolve::Knowledge;
use crate::tree::*;

/// How often a program is walked at most. Each walk follows a value at least one function further.
const MOST_WALKS: usize = 20;

/// A call of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub span: Span,
    /// Where its callee begins and where its arguments open.
    pub callee: u32,
    pub open: u32,
    pub name: String,
    /// Why it is left as it is.
    pub reason: Option<String>,
}

/// The files of a program.
pub(crate) struct Program<'a> {
    pub modules: Vec<&'a Module>,
    pub counts: Counts,
    pub links: &'a Links,
}

/// Finds the calls of libraries in the files that take part, in the order of the text; of a chain the first call comes
/// first. Files that have nothing to do with each other are walked apart.
pub(crate) fn find(program: &Program<'_>, libraries: &[String], takes_part: &[bool]) -> Vec<Vec<Found>> {
    let mut walk = Walk {
        known: Knowledge::new(program, libraries),
        scope: 0,
        function: None,
        class: None,
        left: None,
        found: None,
        imports_library: FxHashSet::default(),
    };
    let mut all: Vec<Vec<Found>> = program.modules.iter().map(|_| Vec::new()).collect();
    for together in program.links.groups(takes_part) {
        let modules: Vec<(usize, &Module)> =
            together.iter().filter_map(|file| Some((*file, *program.modules.get(*file)?))).collect();
        walk.learn(&modules);
        walk.known.is_new = false;
        modules.iter().for_each(|(_, module)| walk.known.hand_parameters(module.functions.clone()));
        if walk.known.is_new {
            walk.learn(&modules);
        }
        for (file, module) in modules {
            if let Some(place) = all.get_mut(file) {
                walk.found = Some(Vec::new());
                walk.file(file, module);
                *place = walk.found.take().unwrap_or_default();
                place.sort_by_key(|site| (site.span.start, site.span.end));
            }
        }
    }
    all
}

struct Walk<'a> {
    known: Knowledge<'a>,
    scope: usize,
    /// The function whose body is walked.
    function: Option<u32>,
    /// The class of which the walked function is a method, for `super()`.
    class: Option<u32>,
    /// Why nothing here is instrumented.
    left: Option<&'static str>,
    /// Calls, once everything is known.
    found: Option<Vec<Found>>,
    /// The files that import a library.
    imports_library: FxHashSet<usize>,
}

impl<'a> Walk<'a> {
    /// Walks files until none has a result that is new to the others. Results flow from what is imported to who
    /// imports it, arguments the other way: so they are walked in both orders.
    fn learn(&mut self, modules: &[(usize, &'a Module)]) {
        let mut news = 0_usize;
        let mut known: Vec<Option<usize>> = vec![None; modules.len()];
        for walk in 0..MOST_WALKS {
            let mut is_done = true;
            for step in 0..modules.len() {
                let number = if walk % 2 == 0 { step } else { modules.len() - 1 - step };
                let (Some((file, module)), Some(known)) = (modules.get(number), known.get_mut(number)) else {
                    continue;
                };
                if *known == Some(news) {
                    continue;
                }
                *known = Some(news);
                is_done = false;
                self.known.is_new = false;
                self.file(*file, module);
                news += usize::from(self.known.is_new);
            }
            if is_done {
                break;
            }
        }
    }

    fn file(&mut self, file: usize, module: &'a Module) {
        (self.known.file, self.scope) = (file, file);
        self.known.begin(file);
        self.body(&module.body);
        for index in module.functions.clone() {
            self.function_body(index as u32);
        }
    }
}
