//! What an operation is called in lists. Operations that share path and pass, such as the two gradients of a matrix product,
//! have a mark that distinguishes them: `dense/MatMul (dW)`. This is the only place that decides it.

use std::borrow::Cow;

use jouletree_model::{Op, OpId, OpTable, Pass};
use rustc_hash::{FxHashMap, FxHashSet};

/// The mark of the gradient of a weight,
const WEIGHT_GRADIENT: &str = "dW";
/// and of an input.
const INPUT_GRADIENT: &str = "dX";
/// How the variables of layers are called whose products have a weight as second factor.
const WEIGHTS: [&str; 4] = ["kernel", "weight", "weights", "W"];
/// A longer mark is cut in its middle.
const LONGEST: usize = 60;

/// The marks of the operations of a table.
#[derive(Debug, Clone, Default)]
pub struct Labels(FxHashMap<OpId, Box<str>>);

impl Labels {
    /// The marks that keep the operations of a table apart.
    pub fn of(ops: &OpTable) -> Labels {
        let mut groups: FxHashMap<(&str, Pass), Vec<(OpId, &Op)>> = FxHashMap::default();
        for (id, op) in ops.iter() {
            groups.entry((named(&op.path, &op.name, &op.op_type), op.pass)).or_default().push((id, op));
        }
        groups.retain(|_, group| group.len() > 1);
        if groups.is_empty() {
            return Labels::default();
        }
        let weighted = layers_with_weights(ops);
        let mut labels = Labels::default();
        for ((name, _), group) in groups {
            let alike: Vec<Alike<'_>> = group
                .iter()
                .map(|(_, op)| Alike { op_type: &op.op_type, name: &op.name, gradient: gradient(op, &weighted) })
                .collect();
            let marked = group.iter().zip(marks(name, &alike));
            labels.0.extend(marked.filter_map(|((id, _), mark)| Some((*id, mark?))));
        }
        labels
    }

    /// What distinguishes an operation from others of its path and pass; `None` where there are no others, or its path is
    /// enough.
    pub fn mark(&self, op: OpId) -> Option<&str> {
        self.0.get(&op).map(AsRef::as_ref)
    }
}

/// What is known of one of several operations that share path and pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Alike<'a> {
    pub op_type: &'a str,
    pub name: &'a str,
    /// The mark of a gradient, if it is one.
    pub gradient: Option<&'static str>,
}

/// The path of an operation, or what it is called where it has none.
pub fn named<'a>(path: &'a str, name: &'a str, op_type: &'a str) -> &'a str {
    [path, name, op_type].into_iter().find(|text| !text.trim_matches('/').is_empty()).unwrap_or("(unnamed)")
}

/// The name in a list: what an operation is called, and its mark.
pub fn label<'a>(named: &'a str, mark: Option<&str>) -> Cow<'a, str> {
    match mark {
        Some(mark) => Cow::Owned(format!("{named} ({mark})")),
        None => Cow::Borrowed(named),
    }
}

/// The mark of a gradient as such; other marks depend on the names of a framework.
pub(crate) fn as_gradient(mark: Option<&str>) -> Option<&'static str> {
    [WEIGHT_GRADIENT, INPUT_GRADIENT].into_iter().find(|gradient| mark == Some(gradient))
}

