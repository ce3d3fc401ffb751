//! Python's own functions, and the methods of its containers.

use super::Walk;
use crate::resolve::{Made, Passed};
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Walk<'a> {
    /// Python's own containers.
    pub(super) fn container_method(
        &mut self,
        receiver: &Values,
        method: &str,
        call: &'a Call,
        passed: &[Passed<'a>],
    ) -> Values {
        let mut found = Values::default();
        for value in receiver.iter() {
            let Value::Container(container) = value else { continue };
            match method {
                "append" | "add" | "appendleft" | "put" => {
                    passed.iter().for_each(|(_, values)| self.known.put(container, values));
                }
                "insert" | "setdefault" => {
                    passed.iter().skip(1).for_each(|(_, values)| self.known.put(container, values));
                }
                "extend" | "extendleft" => {
                    for (_, values) in passed {
                        let elements = self.known.elements(values);
                        self.known.put(container, &elements);
                    }
                }
                "values" | "items" => {
                    let content = self.known.containers.get(container as usize).map(|inside| inside.any);
                    let content = content.unwrap_or_default();
                    let inner = match method {
                        "values" => content,
                        _ => self.known.made_of(call.open, 2, &[Values::default(), content]).into(),
                    };
                    found.add(self.known.made_with(call.open, 1, &inner));
                }
                "copy" => {
                    found.add(value);
                }
                _ => {}
            }
            if matches!(method, "get" | "pop" | "popleft" | "setdefault" | "result" | "__getitem__") {
                let key = call.arguments.first().map(|argument| &argument.value);
                let text =
                    key.and_then(|key| if let ExprKind::Text(text) = &key.kind { Some(&**text) } else { None });
                let key = key.unwrap_or(&call.callee);
                found.join(&self.known.item(&value.into(), key, text));
            }
        }
        found
    }

    pub(super) fn builtin(&mut self, name: &str, call: &'a Call, passed: &[Passed<'a>]) -> Values {
        let first = passed.first().map(|(_, values)| *values).unwrap_or_default();
        let at = call.open;
        match name {
            "super" => self.class.map(|class| Value::Super(class).into()).unwrap_or_default(),
            "getattr" => self.getattr(&first, call, passed),
            "iter" | "aiter" if first.iter().any(|value| matches!(value, Value::Path { .. })) => {
                let mut found = Values::default();
                for value in first.iter() {
                    if let Value::Path { path, .. } = value {
                        let path = self.known.paths.member(path, "__iter__");
                        found.add(self.known.object(path));
                    }
                }
                found
            }
            "iter" | "aiter" | "list" | "tuple" | "set" | "frozenset" | "sorted" | "reversed" => {
                let elements = self.known.elements(&first);
                self.apply_key(passed, &elements);
                self.known.made_with(at, 1, &elements).into()
            }
            "next" | "anext" => self.known.elements(&first),
            "enumerate" => {
                let elements = self.known.elements(&first);
                let pair = self.known.made_of(at, 2, &[Values::default(), elements]);
                self.known.made_with(at, 1, &pair.into()).into()
            }
            "zip" => {
                let slots: Vec<Values> = passed.iter().map(|(_, values)| self.known.elements(values)).collect();
                let row = self.known.made_of(at, 2, &slots);
                self.known.made_with(at, 1, &row.into()).into()
            }
            "map" | "filter" => {
                let elements: Vec<Values> =
                    passed.iter().skip(1).map(|(_, values)| self.known.elements(values)).collect();
                let inner: Vec<Passed<'a>> =
                    elements.iter().map(|values| (&ArgumentName::Positional, *values)).collect();
                let given = self.apply(&first, &inner, at);
                let content = if name == "map" { given } else { elements.first().copied().unwrap_or_default() };
                self.known.made_with(at, 1, &content).into()
            }
            "dict" => {
                let container = self.known.container(Made::By(self.known.file, at, 1));
                if let Some(container) = self.known.containers.get_mut(container as usize) {
                    container.is_dictionary = true;
                }
                for (name, values) in passed {
                    if let ArgumentName::Keyword(name) = name {
                        self.known.put_key(container, name, values);
                    }
                }
                Value::Container(container).into()
            }
            "sum" => self.known.elements(&first),
            "min" | "max" if passed.len() > 1 => {
                passed.iter().fold(Values::default(), |all, (_, values)| all.joined(values))
            }
            "min" | "max" => {
                let elements = self.known.elements(&first);
                self.apply_key(passed, &elements);
                elements
            }
            "abs" | "round" | "pow" => self.operands(&first),
            "type" => {
                let class =
                    |value| if let Value::Instance(class) = value { Some(Value::Class(class)) } else { None };
                first.iter().filter_map(class).collect()
            }
            _ => Values::default(),
        }
    }

    /// The function by which things are compared gets each of them.
    pub(super) fn apply_key(&mut self, passed: &[Passed<'a>], elements: &Values) {
        for (name, values) in passed {
            if matches!(name, ArgumentName::Keyword(name) if &**name == "key") {
                self.apply(values, &[(&ArgumentName::Positional, *elements)], 0);
            }
        }
    }

    pub(super) fn getattr(&mut self, of: &Values, call: &'a Call, passed: &[Passed<'a>]) -> Values {
        let otherwise = passed.get(2).map(|(_, values)| *values).unwrap_or_default();
        match call.arguments.get(1).map(|argument| &argument.value.kind) {
            Some(ExprKind::Text(member)) => self.known.attribute(of, member).joined(&otherwise),
            _ => {
                let mut found = otherwise;
                for value in of.iter() {
                    if let Value::Module(module) = value {
                        // A file used as a table of what it defines.
                        found.join(&self.known.defined_in(module));
                    }
                    let path = match value {
                        Value::Path { path, .. } => Some(path),
                        Value::Instance(class) => self.known.library_base(class),
                        _ => None,
                    };
                    if let Some(path) = path {
                        let path = self.known.paths.member(path, "?");
                        found.add(Value::Computed(path));
                    }
                }
                found
            }
        }
    }
}
