//! The answer first: where the joules of a run are in two sentences, and the largest kind of operation, layer and stage.

use jouletree_account::EnergyTree;
use jouletree_model::{Joules, Pass};
use serde::Serialize;

use crate::segments::SegmentEnergy;
use crate::{Base, Segment, Study, Whole};

/// A segment with a smaller part of the run is in no sentence,
const WORTH_NAMING: f64 = 0.05;
/// and a sentence names no more than these.
const MOST_NAMED: usize = 3;
/// A layer that holds less than this part of its model is not the one that everything is in.
const MOST_OF_IT: f64 = 0.5;

/// What a fact sums by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactOf {
    /// A kind of operation.
    Type,
    /// A layer.
    Layer,
    /// A stage of the program.
    Stage,
    /// A pass, where the program names no stages.
    Pass,
}

/// The largest of its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// What it sums by.
    pub of: FactOf,
    /// The kind, the path, the stage or the pass.
    pub name: String,
    /// What it used.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// Its part of the run.
    pub run_share: f64,
    /// Its part of what operations used; `None` of a stage, which is more than operations.
    pub operations_share: Option<f64>,
}

/// The largest facts about a study: by kind of operation, by layer, by stage.
pub fn facts(study: &Study) -> Vec<Fact> {
    let operations = study.tree.energy;
    if operations.0 <= 0.0 {
        return Vec::new();
    }
    let fact = |of, name: &str, energy: Joules| Fact {
        of,
        name: name.to_owned(),
        energy,
        run_share: study.whole.of_run(energy),
        operations_share: (of != FactOf::Stage).then(|| energy.0 / operations.0),
    };
    let largest_type = study.tef.by_type().into_iter().next();
    let by_type = largest_type.map(|kind| fact(FactOf::Type, &kind.op_type, kind.energy));
    let by_layer = largest_layer(&study.tree).map(|layer| fact(FactOf::Layer, &layer.path, layer.energy));
    let named = study.stages.iter().filter(|stage| !stage.name.is_empty());
    let largest_stage = named.max_by(|one, other| one.energy().0.total_cmp(&other.energy().0));
    let by_stage = match largest_stage {
        Some(stage) => Some(fact(FactOf::Stage, &stage.name, stage.energy())),
        None => {
            let passes = Pass::ALL.into_iter().zip(study.whole.passes);
            let largest = passes.max_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
            largest
                .filter(|(_, energy)| energy.0 > 0.0)
                .map(|(pass, energy)| fact(FactOf::Pass, pass.as_str(), energy))
        }
    };
    [by_type, by_layer, by_stage].into_iter().flatten().filter(|fact| fact.energy.0 > 0.0).collect()
}

/// Where the joules are, in sentences.
pub fn answer(study: &Study) -> Vec<String> {
    let mut sentences: Vec<String> = segments(&study.whole).into_iter().collect();
    let facts = facts(study);
    let of_operations = |fact: &Fact| {
        let part = percent(fact.operations_share?);
        match fact.of {
            FactOf::Type => Some(format!("{part} is {}", fact.name)),
            FactOf::Layer => Some(format!("{part} is in {}", fact.name)),
            FactOf::Stage | FactOf::Pass => None,
        }
    };
    let named: Vec<String> = facts.iter().filter_map(of_operations).collect();
    if !named.is_empty() {
        sentences.push(format!("Of the energy of operations, {}.", named.join(" and ")));
    }
    sentences
}

/// The largest segments with their parts of the run.
fn segments(whole: &Whole) -> Option<String> {
    let mut segments = whole.segments();
    segments.sort_by(|one, other| other.energy.0.total_cmp(&one.energy.0));
    let is_worth = |segment: &&SegmentEnergy| {
        // Of a program, the rest is no name that says anything.
        let is_named = segment.segment != Segment::Rest || whole.base == Base::Trace;
        is_named && whole.of_run(segment.energy) >= WORTH_NAMING
    };
    let named: Vec<&SegmentEnergy> = segments.iter().filter(is_worth).take(MOST_NAMED).collect();
    let share = |segment: &&SegmentEnergy| {
        format!("{} {}", phrase(segment.segment, segment.name), percent(whole.of_run(segment.energy)))
    };
    let mut parts: Vec<String> = named.iter().map(share).collect();
    let rest = 1.0 - named.iter().map(|segment| whole.of_run(segment.energy)).sum::<f64>();
    if rest >= 0.0005 {
        parts.push(format!("everything else {}", percent(rest)));
    }
    let (last, before) = parts.split_last()?;
    let list = if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) };
    (!named.is_empty()).then(|| format!("Where the energy went: {list}."))
}

/// A segment within a sentence.
fn phrase(segment: Segment, name: &str) -> String {
    match segment {
        Segment::Forward | Segment::Backward | Segment::Optimizer => format!("the {name}"),
        _ => name.to_owned(),
    }
}

/// The innermost layer that most of the energy is in; where it is spread, the largest of the outermost layers.
fn largest_layer(root: &EnergyTree) -> Option<&EnergyTree> {
    // Children come largest first.
    let layer_in = |node: &EnergyTree| node.children.iter().position(EnergyTree::is_composite);
    let mut found = root.children.get(layer_in(root)?)?;
    while let Some(inner) = layer_in(found).and_then(|place| found.children.get(place)) {
        if inner.energy.0 < MOST_OF_IT * root.energy.0 {
            break;
        }
        found = inner;
    }
    Some(found)
}

fn percent(part: f64) -> String {
    if part > 0.0 && part < 0.0005 { "< 0.1 %".to_owned() } else { format!("{:.1} %", 100.0 * part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(path: &str, energy: f64, children: Vec<EnergyTree>) -> EnergyTree {
        let is_operation = children.is_empty();
        EnergyTree {
            path: path.to_owned(),
            energy: Joules(energy),
            children,
            is_operation,
            ..EnergyTree::default()
        }
    }

    #[test]
    fn the_largest_layer_is_the_innermost_that_most_is_in() {
        let half = |name: &str, energy: f64| layer(name, energy, vec![layer("op", energy, vec![])]);
        let encoder = layer("net/encoder", 8.0, vec![half("net/encoder/a", 4.5), half("net/encoder/b", 3.5)]);
        let net = layer("net", 9.0, vec![encoder, layer("net/op", 1.0, vec![])]);
        let root = layer("", 10.0, vec![net, layer("op", 1.0, vec![])]);
        assert_eq!(largest_layer(&root).unwrap().path, "net/encoder");
        let spread = layer("", 10.0, vec![half("a", 4.0), half("b", 3.0), half("c", 3.0)]);
        assert_eq!(largest_layer(&spread).unwrap().path, "a");
        assert_eq!(largest_layer(&layer("", 1.0, vec![layer("op", 1.0, vec![])])), None);
    }

    #[test]
    fn a_sentence_names_the_largest_segments() {
        let mut whole = Whole { base: Base::RecordedSteps, ..Whole::unplaced(Joules(100.0), None, None) };
        for (slice, energy) in whole.slices.iter_mut().zip([27.0, 1.0, 2.0, 70.0, 0.0]) {
            slice.energy = Joules(energy);
        }
        whole.passes = [Joules(9.0), Joules(15.5), Joules(2.5)];
        let text = segments(&whole).unwrap();
        assert_eq!(
            text,
            "Where the energy went: start-up 70.0 %, the backward pass 15.5 %, the forward pass 9.0 % and everything else 5.5 %."
        );
        assert_eq!(segments(&Whole::unplaced(Joules::ZERO, None, None)), None);
    }
}