/// Different marks for operations that are called the same; at most one of them has none. By gradient, else by type, else by
/// the end of the framework's name, else by number.
pub(crate) fn marks(named: &str, alike: &[Alike<'_>]) -> Vec<Option<Box<str>>> {
    let leaf = named.rsplit('/').next().unwrap_or_default();
    let usual = |one: &Alike<'_>| match one.gradient {
        Some(gradient) => gradient.to_owned(),
        None if one.op_type == leaf => String::new(),
        None => one.op_type.to_owned(),
    };
    let mut marks: Vec<String> = alike.iter().map(usual).collect();
    for among in repeated(&marks) {
        let names: Vec<&str> = among.iter().map(|place| alike[*place].name).collect();
        for (place, end) in among.iter().zip(distinct_ends(&names)) {
            marks[*place] = shortened(end);
        }
    }
    for among in repeated(&marks) {
        // The order of traces never shows.
        let mut ordered = among.clone();
        ordered.sort_by_key(|place| alike[*place]);
        for (number, place) in ordered.iter().enumerate() {
            marks[*place] = match alike[*place].op_type {
                "" => format!("{}", number + 1),
                op_type => format!("{} {}", shortened(op_type), number + 1),
            };
        }
    }
    // What is still the same after all.
    let mut taken = FxHashSet::default();
    for mark in &mut marks {
        let (plain, mut number) = (mark.clone(), 1);
        while !taken.insert(mark.clone()) {
            number += 1;
            *mark = format!("{plain} #{number}").trim_start().to_owned();
        }
    }
    marks.into_iter().map(|mark| (!mark.is_empty()).then(|| mark.into())).collect()
}

/// The places of marks that occur more than once, in order.
fn repeated(marks: &[String]) -> Vec<Vec<usize>> {
    let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (place, mark) in marks.iter().enumerate() {
        places.entry(mark).or_default().push(place);
    }
    let mut repeated: Vec<Vec<usize>> = places.into_values().filter(|places| places.len() > 1).collect();
    repeated.sort_unstable();
    repeated
}

/// The shortest ends of names, in whole components, that differ; whole names where none do.
fn distinct_ends<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let end = |name: &'a str, count: usize| {
        let start = name.rmatch_indices('/').nth(count - 1).map_or(0, |(slash, _)| slash + 1);
        &name[start..]
    };
    let deepest = names.iter().map(|name| name.matches('/').count() + 1).max().unwrap_or(1);
    let differ = |ends: &Vec<&str>| ends.iter().collect::<FxHashSet<_>>().len() == ends.len();
    let ends = (1..=deepest).map(|count| names.iter().map(|name| end(name, count)).collect::<Vec<_>>());
    ends.into_iter().find(differ).unwrap_or_else(|| names.to_vec())
}

fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let half = LONGEST / 2;
    let ends = (text.chars().take(half), text.chars().skip(count - half));
    ends.0.chain(['…']).chain(ends.1).collect()
}

/// The layers that have weights, by path.
fn layers_with_weights(ops: &OpTable) -> FxHashSet<&str> {
    let mut layers = FxHashSet::default();
    for (_, op) in ops.iter() {
        let mut start = 0;
        for part in op.path.split('/') {
            if WEIGHTS.contains(&part) {
                layers.insert(op.path[..start].trim_end_matches('/'));
            }
            start += part.len() + 1;
        }
    }
    layers
}

