//! Primitives of which only sizes are known: a physical sum of a call, its operations, its bytes and their geometric
//! mean, none of them negative, corrected by what measured primitives of similar size deviate from it.
//!
//! The correction is a weighted mean of logarithmic deviations that shrinks to nothing away from all measured sizes, so
//! that an unheard-of size gets the physical sum and a well-known one gets what was measured. It has two parts: what the
//! neighbourhood says, and what measurements of exactly this size say beyond it, because kernels are chosen by size and
//! one step of a size can change the energy more than the next ten.

use std::collections::{BTreeMap, HashMap, HashSet};

use jouletree_model::Joules;
use serde::{Deserialize, Serialize};

use super::error::IreneError;
use super::leaf_regressor::{stand_in, stand_in_note};
use super::shapes::{is_product, product_shape};
use super::tree::{Level, Node, Tree};
use crate::non_negative::NormalEquations;

/// How far, in powers of e of a size, a measured primitive still speaks for another. Set once, by hand.
const REACH: f64 = 0.35;
/// The weight of "no deviation", in measurements of exactly the size asked for. Set once, by hand.
const DOUBT: f64 = 0.3;
/// Weights below this change no digit that is printed; skipping them saves most of the exponentials.
const NEGLIGIBLE_DISTANCE: f64 = 30.0;

/// A primitive's sizes.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    terms: [f64; 4],
    place: [f64; 3],
}

