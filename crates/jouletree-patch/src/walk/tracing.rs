//! Which functions a framework compiles instead of running them.

use super::Walk;
use crate::knowledge;
use crate::resolve::Passed;
use crate::values::{PathId, Value, Values};

impl<'a> Walk<'a> {
    /// Marks a function as traced, if `path` traces; returns the value of the compiled function.
    pub(super) fn trace_function(&mut self, path: PathId, function: u32) -> Option<Value> {
        let name = self.known.paths.name(path);
        if !knowledge::is_tracer(name) {
            return None;
        }
        let handed = knowledge::handed_by_tracer(name);
        let reason = format!("traced by {name}");
        self.known.trace(function, &reason, handed);
        Some(Value::Path { path, is_object: true })
    }

    pub(super) fn trace_methods(&mut self, class: u32) {
        let Some(base) = self.known.library_base(class) else { return };
        let base = self.known.paths.name(base).to_owned();
        for method in knowledge::traced_methods(&base) {
            let body = self.known.scopes.all.get(self.known.scopes.of_class(class as usize));
            let values = body.and_then(|body| body.names.get(method)).map(|binding| binding.ever);
            for value in values.unwrap_or_default().iter() {
                if let Value::Function(function) = value {
                    self.known.trace(
                        function,
                        &format!("traced: {base} calls {method}() while it compiles"),
                        None,
                    );
                }
            }
        }
    }

    /// A class under `torch.jit.script` is compiled with all its methods.
    pub(super) fn trace_compiled_class(&mut self, scope: usize, decorators: &Values) {
        let methods: Vec<Values> = match self.known.scopes.all.get(scope) {
            Some(body) => body.names.values().map(|binding| binding.ever).collect(),
            None => return,
        };
        for decorator in decorators.iter() {
            let Value::Path { path, .. } = decorator else { continue };
            for value in methods.iter().flat_map(Values::iter) {
                if let Value::Function(function) = value {
                    self.trace_function(path, function);
                }
            }
        }
    }

    /// What traced code hands to a library is traced as well: `strategy.run(step)`.
    pub(super) fn trace_passed(&mut self, passed: &[Passed<'a>]) {
        for value in passed.iter().flat_map(|(_, values)| values.iter().collect::<Vec<_>>()) {
            if let Value::Function(function) | Value::Method(function) = value {
                self.known.trace(function, "traced: called from traced code", None);
            }
        }
    }

    /// A call of something that traces the functions among its arguments.
    pub(super) fn apply_tracer(
        &mut self,
        path: PathId,
        name: &str,
        is_tracer: bool,
        passed: &[Passed<'a>],
    ) -> Values {
        let reason = format!("traced by {name}");
        let handed = knowledge::handed_by_tracer(name);
        let mut compiled = Values::default();
        for value in passed.iter().flat_map(|(_, values)| values.iter().collect::<Vec<_>>()) {
            match value {
                Value::Function(function) | Value::Method(function) => {
                    self.known.trace(function, &reason, handed);
                    compiled.add(value);
                }
                Value::Instance(class) if is_tracer => {
                    self.trace_call(class, &reason, handed);
                    compiled.add(value);
                }
                _ => {}
            }
        }
        if !is_tracer {
            return if knowledge::is_plain_result(name) { Values::default() } else { self.object_of(path).into() };
        }
        // A compiled model is still that model; a compiled function is the library's.
        let is_model = |value: &Value| matches!(value, Value::Instance(_));
        if compiled.as_slice().iter().any(is_model) {
            return compiled.iter().filter(is_model).collect();
        }
        Values::from(Value::Path { path, is_object: true }).joined(&compiled)
    }

    /// Marks what runs when an instance is called.
    pub(super) fn trace_call(&mut self, class: u32, reason: &str, handed: Option<&'static str>) {
        let instance: Values = Value::Instance(class).into();
        for method in ["forward", "call", "__call__"] {
            let found = self.known.attribute(&instance, method);
            for value in found.iter() {
                if let Value::Method(function) = value {
                    self.known.trace(function, reason, handed);
                }
            }
        }
    }
}
