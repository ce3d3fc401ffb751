//! The files that the documentation shows can be read.

use jouletree_predict::operators::{Format, described};
use jouletree_predict::theory::Costs;

#[test]
fn examples_of_the_documentation_can_be_read() {
    let text = include_str!("../../../../docs/theory.md");
    let examples: Vec<&str> =
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [model, costs] = examples.as_slice() else { unreachable!("two examples") };
    let operators = described(model, Format::Toml).unwrap();
    assert_eq!(operators.len(), 13);
    assert_eq!(operators.iter().map(|operator| operator.parameters()).sum::<u64>(), 23_296 + 590_592);
    assert_eq!(Costs::from_toml(costs).unwrap().access.len(), 2);
}
