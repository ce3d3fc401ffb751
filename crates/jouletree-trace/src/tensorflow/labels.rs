//! The labels in a step's statistics: the only place that has the type and the inputs of an operation.

/// The type and the inputs in `name = Type(input, input, …)`, perhaps with an account of memory before it; `None` for
/// a label of another form.
pub(super) fn operation(label: &[u8]) -> Option<(&[u8], impl Iterator<Item = &[u8]>)> {
    let end = label.iter().rposition(|byte| *byte == b')')?;
    let open = label[..end].iter().rposition(|byte| *byte == b'(')?;
    let named = label[..open].windows(3).rposition(|window| window == b" = ")?;
    Some((&label[named + 3..open], Inputs { rest: (open + 1 < end).then(|| &label[open + 1..end]) }))
}

/// The parts of a list with `, ` between them.
struct Inputs<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Inputs<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match rest.windows(2).position(|window| window == b", ") {
            Some(at) => {
                self.rest = Some(&rest[at + 2..]);
                Some(&rest[..at])
            }
            None => self.rest.take(),
        }
    }
}

/// The operation, and its type if known, that a kernel ran for. The label of a kernel ends in `@@operation:type#…`;
/// without that, the name of its event is `operation:type`.
pub(super) fn kernel<'a>(label: &'a [u8], node_name: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
    let start = label.windows(2).position(|window| window == b"@@");
    let end = label.iter().position(|byte| *byte == b'#');
    let annotated = match (start, end) {
        (Some(start), Some(end)) if start + 2 < end => &label[start + 2..end],
        _ => node_name,
    };
    let mut fields = annotated.split(|byte| *byte == b':');
    (fields.next().unwrap_or_default(), fields.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(label: &str) -> Option<(String, Vec<String>)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        operation(label.as_bytes()).map(|(op_type, inputs)| (text(op_type), inputs.map(text).collect()))
    }

    #[test]
    fn labels_tell_type_and_inputs() {
        let wanted = |op_type: &str, inputs: &[&str]| {
            Some((op_type.to_owned(), inputs.iter().map(|input| (*input).to_owned()).collect()))
        };
        assert_eq!(parsed("a/MatMul = MatMul(x, split:1, ^init)"), wanted("MatMul", &["x", "split:1", "^init"]));
        assert_eq!(parsed("_SOURCE = NoOp()"), wanted("NoOp", &[]));
        assert_eq!(parsed("[cpu 1.2MB 0.5MB] w = Const()"), wanted("Const", &[]));
        assert_eq!(parsed("s = _Send(edge_3_w @/device:CPU:0)"), wanted("_Send", &["edge_3_w @/device:CPU:0"]));
        for strange in ["", "w", "w = Const", "w(x) = y", "= NoOp()", ")(", "w = Const)("] {
            assert_eq!(parsed(strange), None, "{strange}");
        }
    }

    #[test]
    fn kernels_tell_what_they_ran_for() {
        let kernel = |label: &'static str, name: &'static str| {
            let (name, op_type) = kernel(label.as_bytes(), name.as_bytes());
            (
                String::from_utf8_lossy(name).into_owned(),
                op_type.map(|op| String::from_utf8_lossy(op).into_owned()),
            )
        };
        let matmul = ("a/MatMul".to_owned(), Some("MatMul".to_owned()));
        assert_eq!(kernel("volta_sgemm regs:122 @@a/MatMul:MatMul#id=3#", "a/MatMul:MatMul"), matmul);
        assert_eq!(kernel("edge_9 MEMCPYHtoD", "a/MatMul:MatMul"), matmul);
        assert_eq!(kernel("# @@x", "memset"), ("memset".to_owned(), None));
    }
}