/// What an operation is the gradient of, where its name and its layer say so. TensorFlow computes the gradient of the first
/// factor of a product first, and layers multiply inputs by weights.
fn gradient(op: &Op, weighted: &FxHashSet<&str>) -> Option<&'static str> {
    if op.pass != Pass::Backward {
        return None;
    }
    if op.op_type.contains("BackpropFilter") {
        return Some(WEIGHT_GRADIENT);
    }
    if op.op_type.contains("BackpropInput") {
        return Some(INPUT_GRADIENT);
    }
    let (layer, _) = op.path.rsplit_once('/')?;
    let (scope, last) = op.name.rsplit_once('/')?;
    let is_of_product = scope.ends_with("MatMul_grad") || scope.ends_with("/MatMul");
    if !op.op_type.ends_with("MatMul") || !is_of_product || !weighted.contains(layer) {
        return None;
    }
    match last {
        "MatMul" => Some(INPUT_GRADIENT),
        "MatMul_1" => Some(WEIGHT_GRADIENT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(ops: &[(&str, &str, &str, Pass)]) -> OpTable {
        let mut table = OpTable::default();
        for (path, op_type, name, pass) in ops {
            table.intern(Op::new(*path, *op_type, *name, *pass));
        }
        table
    }

    fn marks_of(ops: &[(&str, &str, &str, Pass)]) -> Vec<Option<String>> {
        let table = table(ops);
        let labels = Labels::of(&table);
        table.iter().map(|(id, _)| labels.mark(id).map(str::to_owned)).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
    }

    #[test]
    fn gradients_of_a_layer_say_of_what_they_are() {
        use Pass::{Backward, Forward, Optimizer};
        let (path, scope) = ("bert/dense/MatMul", "gradients/bert/dense/MatMul_grad");
        let (first, second) = (format!("{scope}/MatMul"), format!("{scope}/MatMul_1"));
        let mut ops = vec![
            (path, "MatMul", path, Forward),
            (path, "MatMul", first.as_str(), Backward),
            (path, "MatMul", second.as_str(), Backward),
        ];
        // Whether a factor is a weight is not known: the framework's own names.
        assert_eq!(marks_of(&ops), some(&["", "MatMul", "MatMul_1"]));
        ops.push(("bert/dense/kernel/Mul", "Mul", "Mul_154", Optimizer));
        assert_eq!(marks_of(&ops), some(&["", "dX", "dW", ""]));
        // One gradient alone needs no mark, and of one alone the order says nothing.
        ops.remove(2);
        assert_eq!(marks_of(&ops), some(&["", "", ""]));
        let convolution = [
            ("net/Conv2D", "Conv2DBackpropInput", "a", Backward),
            ("net/Conv2D", "_MklConv2DBackpropFilter", "b", Backward),
        ];
        assert_eq!(marks_of(&convolution), some(&["dX", "dW"]));
    }

    #[test]
    fn others_are_told_apart_by_type_then_by_name_then_by_number() {
        use Pass::Forward;
        let by_type = [("a/Add", "Add", "x", Forward), ("a/Add", "Cast", "y", Forward)];
        assert_eq!(marks_of(&by_type), some(&["", "Cast"]));
        let by_name = [("a/Add", "Add", "p/q/Add", Forward), ("a/Add", "Add", "p/r/Add", Forward)];
        assert_eq!(marks_of(&by_name), some(&["q/Add", "r/Add"]));
        let mut approximate = table(&[("a/Add", "Add", "x", Forward)]);
        approximate.intern(Op { approximate: true, ..Op::new("a/Add", "Add", "x", Forward) });
        let labels = Labels::of(&approximate);
        assert_eq!((labels.mark(OpId(0)), labels.mark(OpId(1))), (Some("Add 1"), Some("Add 2")));
        let unnamed = [("", "t", "n", Forward), ("/", "u", "n", Forward)];
        assert_eq!(marks_of(&unnamed), some(&["t", "u"]));
    }

    #[test]
    fn a_label_has_its_mark_in_parentheses() {
        assert_eq!(label("a/MatMul", Some("dW")), "a/MatMul (dW)");
        assert_eq!(label(named("", "", ""), None), "(unnamed)");
        assert_eq!(shortened(&"x".repeat(100)).chars().count(), LONGEST + 1);
    }

    proptest! {
        #[test]
        fn no_two_marks_of_one_path_are_the_same(
            ops in prop::collection::vec(("[ab/]{0,3}", "[ab#1 ]{0,3}", "[ab/#2 ]{0,5}", any::<bool>()), 0..12)
        ) {
            let mut table = OpTable::default();
            for (path, op_type, name, approximate) in ops {
                table.intern(Op { approximate, ..Op::new(path, op_type, name, Pass::Backward) });
            }
            let labels = Labels::of(&table);
            let label = |(id, op): (OpId, &Op)| {
                (named(&op.path, &op.name, &op.op_type).to_owned(), labels.mark(id).map(str::to_owned))
            };
            let all: FxHashSet<(String, Option<String>)> = table.iter().map(label).collect();
            prop_assert_eq!(all.len(), table.len());
        }
    }
}
