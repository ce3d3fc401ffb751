//! The number that Keras 3 leaves behind the name of every layer: `minibert_1/layer_0_1/attention_1/query_1`.
//!
//! A model is traced more than once and TensorFlow numbers the scopes that it has seen before, so all layers of a model
//! carry the same number, from the top down to the innermost layer; scopes that are no layers (`Tensordot`, `moments`)
//! and operations (`MatMul_1`, the second of its layer) do not take part. What is part of a layer's own name must
//! stay: `layer_1` has a sister `layer_0` that carries no such number.

use rustc_hash::{FxHashMap, FxHashSet};

/// The layers whose names carry a number that is not theirs.
#[derive(Debug, Default)]
pub(super) struct Renumbered {
    layers: FxHashSet<String>,
}

impl Renumbered {
    /// Finds them among the scopes of a model.
    pub(super) fn among(scopes: &FxHashSet<&str>) -> Renumbered {
        let mut children: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        for scope in scopes {
            let (parent, _) = scope.rsplit_once('/').unwrap_or(("", scope));
            children.entry(parent).or_default().push(scope);
        }
        let inside = |parent: &str| children.get(parent).map(Vec::as_slice).unwrap_or_default();
        let mut layers = FxHashSet::default();
        let mut numbers: Vec<&str> = inside("").iter().filter_map(|top| Some(numbered(top)?.1)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            // A model whose layers do not carry the number is called so.
            let mut open = with_number(inside(""), number);
            open.retain(|top| !with_number(inside(top), number).is_empty());
            while let Some(layer) = open.pop() {
                open.extend(with_number(inside(layer), number));
                layers.insert(layer.to_owned());
            }
        }
        Renumbered { layers }
    }

    /// The path with the names that its layers have.
    pub(super) fn restored(&self, path: &str) -> String {
        let mut restored = String::with_capacity(path.len());
        let mut from = 0;
        for end in path.match_indices('/').map(|(at, _)| at).chain([path.len()]) {
            if !self.layers.contains(&path[..end]) {
                break;
            }
            restored.push_str(numbered(&path[from..end]).map_or(&path[from..end], |(name, _)| name));
            if end < path.len() {
                restored.push('/');
            }
            from = (end + 1).min(path.len());
        }
        restored.push_str(&path[from..]);
        restored
    }
}

/// Those of some sisters that carry this number at the end of their name as something foreign.
fn with_number<'a>(sisters: &[&'a str], number: &str) -> Vec<&'a str> {
    let last = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
    let (carriers, others): (Vec<&str>, Vec<&str>) =
        sisters.iter().copied().partition(|path| numbered(last(path)).is_some_and(|(_, found)| found == number));
    let own: FxHashSet<&str> = others
        .into_iter()
        .map(last)
        .flat_map(|name| [Some(name), numbered(name).map(|(stem, _)| stem)])
        .flatten()
        .collect();
    carriers.into_iter().filter(|path| numbered(last(path)).is_some_and(|(stem, _)| !own.contains(stem))).collect()
}

/// A name and the number at its end.
fn numbered(name: &str) -> Option<(&str, &str)> {
    let (stem, number) = name.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !stem.is_empty()).then_some((stem, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(scopes: &[&str], path: &str) -> String {
        Renumbered::among(&scopes.iter().copied().collect()).restored(path)
    }

    #[test]
    fn layers_lose_a_number_that_all_carry() {
        let scopes = [
            "minibert_1",
            "minibert_1/layer_0_1",
            "minibert_1/layer_1_1",
            "minibert_1/layer_0_1/attention_1",
            "minibert_1/layer_0_1/attention_1/query_1",
            "minibert_1/layer_0_1/attention_1/query_1/Tensordot",
            "minibert_1/layer_1_1/ln1_1",
            "minibert_1/layer_1_1/ln1_1/moments",
            "adam",
        ];
        for (path, wanted) in [
            ("minibert_1/layer_0_1/attention_1/MatMul_1", "minibert/layer_0/attention/MatMul_1"),
            (
                "minibert_1/layer_0_1/attention_1/query_1/Tensordot/MatMul",
                "minibert/layer_0/attention/query/Tensordot/MatMul",
            ),
            ("minibert_1/layer_1_1/ln1_1/moments/mean_1", "minibert/layer_1/ln1/moments/mean_1"),
            ("minibert_1/layer_1_1/ln1_1", "minibert/layer_1/ln1"),
            ("adam/truediv_1", "adam/truediv_1"),
        ] {
            assert_eq!(restored(&scopes, path), wanted);
        }
    }

    #[test]
    fn numbers_that_belong_to_a_name_stay() {
        // The second model of a program, and the numbers of its blocks.
        let blocks = ["bert_1", "bert_1/layer_0", "bert_1/layer_1", "bert_1/layer_1/dense"];
        assert_eq!(restored(&blocks, "bert_1/layer_1/dense/MatMul"), "bert_1/layer_1/dense/MatMul");
        let plain = ["bert", "bert/layer_0", "bert/layer_1", "bert/layer_1/dense_1"];
        assert_eq!(restored(&plain, "bert/layer_1/dense_1/MatMul"), "bert/layer_1/dense_1/MatMul");
        // Two models side by side.
        let pair = ["net", "net/dense", "net_1", "net_1/dense_1"];
        assert_eq!(restored(&pair, "net_1/dense_1/MatMul"), "net_1/dense_1/MatMul");
    }

    #[test]
    fn names_that_end_in_numbers_of_their_own_keep_those() {
        let scopes = ["functional_1", "functional_1/dense_1", "functional_1/dense_1_1", "functional_1/dense_2_1"];
        assert_eq!(restored(&scopes, "functional_1/dense_1/MatMul"), "functional/dense/MatMul");
        assert_eq!(restored(&scopes, "functional_1/dense_1_1/MatMul"), "functional/dense_1/MatMul");
        assert_eq!(restored(&scopes, "functional_1/dense_2_1/MatMul_1"), "functional/dense_2/MatMul_1");
    }
}
