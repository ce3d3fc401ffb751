//! What calls give, and what flows into the functions and classes that are called.

use super::Walk;
use crate::knowledge::{self, Calls};
use crate::resolve::Passed;
use crate::tree::*;
use crate::values::{PathId, Value, Values};

impl<'a> Walk<'a> {
    pub(super) fn call(&mut self, expr: &'a Expr, call: &'a Call) -> Values {
        let (receiver, callee) = match &call.callee.kind {
            ExprKind::Attribute(receiver, member) => {
                let receiver = self.expr(receiver);
                (receiver, self.known.attribute(&receiver, member))
            }
            _ => (Values::default(), self.expr(&call.callee)),
        };
        let passed: Vec<Passed<'a>> =
            call.arguments.iter().map(|argument| (&argument.name, self.expr(&argument.value))).collect();
        self.note(expr, call, &callee);
        if let ExprKind::Name(name) = &call.callee.kind
            && knowledge::is_builtin(name)
            && self.known.scopes.find(self.scope, name).is_none()
            && callee.is_empty()
        {
            return self.builtin(name, call, &passed);
        }
        if let Some(module) = self.imported_by_name(&callee, call) {
            return module.into();
        }
        let mut result = self.apply(&callee, &passed, call.open);
        if let ExprKind::Attribute(_, member) = &call.callee.kind {
            if receiver.iter().any(|value| self.gives_itself(value, member)) {
                result = self.itself(&receiver, member, &passed, call.open);
            }
            result.join(&self.container_method(&receiver, member, call, &passed));
        }
        result
    }

    /// Whether a method that a class of the program has from its library gives the instance itself.
    fn gives_itself(&mut self, value: Value, method: &'a str) -> bool {
        let Value::Instance(class) = value else { return false };
        let Some(base) = self.known.library_base(class) else { return false };
        knowledge::gives_itself(self.known.paths.name(base), method)
            && !self.known.attribute(&value.into(), method).iter().any(|found| matches!(found, Value::Method(_)))
    }

