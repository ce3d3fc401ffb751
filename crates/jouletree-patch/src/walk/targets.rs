//! What is assigned to: names, attributes, items, and several at once.

use super::Walk;
use crate::scopes::ScopeKind;
use crate::syntax::with_stack;
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Walk<'a> {
    pub(super) fn assign(&mut self, target: &'a Expr, values: &Values) {
        match &target.kind {
            ExprKind::Name(name) => {
                self.known.assign(self.scope, name, *values);
            }
            ExprKind::Tuple(_, parts) | ExprKind::List(_, parts) => {
                for (place, part) in parts.iter().enumerate() {
                    let slot = match part.kind {
                        ExprKind::Starred(_) => self.known.elements(values),
                        _ => self.known.slot(values, place),
                    };
                    with_stack(|| self.assign(part, &slot));
                }
            }
            ExprKind::Starred(inner) => {
                let container = self.known.made_with(target.span.start, 0, values);
                self.assign(inner, &container.into());
            }
            ExprKind::Attribute(receiver, member) => {
                let receiver = self.expr(receiver);
                self.known.set_attribute(&receiver, member, values);
            }
            ExprKind::Subscript(receiver, key) => {
                let receiver = self.expr(receiver);
                self.expr(key);
                for value in receiver.iter() {
                    if let Value::Container(container) = value {
                        match &key.kind {
                            ExprKind::Text(text) => self.known.put_key(container, text, values),
                            _ => self.known.put(container, values),
                        }
                    }
                }
            }
            _ => {
                self.expr(target);
            }
        }
    }

    /// A declaration without a value: `model: tf.keras.Model`.
    pub(super) fn declare(&mut self, target: &'a Expr, values: &Values) {
        match &target.kind {
            ExprKind::Name(name) => {
                self.known.learn(self.scope, name, values);
            }
            ExprKind::Attribute(..) => self.assign(target, values),
            _ => {}
        }
    }

    /// Where a walrus assigns.
    pub(super) fn scope_outside_comprehensions(&self) -> usize {
        let mut at = self.scope;
        while let Some(scope) = self.known.scopes.all.get(at)
            && scope.kind == ScopeKind::Comprehension
        {
            at = scope.parent;
        }
        at
    }

    /// What `with … as` binds.
    pub(super) fn entered(&mut self, values: &Values) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Container(_) => {
                    found.join(&self.known.elements(&value.into()));
                }
                Value::Instance(_) => {
                    let method = self.known.attribute(&value.into(), "__enter__");
                    let own = method.iter().any(|value| matches!(value, Value::Method(_)));
                    let given = if own { self.apply(&method, &[], 0) } else { value.into() };
                    found.join(&given);
                }
                value => {
                    found.add(value);
                }
            }
        }
        found
    }
}
