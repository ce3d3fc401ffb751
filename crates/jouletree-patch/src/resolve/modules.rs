//! Files of the program as other files see them: their names, and those that come by `import *`.

use super::{Knowledge, STAR};
use crate::knowledge;
use crate::values::{Value, Values};

/// How many files `import *` is followed through.
const MOST_STARS: usize = 8;

impl<'a> Knowledge<'a> {
    /// `module.member`; `None` where the file does not say what that is.
    pub fn module_member(&mut self, module: u32, member: &str) -> Option<Values> {
        let seen = self.seen_in(module, member, MOST_STARS);
        if seen.is_some_and(|values| !values.is_empty()) {
            return seen;
        }
        // A module inside of a package, once it is imported: perhaps `from . import member` in the package itself.
        self.links.inside(module, member).map(|inner| Value::Module(inner).into()).or(seen)
    }

    fn seen_in(&mut self, module: u32, member: &str, stars: usize) -> Option<Values> {
        let file = self.links.file(module)?;
        let binding = self.scopes.all.get(file).and_then(|scope| scope.names.get(member));
        match binding {
            Some(binding) => Some(binding.ever),
            None => self.starred(file, member, stars),
        }
    }

    /// What a name that a file does not bind refers to, if the file has it by `import *`.
    pub fn imported_by_star(&mut self, file: usize, name: &str) -> Option<Values> {
        self.starred(file, name, MOST_STARS)
    }

    fn starred(&mut self, file: usize, name: &str, stars: usize) -> Option<Values> {
        if stars == 0 || self.scopes.stars.get(file).is_none_or(Vec::is_empty) || name.starts_with('_') {
            return None;
        }
        let mut computed = None;
        for (level, module) in self.scopes.stars.get(file).cloned().unwrap_or_default() {
            let values = match self.links.relative(file, level, module) {
                Some(module) => self.seen_in(module, name, stars - 1),
                None if level == 0 && self.is_library_name(module) && !knowledge::is_builtin(name) => {
                    let path = self.paths.id(&format!("{module}{STAR}{name}"));
                    Some(Value::Computed(path).into())
                }
                None => None,
            };
            // What a file says is more than what a library may have.
            match values {
                Some(values) if values.iter().any(|value| matches!(value, Value::Computed(_))) => {
                    computed = computed.or(Some(values));
                }
                Some(values) => return Some(values),
                None => {}
            }
        }
        computed
    }

    /// Everything that a file defines and shows.
    pub fn defined_in(&self, module: u32) -> Values {
        let Some(scope) = self.links.file(module).and_then(|file| self.scopes.all.get(file)) else {
            return Values::default();
        };
        let mut shown: Vec<_> = scope.names.iter().filter(|(name, _)| !name.starts_with('_')).collect();
        shown.sort_unstable_by_key(|(name, _)| **name);
        let is_defined = |value: &Value| matches!(value, Value::Class(_) | Value::Function(_));
        shown
            .into_iter()
            .flat_map(|(_, binding)| binding.ever.iter().filter(is_defined).collect::<Vec<_>>())
            .collect()
    }
}
