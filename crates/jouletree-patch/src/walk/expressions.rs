//! What expressions refer to, calls aside.

use super::Walk;
use crate::resolve::Made;
use crate::scopes::each_part;
use crate::syntax::with_stack;
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Walk<'a> {
    /// Walks something that is not instrumented.
    pub(super) fn left_alone<T>(&mut self, reason: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.left;
        self.left = before.or(Some(reason));
        let result = work(self);
        self.left = before;
        result
    }

    /// What an expression refers to, without noting the calls in it: it is noted elsewhere.
    pub(super) fn expr_quietly(&mut self, expr: &'a Expr) -> Values {
        let found = self.found.take();
        let values = self.expr(expr);
        self.found = found;
        values
    }

    pub(super) fn expr(&mut self, expr: &'a Expr) -> Values {
        with_stack(|| self.expr_inner(expr))
    }

    pub(super) fn expr_inner(&mut self, expr: &'a Expr) -> Values {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Attribute(receiver, member) => {
                let values = self.expr(receiver);
                self.known.attribute(&values, member)
            }
            ExprKind::Call(call) => self.call(expr, call),
            ExprKind::Subscript(value, key) => {
                let values = self.expr(value);
                self.expr(key);
                let text = if let ExprKind::Text(text) = &key.kind { Some(&**text) } else { None };
                self.known.item(&values, key, text)
            }
            ExprKind::Starred(value) | ExprKind::Await(value) => self.expr(value),
            ExprKind::Yield(value) => {
                let values = value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                self.yields(&values);
                Values::default()
            }
            ExprKind::YieldFrom(value) => {
                let values = self.expr(value);
                let elements = self.known.elements(&values);
                self.yields(&elements);
                Values::default()
            }
            ExprKind::Named(target, value) => {
                let values = self.expr(value);
                if let ExprKind::Name(name) = &target.kind {
                    self.known.assign(self.scope_outside_comprehensions(), name, values);
                }
                values
            }
            ExprKind::Lambda(function) => self.lambda(function),
            ExprKind::If(parts) => {
                let [test, yes, no] = &**parts;
                self.expr(test);
                self.expr(yes).joined(&self.expr(no))
            }
            ExprKind::Binary(left, _, right) => {
                let both = self.expr(left).joined(&self.expr(right));
                self.operands(&both)
            }
            ExprKind::Unary(operator, value) => {
                let values = self.expr(value);
                if *operator == "not" { Values::default() } else { self.operands(&values) }
            }
            ExprKind::Bool(_, parts) => {
                parts.iter().fold(Values::default(), |all, part| all.joined(&self.expr(part)))
            }
            ExprKind::Compare(left, rest) => {
                let mut values = self.expr(left);
                let mut gives_tensors = true;
                for (operator, right) in rest {
                    values = values.joined(&self.expr(right));
                    gives_tensors &= !matches!(*operator, "is" | "is not" | "in" | "not in");
                }
                if gives_tensors { self.operands(&values) } else { Values::default() }
            }
            ExprKind::Tuple(display, parts) => {
                if parts.iter().any(|part| matches!(part.kind, ExprKind::Starred(_))) {
                    return self.display(*display, parts);
                }
                let slots: Vec<Values> = parts.iter().map(|part| self.expr(part)).collect();
                self.known.put_slots(*display as u32, &slots);
                Value::Container(*display as u32).into()
            }
            ExprKind::List(display, parts) | ExprKind::Set(display, parts) => self.display(*display, parts),
            ExprKind::Dict(display, items) => self.dictionary(*display as u32, items),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Interpolated(text) => {
                text.parts.iter().for_each(|part| self.interpolation(part, text.is_template));
                Values::default()
            }
            ExprKind::Slice(_)
            | ExprKind::Text(_)
            | ExprKind::Bytes
            | ExprKind::Number(_)
            | ExprKind::Constant(_)
            | ExprKind::Opaque => {
                each_part(expr, &mut |part| {
                    self.expr(part);
                });
                Values::default()
            }
        }
    }

    pub(super) fn name(&mut self, name: &'a str) -> Values {
        if let Some(values) = self.known.read(self.scope, name) {
            return values;
        }
        self.known.imported_by_star(self.known.file, name).unwrap_or_default()
    }

    pub(super) fn yields(&mut self, values: &Values) {
        if let Some(function) = self.function {
            let container = self.known.container(Made::Yields(function));
            self.known.put(container, values);
        }
    }

    /// A list, a set, or a tuple with a star.
    pub(super) fn display(&mut self, display: usize, parts: &'a [Expr]) -> Values {
        for part in parts {
            let values = self.expr(part);
            let values = match part.kind {
                ExprKind::Starred(_) => self.known.elements(&values),
                _ => values,
            };
            self.known.put(display as u32, &values);
        }
        Value::Container(display as u32).into()
    }

    pub(super) fn dictionary(&mut self, display: u32, items: &'a [(Option<Expr>, Expr)]) -> Values {
        if let Some(container) = self.known.containers.get_mut(display as usize) {
            container.is_dictionary = true;
        }
        for (key, value) in items {
            key.iter().for_each(|key| {
                self.expr(key);
            });
            let values = self.expr(value);
            match key.as_ref().map(|key| &key.kind) {
                Some(ExprKind::Text(text)) => self.known.put_key(display, text, &values),
                Some(_) => self.known.put(display, &values),
                None => {}
            }
        }
        Value::Container(display).into()
    }

    pub(super) fn comprehension(&mut self, comprehension: &'a Comprehension) -> Values {
        let outer = self.scope;
        let scope = self.known.scopes.of_comprehension(comprehension.index);
        for (number, clause) in comprehension.clauses.iter().enumerate() {
            self.scope = if number == 0 { outer } else { scope };
            let over = self.expr(&clause.iter);
            let elements = self.known.elements(&over);
            self.scope = scope;
            self.assign(&clause.target, &elements);
            clause.conditions.iter().for_each(|condition| {
                self.expr(condition);
            });
        }
        let values: Vec<Values> = comprehension.elements.iter().map(|element| self.expr(element)).collect();
        self.scope = outer;
        let display = comprehension.display as u32;
        if let Some(container) = self.known.containers.get_mut(comprehension.display) {
            container.is_dictionary = comprehension.kind == ComprehensionKind::Dict;
        }
        if let Some(last) = values.last() {
            self.known.put(display, last);
        }
        Value::Container(display).into()
    }

    pub(super) fn interpolation(&mut self, part: &'a Interpolation, is_template: bool) {
        if part.text_is_seen {
            let reason =
                if is_template { "a t-string shows its own text" } else { "f\"{…=}\" shows its own text" };
            self.left_alone(reason, |walk| walk.expr(&part.value));
        } else {
            self.expr(&part.value);
        }
        part.format.iter().for_each(|inner| self.interpolation(inner, is_template));
    }

    /// What arithmetic with values gives: with something of a library, something of the library.
    pub(super) fn operands(&mut self, values: &Values) -> Values {
        let object = |value: Value| match value {
            Value::Path { path, .. } => Some(Value::Path { path, is_object: true }),
            Value::Container(_) => Some(value),
            _ => None,
        };
        values.iter().filter_map(object).collect()
    }
}
