//! Which calls are calls of libraries, under which name, and why some are left alone.

use super::{Found, Walk};
use crate::knowledge;
use crate::resolve::STAR;
use crate::tree::*;
use crate::values::{Value, Values};

/// Of what is one of several, so many are named.
const MOST_NAMES: usize = 3;

impl<'a> Walk<'a> {
    /// Notes a call if it is one of a library.
    pub(super) fn note(&mut self, expr: &'a Expr, call: &'a Call, callee: &Values) {
        if self.found.is_none() {
            return;
        }
        let Some((name, reason)) = self.judge(call, callee) else { return };
        let reason = reason
            .or_else(|| self.left.map(str::to_owned))
            .or_else(|| self.known.traced(self.scope).map(str::to_owned));
        let callee = expr.span.start;
        let found = Found { span: expr.span, callee, open: call.open, name, reason };
        self.found.iter_mut().for_each(|all| all.push(found.clone()));
    }

    /// The name of what is called, and why the call cannot be instrumented; `None` if it is no call of a library.
    pub(super) fn judge(&self, call: &'a Call, callee: &Values) -> Option<(String, Option<String>)> {
        let mut names: Vec<String> = Vec::new();
        for value in callee.iter() {
            if let Some(name) = self.library_name(value)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        if !names.is_empty() {
            if names.len() > MOST_NAMES {
                names.truncate(MOST_NAMES);
                names.push("…".to_owned());
            }
            return Some((names.join("|"), None));
        }
        for value in callee.iter() {
            if let Value::Computed(path) = value
                && self.known.is_library(path)
            {
                let name = self.known.paths.name(path);
                let reason = if name.contains(STAR) {
                    "the name may come from `import *`"
                } else {
                    "getattr with a name that only the running program knows"
                };
                return Some((name.replace(STAR, "."), Some(reason.to_owned())));
            }
        }
        self.judge_unknown(call, callee)
    }

    /// A method of something that is passed in from elsewhere, and that frameworks have.
    pub(super) fn judge_unknown(&self, call: &'a Call, callee: &Values) -> Option<(String, Option<String>)> {
        let ExprKind::Attribute(receiver, method) = &call.callee.kind else { return None };
        if !callee.is_empty() || !self.imports_library.contains(&self.known.file) || !knowledge::is_telling(method)
        {
            return None;
        }
        let ExprKind::Name(name) = &receiver.kind else { return None };
        self.known
            .is_unknown_parameter(self.scope, name)
            .then(|| (format!("?.{method}"), Some(format!("nothing here says what `{name}` is"))))
    }

    /// The name of a library's thing as it is called.
    pub(super) fn library_name(&self, value: Value) -> Option<String> {
        match value {
            Value::Path { path, is_object } if self.known.is_library(path) => {
                let name = self.known.paths.name(path);
                Some(if is_object { format!("{name}.__call__") } else { name.to_owned() })
            }
            Value::Class(class) => {
                let base = self.known.library_base(class).filter(|base| self.known.is_library(*base))?;
                Some(self.known.paths.name(base).to_owned())
            }
            Value::Instance(class) => {
                let base = self.known.library_base(class).filter(|base| self.known.is_library(*base))?;
                (!self.known.defines(class, "__call__"))
                    .then(|| format!("{}.__call__", self.known.paths.name(base)))
            }
            _ => None,
        }
    }
}