impl Sizes {
    fn of(tree: &Tree, node: &Node) -> Sizes {
        let shape = node.specs.product.or_else(|| {
            let counts_tell = is_product(&node.kind);
            counts_tell.then(|| product_shape(tree, &node.specs)).flatten()
        });
        let (flops, bytes, place) = match shape {
            Some(shape) => {
                let place = [shape.rows.ln(), shape.inner.ln(), shape.outer.ln()];
                (shape.megaflops(), shape.mebibytes(), place)
            }
            None => {
                let (flops, bytes) = (node.specs.megaflops, node.specs.mebibytes);
                // A lookup has no operations; one operation instead keeps the logarithm finite.
                (flops, bytes, [flops.max(1e-6).ln(), bytes.max(1e-6).ln(), 0.0])
            }
        };
        Sizes { terms: [1.0, flops, bytes, (flops * bytes).sqrt()], place }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Fit {
    coefficients: Vec<f64>,
    /// Where something was measured and by which factor, as a logarithm, it was off.
    deviations: Vec<([f64; 3], f64)>,
}

impl Fit {
    fn new(rows: &[(Sizes, f64)]) -> Fit {
        let mut sums = NormalEquations::new(4);
        for (sizes, energy) in rows {
            sums.add(&sizes.terms, *energy, *energy);
        }
        let mut fit = Fit { coefficients: sums.solve_non_negative(), deviations: Vec::new() };
        fit.deviations =
            rows.iter().map(|(sizes, energy)| (sizes.place, (energy / fit.sum(sizes)).ln())).collect();
        fit
    }

    fn sum(&self, sizes: &Sizes) -> f64 {
        let sum: f64 = self.coefficients.iter().zip(sizes.terms).map(|(a, b)| a * b).sum();
        sum.max(f64::MIN_POSITIVE)
    }

    fn energy(&self, sizes: &Sizes) -> f64 {
        let (same, deviation) = self.same_size(sizes);
        let near = self.near(&sizes.place);
        // What is left of measurements of exactly this size after the neighbourhood has spoken.
        let rest = (deviation - same * near) / (same + DOUBT);
        self.sum(sizes) * (near + rest).exp()
    }

    /// How many measurements of this very size there are, and the sum of their deviations.
    fn same_size(&self, sizes: &Sizes) -> (f64, f64) {
        let same = self.deviations.iter().filter(|(place, _)| is_same(place, &sizes.place));
        same.fold((0.0, 0.0), |(count, sum), (_, deviation)| (count + 1.0, sum + deviation))
    }

    /// Whether a size lies within what was measured, or a little beyond.
    fn reaches(&self, place: &[f64; 3]) -> bool {
        place.iter().enumerate().all(|(axis, at)| {
            let sizes = || self.deviations.iter().map(|(place, _)| place[axis]);
            sizes().any(|size| size >= at - REACH) && sizes().any(|size| size <= at + REACH)
        })
    }

    /// The mean deviation of measurements of about this size.
    fn near(&self, wanted: &[f64; 3]) -> f64 {
        let (mut weights, mut total) = (DOUBT, 0.0);
        for (place, deviation) in &self.deviations {
            let distance: f64 =
                place.iter().zip(wanted).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / (REACH * REACH);
            if distance < NEGLIGIBLE_DISTANCE {
                let weight = (-0.5 * distance).exp();
                weights += weight;
                total += weight * deviation;
            }
        }
        total / weights
    }
}

/// Whether two places are one, but for what writing and reading a number may change.
fn is_same(a: &[f64; 3], b: &[f64; 3]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

/// One fit per kind of primitive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpecLeaves {
    fits: BTreeMap<String, Fit>,
    pooled: Fit,
}

impl SpecLeaves {
    /// Fits every kind on its different measurements: a layer that repeats was measured once.
    pub fn fit<'a>(trees: impl IntoIterator<Item = &'a Tree>) -> Result<SpecLeaves, IreneError> {
        let mut groups: BTreeMap<&str, Vec<(Sizes, f64)>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for tree in trees {
            // A primitive that took nothing was not seen by the meter.
            for node in tree.nodes.iter().filter(|node| node.level == Level::Leaf && node.measured.0 > 0.0) {
                let key = (
                    node.kind.as_str(),
                    [node.specs.megaflops, node.specs.mebibytes, node.measured.0].map(f64::to_bits),
                );
                if seen.insert(key) {
                    groups.entry(&node.kind).or_default().push((Sizes::of(tree, node), node.measured.0));
                }
            }
        }
        if groups.is_empty() {
            return Err(IreneError::NothingToFit { what: "primitives by their sizes", needed: "primitives" });
        }
        let all: Vec<(Sizes, f64)> = groups.values().flatten().copied().collect();
        let fits = groups.into_iter().map(|(kind, rows)| (kind.to_owned(), Fit::new(&rows))).collect();
        Ok(SpecLeaves { fits, pooled: Fit::new(&all) })
    }

    /// The energy of a primitive.
    pub fn predict(&self, tree: &Tree, node: &Node) -> Joules {
        let sizes = Sizes::of(tree, node);
        Joules(match stand_in(&self.fits, &node.kind) {
            Some((name, fit)) if name == node.kind => fit.energy(&sizes),
            // What another kind deviates by belongs to its own kernels; only the physical sum carries over.
            Some((_, fit)) => fit.sum(&sizes),
            None => self.pooled.sum(&sizes),
        })
    }

    /// The energies of all primitives of a tree, each size computed once; zero for inner nodes.
    pub(crate) fn predict_tree(&self, tree: &Tree) -> Vec<Joules> {
        let mut known: HashMap<(&str, u64, u64), Joules> = HashMap::new();
        tree.nodes
            .iter()
            .map(|node| {
                if node.level != Level::Leaf {
                    return Joules::ZERO;
                }
                let key = (node.kind.as_str(), node.specs.megaflops.to_bits(), node.specs.mebibytes.to_bits());
                *known.entry(key).or_insert_with(|| self.predict(tree, node))
            })
            .collect()
    }

    /// Whether a primitive is larger or smaller, in any of its sizes, than all that were measured of its kind.
    pub fn is_outside(&self, tree: &Tree, node: &Node) -> bool {
        let place = Sizes::of(tree, node).place;
        stand_in(&self.fits, &node.kind).is_none_or(|(_, fit)| !fit.reaches(&place))
    }

    /// Whether primitives of this kind were measured.
    pub fn knows(&self, kind: &str) -> bool {
        self.fits.contains_key(kind)
    }

    /// What is done about a kind that was never measured.
    pub fn note(&self, kind: &str) -> Option<String> {
        stand_in_note(&self.fits, kind)
    }
}
