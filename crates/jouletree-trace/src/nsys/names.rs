//! The names of NVTX ranges, above all those that PyTorch gives them (`torch.autograd.profiler.emit_nvtx`).

use crate::kineto::EVALUATE;

/// What the text of a range says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RangeName<'a> {
    /// The name, without what numbers this one run.
    pub(super) name: &'a str,
    pub(super) sort: RangeSort,
    /// The number that a forward operator shares with its backward one.
    pub(super) sequence: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeSort {
    /// A module, or any range that was marked.
    Annotation,
    /// An operator of the framework.
    Operator,
    /// An operator that computes gradients.
    Backward,
    /// A step of training or inference.
    Step(u32),
}

/// What PyTorch writes after the name of an operator, each with its value: `aten::addmm, seq = 3, op_id = 7`.
const DETAILS: [&str; 5] = [", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = ", ", stashed seq"];

/// What a step is called; its number follows.
const STEPS: [&str; 3] = ["profilerstep#", "step ", "iteration "];

impl RangeName<'_> {
    pub(super) fn of(text: &str) -> RangeName<'_> {
        let end = DETAILS.iter().filter_map(|detail| text.find(detail)).min().unwrap_or(text.len());
        let (name, details) = text.split_at(end);
        let sequence = details.split_once(", seq = ").and_then(|(_, rest)| {
            let length = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            rest[..length].parse().ok()
        });
        let is_operator = name.starts_with(EVALUATE)
            || name.starts_with("aten::")
            || sequence.is_some()
            || (!details.is_empty() && name.contains("::") && !name.starts_with("module::"));
        let is_backward = name.starts_with(EVALUATE)
            || name.trim_end_matches(|letter: char| letter.is_ascii_digit()).ends_with("Backward");
        let sort = match step(name) {
            Some(number) => RangeSort::Step(number),
            None if is_operator && is_backward => RangeSort::Backward,
            None if is_operator => RangeSort::Operator,
            None => RangeSort::Annotation,
        };
        RangeName { name, sort, sequence }
    }
}

fn step(name: &str) -> Option<u32> {
    STEPS.iter().find_map(|prefix| {
        let (start, number) = name.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then(|| number.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_pytorch_say_what_they_are() {
        for (text, name, sort, sequence) in [
            ("aten::addmm, seq = 3, op_id = 7", "aten::addmm", RangeSort::Operator, Some(3)),
            ("aten::view, op_id = 9, sizes = [[2, 3]]", "aten::view", RangeSort::Operator, None),
            ("AddmmBackward0, seq = 596, op_id = 1719", "AddmmBackward0", RangeSort::Backward, Some(596)),
            (
                "autograd::engine::evaluate_function: AddmmBackward0, op_id = 1718",
                "autograd::engine::evaluate_function: AddmmBackward0",
                RangeSort::Backward,
                None,
            ),
            ("module::bert.encoder.layer.0", "module::bert.encoder.layer.0", RangeSort::Annotation, None),
            ("module::bert, op_id = 3", "module::bert", RangeSort::Annotation, None),
            ("Optimizer.step#AdamW.step, op_id = 3", "Optimizer.step#AdamW.step", RangeSort::Annotation, None),
            ("step 12", "step 12", RangeSort::Step(12), None),
            ("Iteration 3", "Iteration 3", RangeSort::Step(3), None),
            ("ProfilerStep#4", "ProfilerStep#4", RangeSort::Step(4), None),
            ("step by step", "step by step", RangeSort::Annotation, None),
            ("größe µ", "größe µ", RangeSort::Annotation, None),
            ("x, seq = 99999999999999999999", "x", RangeSort::Annotation, None),
            ("", "", RangeSort::Annotation, None),
        ] {
            assert_eq!(RangeName::of(text), RangeName { name, sort, sequence }, "{text}");
        }
    }
}
