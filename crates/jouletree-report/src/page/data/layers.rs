//! The layers of the page, and where the parts of each are in its diagram.

use std::collections::BTreeMap;

use jouletree_account::EnergyTree;
use jouletree_model::PREDICTION_LEVEL;
use rayon::prelude::*;
use serde::Serialize;

use crate::Study;
use crate::diagram::{BOX, BoxContent, Diagram};

/// The layers, each after its parent; the first is the root. Energies by pass and stage are sums over operations.
#[derive(Serialize, Default)]
pub struct Tree<'a> {
    name: Vec<&'a str>,
    parent: Vec<u32>,
    energy: Vec<f64>,
    own: Vec<f64>,
    busy: Vec<f64>,
    count: Vec<u64>,
    /// Which of them are layers and not tensors.
    composite: Vec<u8>,
    /// The standard deviations over the runs; empty when there is one run.
    sd: Vec<f64>,
    /// The standard errors of the attribution; empty where it has none.
    error: Vec<Option<f64>>,
    /// The ends of the intervals of a prediction; empty when there are none.
    predicted: Vec<Option<(f64, f64)>>,
    /// The level of these, in percent.
    predicted_level: u8,
}

/// Where the parts of layers are.
#[derive(Serialize)]
pub struct Diagrams {
    box_size: (f64, f64),
    /// By the number of the layer in the tree.
    of: BTreeMap<u32, Drawn>,
}

#[derive(Serialize)]
struct Drawn {
    size: (i32, i32),
    /// The layer that a box represents (-1: the layer's own operations, -2: all children from `others` on) and its middle.
    boxes: Vec<(i64, i32, i32)>,
    others: Option<usize>,
    /// From box, to box, what flows, the way.
    routes: Vec<(usize, usize, u8, Vec<i32>)>,
}

impl<'a> Tree<'a> {
    /// The tree of a study; `nodes` are its layers in the order of the columns.
    pub fn of(study: &'a Study, nodes: &mut Vec<&'a EnergyTree>) -> Tree<'a> {
        let mut tree = Tree { predicted_level: PREDICTION_LEVEL, ..Tree::default() };
        let (is_predicted, has_errors) = (study.tree.is_predicted(), study.tree.has_errors());
        let mut waiting: Vec<(&EnergyTree, u32)> = vec![(&study.tree, 0)];
        while let Some((node, parent)) = waiting.pop() {
            let number = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            nodes.push(node);
            tree.name.push(&node.name);
            tree.parent.push(parent);
            tree.energy.push(node.energy.0);
            tree.own.push(node.own.0);
            tree.busy.push(node.busy.seconds());
            tree.count.push(node.count);
            tree.composite.push(u8::from(node.is_composite()));
            if study.runs > 1 {
                tree.sd.push(study.deviation_of(&node.path).map_or(0.0, |sd| sd.0));
            }
            if has_errors {
                tree.error.push(node.standard_error.map(|error| error.0));
            }
            if is_predicted {
                tree.predicted.push(node.predicted.map(|interval| (interval.low.0, interval.high.0)));
            }
            // The largest child comes next.
            waiting.extend(node.children.iter().rev().map(|child| (child, number)));
        }
        tree
    }
}

impl Diagrams {
    /// The diagram of every layer; `number` is that of a layer by its path.
    pub fn of(nodes: &[&EnergyTree], number: &(dyn Fn(&str) -> Option<u32> + Sync)) -> Diagrams {
        let drawn = |(place, node): (usize, &&EnergyTree)| {
            let diagram = Diagram::of(node)?;
            Some((u32::try_from(place).ok()?, Drawn::of(node, &diagram, number)))
        };
        Diagrams { box_size: BOX, of: nodes.par_iter().enumerate().filter_map(drawn).collect() }
    }
}

impl Drawn {
    fn of(node: &EnergyTree, diagram: &Diagram, number: &dyn Fn(&str) -> Option<u32>) -> Drawn {
        let whole = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
        let mut others = None;
        let boxes = diagram.places.iter().map(|place| {
            let (x, y) = whole(place.at);
            let layer = match place.part {
                BoxContent::Child(child) => {
                    node.children.get(child).and_then(|child| number(&child.path)).map_or(-1, i64::from)
                }
                BoxContent::Own => -1,
                BoxContent::Others(from) => {
                    others = Some(from);
                    -2
                }
            };
            (layer, x, y)
        });
        let boxes = boxes.collect();
        let routes = diagram.routes.iter().map(|route| {
            let points = route.points.iter().flat_map(|point| <[i32; 2]>::from(whole(*point))).collect();
            (route.from, route.to, route.heads.0, points)
        });
        Drawn { size: whole(diagram.size), boxes, others, routes: routes.collect() }
    }
}
