//! Functions and classes where they are defined: decorators, parameters, bases.

use super::Walk;
use crate::knowledge;
use crate::resolve::{Access, Made};
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Walk<'a> {
    /// Walks the body of a function. Those of lambdas are walked in place.
    pub(super) fn function_body(&mut self, index: u32) {
        let Some(facts) = self.known.facts(index) else { return };
        let (node, class, parent) = (facts.node, facts.class, facts.parent);
        let FunctionBody::Statements(body) = &node.body else { return };
        let scope = self.known.scopes.of_function(index as usize);
        self.known.begin(scope);
        let class = class.map(|class| class as u32).or_else(|| self.class_around(parent));
        self.bind_self(index, node, scope);
        let before = (self.scope, self.function, self.class);
        (self.scope, self.function, self.class) = (scope, Some(index), class);
        self.body(body);
        (self.scope, self.function, self.class) = before;
    }

    /// The class of the method around a nested function, whose `super()` it may use.
    pub(super) fn class_around(&self, mut scope: usize) -> Option<u32> {
        loop {
            let here = self.known.scopes.all.get(scope).filter(|here| scope != here.module)?;
            if let Some(class) = self.known.scopes.class_of(scope) {
                return Some(class as u32);
            }
            scope = here.parent;
        }
    }

    pub(super) fn bind_self(&mut self, index: u32, node: &'a Function, scope: usize) {
        let class = self.known.facts(index).and_then(|facts| facts.class);
        let Some((class, first)) = class.zip(node.parameters.first()) else { return };
        let class = class as u32;
        let value = match self.known.access(index) {
            Access::Static => return,
            Access::OfClass => Value::Class(class),
            Access::Plain if &*node.name == "__new__" => Value::Class(class),
            Access::Plain | Access::Property => Value::Instance(class),
        };
        self.known.learn(scope, &first.name, &value.into());
    }

    pub(super) fn define(&mut self, function: &'a Function) {
        let index = function.index as u32;
        let mut given: Values = Value::Function(index).into();
        for decorator in &function.decorators {
            let values = self.left_alone("decorator", |walk| walk.expr(decorator));
            for value in values.iter() {
                if let Value::Path { path, .. } = value
                    && let Some(tracer) = self.trace_function(path, index)
                {
                    // Calling what a tracer has made runs what the library has compiled.
                    given = Values::from(tracer).joined(&given);
                }
            }
            let compiled = self.decorate(&values, Value::Function(index), decorator);
            given = compiled.joined(&given);
        }
        self.parameters(function);
        if let Some(returns) = &function.returns {
            let annotated = self.annotated(returns);
            if self.known.facts(index).is_some_and(|facts| facts.returns.is_empty() && !facts.is_generator) {
                self.known.returns(index, &annotated);
            }
        }
        self.known.assign(self.scope, &function.name, given);
    }

    /// Lets the program's own decorators have what they decorate: they may keep it in a table. What they give is taken to be
    /// the same thing, unless it is what a library has compiled.
    fn decorate(&mut self, decorators: &Values, decorated: Value, at: &Expr) -> Values {
        let is_own = |value: &Value| matches!(value, Value::Function(_) | Value::Method(_) | Value::Instance(_));
        let own: Values = decorators.iter().filter(is_own).collect();
        let given = self.apply(&own, &[(&ArgumentName::Positional, decorated.into())], at.span.start);
        let is_compiled = |value: &Value| match value {
            Value::Path { path, is_object: true } => knowledge::is_tracer(self.known.paths.name(*path)),
            _ => false,
        };
        given.iter().filter(is_compiled).collect()
    }

    pub(super) fn parameters(&mut self, function: &'a Function) {
        let scope = self.known.scopes.of_function(function.index);
        for parameter in &function.parameters {
            let mut values = parameter.default.as_ref().map(|default| self.expr(default)).unwrap_or_default();
            if let Some(annotation) = &parameter.annotation {
                let annotated = self.annotated(annotation);
                match parameter.kind {
                    ParameterKind::Star => {
                        let container = self.known.container(Made::Extra(function.index as u32, false));
                        self.known.put(container, &annotated);
                        values.add(Value::Container(container));
                    }
                    ParameterKind::DoubleStar => {}
                    _ => {
                        values.join(&annotated);
                    }
                }
            }
            self.known.learn(scope, &parameter.name, &values);
        }
    }

    pub(super) fn class(&mut self, class: &'a Class) {
        let mut tracers = Values::default();
        for decorator in &class.decorators {
            let values = self.left_alone("decorator", |walk| walk.expr(decorator));
            self.decorate(&values, Value::Class(class.index as u32), decorator);
            tracers.join(&values);
        }
        let mut bases = Vec::new();
        for argument in &class.arguments {
            let values = self.expr(&argument.value);
            if argument.name == ArgumentName::Positional {
                bases.push(values);
            }
        }
        if let Some(Some(facts)) = self.known.scopes.classes.get_mut(class.index) {
            let is_same = |(old, new): (&Values, &Values)| old.as_slice() == new.as_slice();
            if facts.bases.len() != bases.len() || !facts.bases.iter().zip(&bases).all(is_same) {
                facts.bases = bases;
                self.known.is_new = true;
            }
        }
        let scope = self.known.scopes.of_class(class.index);
        self.known.scopes.all.get_mut(scope).iter_mut().for_each(|scope| {
            scope.names.values_mut().for_each(|binding| binding.is_assigned = false);
        });
        let before = (self.scope, self.class);
        (self.scope, self.class) = (scope, Some(class.index as u32));
        self.body(&class.body);
        (self.scope, self.class) = before;
        self.trace_methods(class.index as u32);
        self.trace_compiled_class(scope, &tracers);
        self.known.assign(self.scope, &class.name, Value::Class(class.index as u32).into());
    }

    pub(super) fn lambda(&mut self, function: &'a Function) -> Values {
        self.parameters(function);
        if let FunctionBody::Expression(body) = &function.body {
            let before = (self.scope, self.function);
            self.scope = self.known.scopes.of_function(function.index);
            self.function = Some(function.index as u32);
            let values = self.expr(body);
            (self.scope, self.function) = before;
            self.known.returns(function.index as u32, &values);
        }
        Value::Function(function.index as u32).into()
    }
}
