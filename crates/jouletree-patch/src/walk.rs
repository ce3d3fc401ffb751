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

use crate::resolve::Knowledge;
use crate::scopes::MODULE;
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

/// Finds the calls of libraries, in the order of the text; of a chain the first call comes first.
pub(crate) fn find(module: &Module, libraries: &[String]) -> Vec<Found> {
    let mut walk = Walk {
        known: Knowledge::new(module, libraries),
        scope: MODULE,
        function: None,
        class: None,
        left: None,
        found: None,
        imports_library: false,
    };
    walk.learn(module);
    walk.known.hand_parameters();
    walk.learn(module);
    walk.found = Some(Vec::new());
    walk.all(module);
    let mut found = walk.found.unwrap_or_default();
    found.sort_by_key(|site| (site.span.start, site.span.end));
    found
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
    imports_library: bool,
}

impl<'a> Walk<'a> {
    fn learn(&mut self, module: &'a Module) {
        for _ in 0..MOST_WALKS {
            self.known.is_new = false;
            self.all(module);
            if !self.known.is_new {
                break;
            }
        }
    }

    fn all(&mut self, module: &'a Module) {
        self.known.begin(MODULE);
        self.body(&module.body);
        for index in 0..self.known.scopes.functions.len() {
            self.function_body(index as u32);
        }
    }
}
