//! What annotations say.

use super::Walk;
use crate::syntax::with_stack;
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Walk<'a> {
    /// What an annotation says a value is.
    pub(super) fn annotated(&mut self, annotation: &'a Expr) -> Values {
        self.left_alone("annotation", |walk| walk.annotation(annotation))
    }

    pub(super) fn annotation(&mut self, annotation: &'a Expr) -> Values {
        with_stack(|| match &annotation.kind {
            ExprKind::Text(text) => self.annotation_text(text),
            ExprKind::Binary(left, "|", right) => self.annotation(left).joined(&self.annotation(right)),
            ExprKind::Tuple(_, parts) => {
                parts.iter().fold(Values::default(), |all, part| all.joined(&self.annotation(part)))
            }
            ExprKind::Subscript(of, inner) => {
                let name = match &of.kind {
                    ExprKind::Name(name) | ExprKind::Attribute(_, name) => &**name,
                    _ => "",
                };
                let inside = self.annotation(inner);
                match name {
                    "Optional" | "Union" | "Annotated" | "Final" | "ClassVar" | "Awaitable" | "Coroutine" => {
                        inside
                    }
                    "type" | "Type" | "Callable" | "Literal" => Values::default(),
                    "list" | "List" | "Sequence" | "Iterable" | "Iterator" | "Generator" | "AsyncIterator"
                    | "set" | "Set" | "tuple" | "Tuple" | "deque" | "AsyncGenerator" | "Collection" => {
                        self.known.made_with(annotation.span.start, 9, &inside).into()
                    }
                    "dict" | "Dict" | "Mapping" => {
                        let made = self.known.made_with(annotation.span.start, 9, &inside);
                        if let Value::Container(container) = made
                            && let Some(container) = self.known.containers.get_mut(container as usize)
                        {
                            container.is_dictionary = true;
                        }
                        made.into()
                    }
                    _ => self.annotation(of),
                }
            }
            _ => {
                let values = self.expr(annotation);
                instances(&values)
            }
        })
    }

    /// A dotted name in quotes.
    pub(super) fn annotation_text(&mut self, text: &'a str) -> Values {
        let mut parts = text.split('.');
        let Some(first) = parts.next() else { return Values::default() };
        let mut values = self.name(first);
        for part in parts {
            values = self.known.attribute(&values, part);
        }
        instances(&values)
    }
}

/// What annotations with classes say: an object of each.
fn instances(values: &Values) -> Values {
    let instance = |value| match value {
        Value::Path { path, .. } => Some(Value::Path { path, is_object: true }),
        Value::Class(class) => Some(Value::Instance(class)),
        _ => None,
    };
    values.iter().filter_map(instance).collect()
}
