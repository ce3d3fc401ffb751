//! What ran: the operation of an event.

use jouletree_model::{Op, Pass};

use super::arguments::Arguments;
use crate::chrome::ChromeEvent;
use crate::interner::Interner;

/// What distinguishes operations, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    name: u32,
    category: u32,
    hlo_module: u32,
    hlo_op: u32,
    tf_op: u32,
}

impl Key {
    pub(super) fn of(event: &ChromeEvent<'_>, arguments: &Arguments<'_>, names: &mut Interner) -> Key {
        Key {
            name: names.raw(event.name),
            category: names.raw(event.category),
            hlo_module: names.raw(arguments.hlo_module),
            hlo_op: names.raw(arguments.hlo_op),
            tf_op: names.raw(arguments.tf_op),
        }
    }

    /// The operation. What TensorFlow or JAX calls it is a path already; an operation of XLA's is in its module;
    /// anything else is known by its name alone.
    pub(super) fn op(self, names: &Interner) -> Op {
        let [name, category, hlo_module, hlo_op, tf_op] =
            [self.name, self.category, self.hlo_module, self.hlo_op, self.tf_op].map(|number| names.get(number));
        if !tf_op.is_empty() {
            let (path, op_type) = tf_op.rsplit_once(':').unwrap_or((&tf_op, ""));
            let op_type = [op_type, &hlo_op, &name].into_iter().find(|text| !text.is_empty()).unwrap_or_default();
            return Op::new(path, op_type, name.as_ref(), Pass::Forward);
        }
        if !hlo_op.is_empty() {
            let path = if hlo_module.is_empty() { hlo_op.to_string() } else { format!("{hlo_module}/{hlo_op}") };
            return Op::new(path, without_number(&hlo_op), name.as_ref(), Pass::Forward);
        }
        let path = if name.is_empty() { "(unnamed)" } else { name.as_ref() };
        let op_type = if category.is_empty() { path } else { category.as_ref() };
        Op::new(path, op_type, name.as_ref(), Pass::Forward)
    }
}

/// `dot.46` is a `dot`.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::RawStr;

    fn op(name: &str, category: &str, arguments: &str) -> (String, String) {
        let raw = |text: &'static str| RawStr { bytes: text.as_bytes(), escaped: false };
        let event = ChromeEvent {
            name: raw(name.to_owned().leak()),
            category: raw(category.to_owned().leak()),
            ..ChromeEvent::default()
        };
        let mut names = Interner::default();
        let key = Key::of(&event, &Arguments::of(arguments.as_bytes()), &mut names);
        let op = key.op(&names);
        assert_eq!(&*op.name, name);
        (op.path.into(), op.op_type.into())
    }

    #[test]
    fn the_most_telling_name_is_the_path() {
        let is = |path: &str, op_type: &str| (path.to_owned(), op_type.to_owned());
        assert_eq!(op("load", "", "{}"), is("load", "load"));
        assert_eq!(op("load", "io", "{}"), is("load", "io"));
        let hlo = r#"{"hlo_module": "jit_step", "hlo_op": "dot.46"}"#;
        assert_eq!(op("dot.46", "", hlo), is("jit_step/dot.46", "dot"));
        let tensorflow = r#"{"tf_op": "model/dense/MatMul:MatMul", "hlo_op": "fusion.1"}"#;
        assert_eq!(op("sgemm", "", tensorflow), is("model/dense/MatMul", "MatMul"));
        assert_eq!(op("", "", "{}"), is("(unnamed)", "(unnamed)"));
    }
}
