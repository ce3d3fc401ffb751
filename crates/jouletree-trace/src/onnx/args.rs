//! The arguments of a profile's events.

use indexmap::IndexMap;

use jouletree_model::TensorShape;

use crate::json::{RawStr, Scanner, Stop, integer};

/// The arguments that matter here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProfileArgs<'a> {
    /// What the operation computes.
    pub(super) op_name: RawStr<'a>,
    /// What runs it: `CPUExecutionProvider`.
    pub(super) provider: RawStr<'a>,
    /// The operation that launched a kernel.
    pub(super) parent: RawStr<'a>,
    /// The stream of a kernel.
    pub(super) stream: &'a [u8],
    /// The bytes that the operation makes.
    pub(super) output_size: Option<i64>,
    /// Lists of shapes as they are in the text: `[{"float":[8,64]}]`.
    pub(super) inputs: &'a [u8],
    pub(super) outputs: &'a [u8],
}

impl<'a> ProfileArgs<'a> {
    /// The arguments in a text, as far as it can be read.
    pub(super) fn of(text: &'a [u8]) -> ProfileArgs<'a> {
        let mut args = ProfileArgs::default();
        // The text is a whole object; if it is not, what came first is still good.
        let _ = args.read(&mut Scanner::new(text));
        args
    }

    fn read(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        scanner.require(b'{', "arguments")?;
        let mut first = true;
        while scanner.next_member(&mut first, b'}')? {
            match scanner.key()?.bytes {
                b"op_name" => self.op_name = text(scanner)?,
                b"provider" => self.provider = text(scanner)?,
                b"parent_name" => self.parent = text(scanner)?,
                b"stream" => self.stream = scanner.lenient_number()?.unwrap_or_default(),
                b"output_size" => self.output_size = scanner.lenient_number()?.and_then(integer),
                b"input_type_shape" => self.inputs = scanner.raw_value()?,
                b"output_type_shape" => self.outputs = scanner.raw_value()?,
                _ => scanner.skip_value()?,
            }
        }
        Ok(())
    }
}

fn text<'a>(scanner: &mut Scanner<'a>) -> Result<RawStr<'a>, Stop> {
    if scanner.peek()? == b'"' { scanner.string() } else { scanner.skip_value().map(|()| RawStr::default()) }
}

/// The tensors in a list of shapes; none when it is not such a list.
pub(super) fn shapes(list: &[u8]) -> Vec<TensorShape> {
    let list: Vec<IndexMap<String, Vec<i64>>> = serde_json::from_slice(list).unwrap_or_default();
    list.into_iter().flatten().map(|(element, dimensions)| TensorShape::new(element, dimensions)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_any_order_and_form() {
        let text = br#"{"output_size": "262144", "x": {"provider": "no"}, "input_type_shape":[{"float":[8,64]},{"int64":[]}],
            "op_name":"Gather", "provider": 7, "stream": "0x7f"}"#;
        let args = ProfileArgs::of(text);
        assert_eq!((args.output_size, args.op_name.text().as_str()), (Some(262_144), "Gather"));
        assert_eq!((args.provider.bytes, args.stream), (&b""[..], &b"0x7f"[..]));
        assert_eq!(shapes(args.inputs), [TensorShape::new("float", [8, 64]), TensorShape::new("int64", [])]);
        assert_eq!(shapes(b"[{}]"), []);
        assert_eq!(shapes(b"{\"float\": 3}"), []);
    }

    #[test]
    fn broken_arguments_yield_what_stands_before() {
        assert_eq!(ProfileArgs::of(br#"{"op_name":"Add","provider":"#).op_name.text(), "Add");
        assert_eq!(ProfileArgs::of(b"").op_name.text(), "");
    }
}
