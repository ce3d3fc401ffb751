//! The order of numbered layers: a chain `layer_0`, `layer_1`, … runs in the order of its numbers.

use jouletree_model::Pass;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Arrow;

/// Whether the first of two siblings whose names differ only in their number has the lower one; `None` for other names.
pub fn is_earlier(name: &str, other: &str) -> Option<bool> {
    let ((stem, number), (same, another)) = (numbered(name)?, numbered(other)?);
    (stem == same && number != another).then_some(number < another)
}

/// A name that ends with a number, in two.
pub fn numbered(name: &str) -> Option<(&str, u64)> {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    Some((stem, name.get(stem.len()..)?.parse().ok()?))
}

/// The arrows between the children of one node without those against the order of a chain.
///
/// A number alone is no proof of an order: layers may be numbered as they were created. An arrow from a later to an earlier
/// layer is dropped where data of the same pass flows the other way too, over however many siblings: a model without a
/// circle cannot have both, so the graph optimizer merged equal nodes of several layers. In the backward pass the order is
/// the other way round.
pub(super) fn in_order(mut arrows: Vec<Arrow>) -> Vec<Arrow> {
    for (pass, is_reversed) in [(Pass::Forward, false), (Pass::Backward, true)] {
        let within = |arrow: &Arrow| arrow.from_pass == pass && arrow.to_pass == pass;
        let is_against = |arrow: &Arrow| {
            within(arrow) && is_earlier(&arrow.to, &arrow.from).is_some_and(|earlier| earlier != is_reversed)
        };
        if !arrows.iter().any(is_against) {
            continue;
        }
        let mut next: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        for arrow in arrows.iter().filter(|arrow| within(arrow) && !is_against(arrow)) {
            next.entry(&arrow.from).or_default().push(&arrow.to);
        }
        let kept: Vec<bool> =
            arrows.iter().map(|arrow| !is_against(arrow) || !leads(&next, &arrow.to, &arrow.from)).collect();
        let mut kept = kept.into_iter();
        arrows.retain(|_| kept.next().unwrap_or(true));
    }
    arrows
}

/// Whether arrows lead from one sibling to another.
fn leads(next: &FxHashMap<&str, Vec<&str>>, from: &str, to: &str) -> bool {
    let mut seen = FxHashSet::from_iter([from]);
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        if at == to {
            return true;
        }
        waiting.extend(next.get(at).into_iter().flatten().filter(|next| seen.insert(**next)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: &str, to: &str, pass: Pass) -> Arrow {
        Arrow { from: from.into(), to: to.into(), from_pass: pass, to_pass: pass, count: 1 }
    }

    #[test]
    fn names_that_end_with_a_number_have_an_order() {
        assert_eq!(
            (numbered("layer_12"), numbered("12"), numbered("layer")),
            (Some(("layer_", 12)), Some(("", 12)), None)
        );
        assert_eq!((is_earlier("a2", "a10"), is_earlier("a10", "a2")), (Some(true), Some(false)));
        assert_eq!((is_earlier("a1", "b2"), is_earlier("a", "a1"), is_earlier("a1", "a01")), (None, None, None));
    }

    #[test]
    fn an_arrow_back_along_a_chain_is_dropped() {
        let f = Pass::Forward;
        let chain = [arrow("l0", "x", f), arrow("x", "l1", f), arrow("l1", "l2", f)];
        let back = arrow("l2", "l0", f);
        let found = in_order(chain.iter().cloned().chain([back]).collect());
        assert_eq!(found, chain);
        // Gradients flow from the last layer to the first.
        let b = Pass::Backward;
        let gradients = [arrow("l2", "l1", b), arrow("l1", "l0", b)];
        let found = in_order(gradients.iter().cloned().chain([arrow("l0", "l2", b)]).collect());
        assert_eq!(found, gradients);
    }

    #[test]
    fn layers_that_run_against_their_numbers_keep_their_arrows() {
        let arrows = vec![arrow("dense_2", "dense_1", Pass::Forward), arrow("dense_1", "dense_3", Pass::Forward)];
        assert_eq!(in_order(arrows.clone()), arrows);
    }
}