    /// What a method gives, where it gives some of its receivers themselves.
    fn itself(&mut self, receiver: &Values, method: &'a str, passed: &[Passed<'a>], at: u32) -> Values {
        let mut result = Values::default();
        for value in receiver.iter() {
            if self.gives_itself(value, method) {
                result.add(value);
            } else {
                let callee = self.known.attribute(&value.into(), method);
                result.join(&self.apply(&callee, passed, at));
            }
        }
        result
    }

    /// `importlib.import_module("torch")`.
    pub(super) fn imported_by_name(&mut self, callee: &Values, call: &'a Call) -> Option<Value> {
        let [Value::Path { path, .. }] = callee.as_slice() else { return None };
        let ExprKind::Text(module) = &call.arguments.first()?.value.kind else { return None };
        if self.known.paths.name(*path) != "importlib.import_module" {
            return None;
        }
        if let Some(module) = self.known.links.module(self.known.file, module) {
            return Some(Value::Module(module));
        }
        let path = self.known.paths.id(module);
        Some(Value::Path { path, is_object: false })
    }

    /// What calling values gives; arguments flow into the program's own functions.
    pub(super) fn apply(&mut self, callee: &Values, passed: &[Passed<'a>], at: u32) -> Values {
        let mut result = Values::default();
        for value in callee.iter() {
            let given = match value {
                Value::Path { path, is_object } => self.apply_path(path, is_object, passed, at),
                Value::Class(class) => self.construct(class, passed),
                Value::Instance(class) => self.apply_instance(class, passed),
                Value::Function(function) => self.apply_function(function, passed, 0),
                Value::Method(function) => self.apply_function(function, passed, 1),
                Value::Computed(_) => value.into(),
                Value::Container(_) | Value::Super(_) | Value::Module(_) => Values::default(),
            };
            result.join(&given);
        }
        result
    }

    pub(super) fn apply_function(&mut self, function: u32, passed: &[Passed<'a>], skip: usize) -> Values {
        self.known.pass(function, passed, skip);
        if self.known.traced(self.scope).is_some() {
            self.known.trace(function, "traced: called from traced code", None);
        }
        self.known.result_of(function)
    }

    pub(super) fn apply_instance(&mut self, class: u32, passed: &[Passed<'a>]) -> Values {
        let instance: Values = Value::Instance(class).into();
        let own = self.known.attribute(&instance, "__call__");
        if own.iter().any(|value| matches!(value, Value::Method(_))) {
            return self.apply(&own, passed, 0);
        }
        let Some(base) = self.known.library_base(class) else { return Values::default() };
        let base_name = self.known.paths.name(base).to_owned();
        let mut result = Values::default();
        if let Some(method) = knowledge::called_method(&base_name) {
            let method = self.known.attribute(&instance, method);
            for value in method.iter() {
                if let Value::Method(function) = value {
                    result.join(&self.apply_function(function, passed, 1));
                }
            }
        }
        if result.is_empty() {
            let called = self.known.paths.member(base, "__call__");
            result = self.object_of(called).into();
        }
        result
    }

    pub(super) fn construct(&mut self, class: u32, passed: &[Passed<'a>]) -> Values {
        let instance: Values = Value::Instance(class).into();
        let initialiser = self.known.attribute(&instance, "__init__");
        let mut is_own = false;
        for value in initialiser.iter() {
            if let Value::Method(function) = value {
                self.known.pass(function, passed, 1);
                is_own = true;
            }
        }
        if !is_own {
            self.construct_fields(class, passed);
        }
        instance
    }

    /// A dataclass, or something like it, keeps what it is given.
    pub(super) fn construct_fields(&mut self, class: u32, passed: &[Passed<'a>]) {
        let Some(Some(facts)) = self.known.scopes.classes.get(class as usize) else { return };
        let fields = facts.fields.clone();
        let mut places = fields.iter();
        let instance: Values = Value::Instance(class).into();
        for (name, values) in passed {
            let field = match name {
                ArgumentName::Positional => places.next().copied(),
                ArgumentName::Keyword(name) => Some(&**name),
                ArgumentName::Star | ArgumentName::DoubleStar => None,
            };
            if let Some(field) = field {
                self.known.set_attribute(&instance, field, values);
            }
        }
    }

    /// The object that a call of a path gives.
    pub(super) fn object_of(&mut self, path: PathId) -> Value {
        let name = knowledge::result(self.known.paths.name(path));
        let path = self.known.paths.id(&name);
        self.known.object(path)
    }

    pub(super) fn apply_path(&mut self, path: PathId, is_object: bool, passed: &[Passed<'a>], at: u32) -> Values {
        let name = self.known.paths.name(path).to_owned();
        if knowledge::hands_on(&name) {
            return passed.iter().take(1).fold(Values::default(), |all, (_, values)| all.joined(values));
        }
        match name.as_str() {
            "asyncio.gather" | "itertools.chain" | "itertools.chain.from_iterable" => {
                let mut all = Values::default();
                for (argument, values) in passed {
                    let is_star = **argument == ArgumentName::Star;
                    all.join(&if is_star { self.known.elements(values) } else { *values });
                }
                let all = match name.as_str() {
                    "itertools.chain" => self.known.elements(&all),
                    "itertools.chain.from_iterable" => {
                        let inner = self.known.elements(&all);
                        self.known.elements(&inner)
                    }
                    _ => all,
                };
                return self.known.made_with(at, 1, &all).into();
            }
            "dataclasses.field" | "attr.ib" | "attrs.field" => return self.field(passed, at),
            "typing.cast" => return passed.get(1).map(|(_, values)| *values).unwrap_or_default(),
            _ => {}
        }
        if let Some(how) = knowledge::calls_given(&name) {
            let given = self.calls_given(how, passed, at);
            // What a library starts is the library's.
            return if self.known.is_library(path) { self.object_of(path).into() } else { given };
        }
        if self.known.traced(self.scope).is_some() {
            self.trace_passed(passed);
        }
        if let Some(handed) = knowledge::handed_to_functions(&name) {
            for value in passed.iter().flat_map(|(_, values)| values.iter().collect::<Vec<_>>()) {
                if let Value::Function(function) | Value::Method(function) = value {
                    self.known.hand(function, handed);
                }
            }
        }
        let is_tracer = knowledge::is_tracer(&name) && !is_object;
        if is_tracer || knowledge::is_dataset_callback(&name) {
            return self.apply_tracer(path, &name, is_tracer, passed);
        }
        if is_object {
            let called = self.known.paths.member(path, "__call__");
            return self.object_of(called).into();
        }
        if knowledge::is_plain_result(&name) {
            return Values::default();
        }
        self.object_of(path).into()
    }

    /// The default of a dataclass's field.
    fn field(&mut self, passed: &[Passed<'a>], at: u32) -> Values {
        let mut found = Values::default();
        for (name, values) in passed {
            match name {
                ArgumentName::Keyword(name) if &**name == "default" => {
                    found.join(values);
                }
                ArgumentName::Keyword(name) if matches!(&**name, "default_factory" | "factory") => {
                    found.join(&self.apply(values, &[], at));
                }
                _ => {}
            }
        }
        found
    }

    /// A call of something that calls the function it is given.
    fn calls_given(&mut self, how: Calls, passed: &[Passed<'a>], at: u32) -> Values {
        let keyword = |wanted: &str| {
            let is_wanted = |name: &ArgumentName| matches!(name, ArgumentName::Keyword(name) if **name == *wanted);
            passed.iter().find(|(name, _)| is_wanted(name)).map(|(_, values)| *values)
        };
        let place = |place: usize| passed.get(place).filter(|(name, _)| **name == ArgumentName::Positional);
        let first = place(0).map(|(_, values)| *values);
        match how {
            Calls::Later => {
                let given = self.apply(&first.unwrap_or_default(), passed.get(1..).unwrap_or_default(), at);
                // A future, which `result` opens.
                self.known.made_with(at, 1, &given).into()
            }
            Calls::Awaited(place_of) => {
                let function = place(place_of).map(|(_, values)| *values).unwrap_or_default();
                self.apply(&function, passed.get(place_of + 1..).unwrap_or_default(), at)
            }
            Calls::Each => {
                let elements: Vec<Values> =
                    passed.iter().skip(1).map(|(_, values)| self.known.elements(values)).collect();
                let inner: Vec<Passed<'a>> =
                    elements.iter().map(|values| (&ArgumentName::Positional, *values)).collect();
                let given = self.apply(&first.unwrap_or_default(), &inner, at);
                self.known.made_with(at, 1, &given).into()
            }
            Calls::Target(known) => {
                let function = keyword("target").or(keyword("fn")).or(first).unwrap_or_default();
                let mut inner: Vec<Passed<'a>> = vec![(&ArgumentName::Positional, Values::default()); known];
                let arguments = keyword("args").or_else(|| place(1).map(|(_, values)| *values));
                inner.extend(arguments.map(|values| (&ArgumentName::Star, values)));
                inner.extend(keyword("kwargs").map(|values| (&ArgumentName::DoubleStar, values)));
                self.apply(&function, &inner, at);
                Values::default()
            }
            Calls::Pairs => {
                let over = place(1).map(|(_, values)| *values).unwrap_or_default();
                let elements = self.known.elements(&over);
                let two = [(&ArgumentName::Positional, elements); 2];
                let given = self.apply(&first.unwrap_or_default(), &two, at);
                elements.joined(&given)
            }
        }
    }
}
