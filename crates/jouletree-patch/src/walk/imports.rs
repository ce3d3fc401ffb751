//! Imports: what they bind.

use super::Walk;
use crate::links::dotted;
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Walk<'a> {
    pub(super) fn import(&mut self, alias: &'a Alias) {
        let path = match alias.renamed {
            Some(_) => &*alias.name,
            None => alias.name.split('.').next().unwrap_or(&alias.name),
        };
        let name = alias.renamed.as_deref().unwrap_or(path);
        match self.known.links.module(self.known.file, path) {
            Some(module) => self.known.assign(self.scope, name, Value::Module(module).into()),
            None => self.bind_path(name, path),
        }
    }

    pub(super) fn import_from(&mut self, module: Option<&str>, names: &'a [Alias], level: u32) {
        let from = dotted(level, module.unwrap_or_default());
        let file = self.known.links.module(self.known.file, &from);
        for alias in names.iter().filter(|alias| &*alias.name != "*") {
            let name = alias.renamed.as_deref().unwrap_or(&alias.name);
            match file {
                Some(file) => {
                    let values: Values = self.known.module_member(file, &alias.name).unwrap_or_default();
                    self.known.assign(self.scope, name, values);
                }
                None if from.ends_with('.') => self.bind_path(name, &format!("{from}{}", alias.name)),
                None => self.bind_path(name, &format!("{from}.{}", alias.name)),
            }
        }
    }

    fn bind_path(&mut self, name: &'a str, path: &str) {
        if self.known.is_library_name(path) {
            self.imports_library.insert(self.known.file);
        }
        let path = self.known.paths.id(path);
        self.known.assign(self.scope, name, Value::Path { path, is_object: false }.into());
    }
}
