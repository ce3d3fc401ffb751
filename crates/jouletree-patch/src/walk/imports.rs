//! Imports: what they bind.

use super::Walk;
use crate::tree::*;
use crate::values::Value;

impl<'a> Walk<'a> {
    pub(super) fn import(&mut self, alias: &'a Alias) {
        let path = match alias.renamed {
            Some(_) => &*alias.name,
            None => alias.name.split('.').next().unwrap_or(&alias.name),
        };
        self.bind_path(alias.renamed.as_deref().unwrap_or(path), path);
    }

    pub(super) fn import_from(&mut self, module: Option<&str>, names: &'a [Alias], level: u32) {
        let module = module.unwrap_or_default();
        let dots = ".".repeat(level as usize);
        for alias in names.iter().filter(|alias| &*alias.name != "*") {
            let path = if module.is_empty() {
                format!("{dots}{}", alias.name)
            } else {
                format!("{dots}{module}.{}", alias.name)
            };
            self.bind_path(alias.renamed.as_deref().unwrap_or(&alias.name), &path);
        }
    }

    pub(super) fn bind_path(&mut self, name: &'a str, path: &str) {
        self.imports_library |= self.known.is_library_name(path);
        let path = self.known.paths.id(path);
        self.known.assign(self.scope, name, Value::Path { path, is_object: false }.into());
    }
}
