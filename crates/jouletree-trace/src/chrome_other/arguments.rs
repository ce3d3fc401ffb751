//! The arguments of an event that identify it.

use crate::json::{RawStr, Scanner, Stop};

/// What arguments may contain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arguments<'a> {
    /// The name of a process or a thread, in an event that gives it one.
    pub(super) name: RawStr<'a>,
    /// Further words about a process: `GPU 0`.
    pub(super) labels: RawStr<'a>,
    /// The operation of XLA's that ran, and its module.
    pub(super) hlo_op: RawStr<'a>,
    pub(super) hlo_module: RawStr<'a>,
    /// The operation of TensorFlow's or JAX's behind it, perhaps with its type: `model/dense/MatMul:MatMul`.
    pub(super) tf_op: RawStr<'a>,
    /// The time of day at which a marker was written.
    pub(super) wall: RawStr<'a>,
}

impl<'a> Arguments<'a> {
    /// Finds them in the text of an event's arguments, an object. What is damaged is as if it were not there.
    pub(super) fn of(text: &'a [u8]) -> Arguments<'a> {
        let mut arguments = Arguments::default();
        if !text.is_empty() {
            // The text was scanned before, so that it ends where it should.
            let _ = arguments.read(&mut Scanner::new(text));
        }
        arguments
    }

    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        scanner.require(b'{', "arguments")?;
        let mut first = true;
        while scanner.next_member(&mut first, b'}')? {
            let slot = match scanner.key()?.bytes {
                b"name" => &mut self.name,
                b"labels" => &mut self.labels,
                b"hlo_op" => &mut self.hlo_op,
                b"hlo_module" => &mut self.hlo_module,
                b"tf_op" => &mut self.tf_op,
                b"wall" => &mut self.wall,
                _ => {
                    scanner.skip_value()?;
                    continue;
                }
            };
            *slot = match scanner.peek()? {
                b'"' => scanner.string()?,
                _ => RawStr { bytes: scanner.raw_value()?, escaped: false },
            };
        }
        Ok(())
    }

    /// Whether they name an operation of a framework.
    pub(super) fn name_operation(&self) -> bool {
        !self.hlo_op.bytes.is_empty() || !self.tf_op.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_arguments_are_found_among_others() {
        let text =
            br#"{"x": [1, {"hlo_op": "no"}], "hlo_op": "dot.4", "wall": 17, "n": null, "tf_op": "a/b:Mul"}"#;
        let found = Arguments::of(text);
        assert_eq!(found.hlo_op.text(), "dot.4");
        assert_eq!(found.tf_op.text(), "a/b:Mul");
        assert_eq!(found.wall.bytes, b"17");
        assert!(found.name_operation() && !Arguments::of(b"{}").name_operation());
        assert!(!Arguments::of(b"").name_operation());
    }
}
