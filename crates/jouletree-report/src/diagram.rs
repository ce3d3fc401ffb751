//! The energy distribution diagram (EDD) of a layer: where its parts are and how data flows between them.
//!
//! The layered layout is dagre's. Parts without data flow are in rows below. Forward and backward passes share one
//! layout, so that parts stay where they are when one is chosen.

use std::collections::{BTreeMap, HashMap, HashSet};

use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, layout};
use jouletree_account::{Arrow, EnergyTree, is_earlier, numbered};
use jouletree_model::{Pass, guarded};

/// The size of a box.
pub const BOX: (f64, f64) = (168.0, 58.0);
/// So many parts have a box of their own, the largest; the others share one.
const MOST_BOXES: usize = 48;
/// Parts with less than this share of their layer share a box.
const LEAST_SHARE: f64 = 0.01;

/// How large things are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measures {
    /// The size of a box.
    pub box_size: (f64, f64),
    /// The distance between boxes beside each other, and between ranks.
    pub gap: (f64, f64),
    /// The distance between arrows beside each other.
    pub arrow_gap: f64,
    /// So many parts have a box of their own, the largest; the others share one.
    pub most_boxes: usize,
    /// Parts without data flow are in rows of so many, unless the rest is wider.
    pub in_a_row: usize,
}

/// On the page.
const ON_PAGE: Measures =
    Measures { box_size: BOX, gap: (26.0, 34.0), arrow_gap: 10.0, most_boxes: MOST_BOXES, in_a_row: 4 };

/// The positions of the parts of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagram {
    /// Its size.
    pub size: (f64, f64),
    /// The parts.
    pub places: Vec<DiagramBox>,
    /// The data flow between them.
    pub routes: Vec<Route>,
}

/// A box of a diagram.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagramBox {
    /// Its content.
    pub part: BoxContent,
    /// Its middle.
    pub at: (f64, f64),
}

/// The content of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoxContent {
    /// A child of the layer, by its index.
    Child(usize),
    /// The operations with exactly the path of the layer.
    Own,
    /// All children from this one on.
    Others(usize),
}

/// Data flow between two boxes.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The box at its beginning, by its index in [`Diagram::places`].
    pub from: usize,
    /// The box at its end.
    pub to: usize,
    /// The way, from box to box.
    pub points: Vec<(f64, f64)>,
    /// What flows along it, and against it.
    pub heads: Heads,
}

/// What flows along a route and against it, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heads(pub u8);

/// One way in which data flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Between operations of the forward pass.
    Forward = 0,
    /// Between operations of the backward pass.
    Backward = 1,
    /// From one pass to another.
    Between = 2,
}

impl Heads {
    /// Whether data flows so, along the route or against it.
    pub fn has(self, flow: Flow, is_against: bool) -> bool {
        self.0 & Heads::bit(flow, is_against) != 0
    }

    /// The same flow seen from the other end.
    fn turned(self) -> Heads {
        Heads((self.0 & 0b01_0101) << 1 | (self.0 & 0b10_1010) >> 1)
    }

    fn bit(flow: Flow, is_against: bool) -> u8 {
        1 << (2 * flow as u8 + u8::from(is_against))
    }

    fn add(&mut self, flow: Flow, is_against: bool) {
        self.0 |= Heads::bit(flow, is_against);
    }
}

impl Flow {
    pub(crate) fn of(arrow: &Arrow) -> Flow {
        match (arrow.from_pass, arrow.to_pass) {
            (Pass::Forward, Pass::Forward) => Flow::Forward,
            (Pass::Backward, Pass::Backward) => Flow::Backward,
            _ => Flow::Between,
        }
    }
}

impl Diagram {
    /// The diagram of a layer; `None` when nothing is in it.
    pub fn of(layer: &EnergyTree) -> Option<Diagram> {
        Diagram::measured(layer, &ON_PAGE)
    }

    /// The diagram of a layer with other measures than those of the page.
    pub(crate) fn measured(layer: &EnergyTree, measures: &Measures) -> Option<Diagram> {
        if layer.children.is_empty() {
            return None;
        }
        let shown = shown(layer, measures.most_boxes.max(1));
        let mut parts: Vec<BoxContent> = (0..shown).map(BoxContent::Child).collect();
        let others = (shown < layer.children.len()).then_some(BoxContent::Others(shown));
        parts.extend(others);
        if layer.own.0 > 0.0 {
            parts.push(BoxContent::Own);
        }
        let flows = flows(layer, shown);
        let mut is_joined = vec![false; parts.len()];
        for (from, to) in flows.keys() {
            is_joined[*from] = true;
            is_joined[*to] = true;
        }
        let mut places: Vec<DiagramBox> =
            parts.into_iter().map(|part| DiagramBox { part, at: (0.0, 0.0) }).collect();
        let (mut size, routes) = laid_out(&mut places, &is_joined, &flows, measures).unwrap_or_else(|| {
            is_joined.fill(false);
            Default::default()
        });
        let alone = places.iter_mut().zip(is_joined).filter(|(_, is_joined)| !is_joined).map(|(place, _)| place);
        let mut alone: Vec<&mut DiagramBox> = alone.collect();
        by_number(&mut alone, layer);
        in_rows(alone, &mut size, measures);
        Some(Diagram { size, places, routes })
    }
}

/// How many parts, the largest, have a box of their own. One box for a single small part would say less than its name.
fn shown(layer: &EnergyTree, most: usize) -> usize {
    let all = layer.children.len();
    let least = layer.energy.0 * LEAST_SHARE;
    let large = layer.children.iter().take_while(|child| child.energy.0 >= least).count();
    let shown = if least > 0.0 && large > 0 && large + 1 < all { large } else { all };
    if shown == all && all <= most { all } else { shown.min(most - 1) }
}

/// Puts boxes without data flow whose names differ only in a number into the order of their numbers.
fn by_number(alone: &mut [&mut DiagramBox], layer: &EnergyTree) {
    let name = |place: &DiagramBox| match place.part {
        BoxContent::Child(child) => layer.children.get(child).map(|child| child.name.as_str()),
        BoxContent::Own | BoxContent::Others(_) => None,
    };
    let mut firsts: HashMap<&str, usize> = HashMap::new();
    let keys: HashMap<BoxContent, (usize, u64)> = (alone.iter().enumerate())
        .map(|(at, place)| match name(place).and_then(numbered) {
            Some((stem, number)) => (place.part, (*firsts.entry(stem).or_insert(at), number)),
            None => (place.part, (at, 0)),
        })
        .collect();
    alone.sort_by_key(|place| keys.get(&place.part).copied());
}

/// The data flow between boxes, each pair once, in the direction in which it is drawn: downwards with the forward pass.
///
/// There are no cycles: where data flows in a circle, the least of it is drawn upwards.
fn flows(layer: &EnergyTree, shown: usize) -> BTreeMap<(usize, usize), Heads> {
    let numbers: HashMap<&str, usize> =
        layer.children.iter().enumerate().map(|(number, child)| (child.name.as_str(), number)).collect();
    let ends = |arrow: &Arrow| Some((*numbers.get(arrow.from.as_str())?, *numbers.get(arrow.to.as_str())?));
    let arrows: Vec<((usize, usize), &Arrow)> =
        layer.edges.iter().filter_map(|arrow| Some((ends(arrow)?, arrow))).collect();
    let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
    let mut add = |from: usize, to: usize, arrow: &Arrow| {
        if from != to {
            pairs.entry((from.min(to), from.max(to))).or_default().add(arrow, from > to);
        }
    };
    let mut through = Through::new(&arrows, shown);
    for ((from, to), arrow) in arrows.iter().filter(|((from, _), _)| *from < shown) {
        if *to < shown {
            add(*from, *to, arrow);
        } else {
            through.to(*to, Flow::of(arrow)).iter().for_each(|to| add(*from, *to, arrow));
        }
    }
    let order = |from: usize, to: usize| -> Option<bool> {
        let name = |number: usize| Some(layer.children.get(number).filter(|_| number < shown)?.name.as_str());
        is_earlier(name(from)?, name(to)?)
    };
    let mut directed: Vec<((usize, usize), Pair)> = pairs
        .into_iter()
        .map(|((low, high), pair)| match order(low, high).unwrap_or_else(|| pair.is_down()) {
            true => ((low, high), pair),
            false => ((high, low), pair.turned()),
        })
        .collect();
    // Otherwise the forward pass sets the order, by what flows most; small parts, which prepare what large ones use, come
    // first.
    directed
        .sort_by_key(|((from, to), pair)| std::cmp::Reverse((order(*from, *to).is_some(), pair.forward.0, *from)));
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut flows = BTreeMap::new();
    for ((from, to), pair) in directed {
        let (from, to, pair) = if leads(&below, to, from) { (to, from, pair.turned()) } else { (from, to, pair) };
        below.entry(from).or_default().push(to);
        flows.insert((from, to), pair.heads);
    }
    flows
}

/// Parts that share a box are no part of the flow: what goes through them goes from box to box.
struct Through {
    /// Where data of a pass goes from a part without a box of its own.
    next: HashMap<(usize, Flow), Vec<usize>>,
    shown: usize,
    known: HashMap<(usize, Flow), Vec<usize>>,
}

impl Through {
    fn new(arrows: &[((usize, usize), &Arrow)], shown: usize) -> Through {
        let mut next: HashMap<(usize, Flow), Vec<usize>> = HashMap::new();
        for ((from, to), arrow) in arrows.iter().filter(|((from, _), _)| *from >= shown) {
            let flow = Flow::of(arrow);
            if flow != Flow::Between {
                next.entry((*from, flow)).or_default().push(*to);
            }
        }
        Through { next, shown, known: HashMap::new() }
    }

    /// The boxes that data reaches from such a part.
    fn to(&mut self, part: usize, flow: Flow) -> &[usize] {
        let Through { next, shown, known } = self;
        known.entry((part, flow)).or_insert_with(|| {
            let mut seen = HashSet::from([part]);
            let mut waiting = vec![part];
            let mut found = Vec::new();
            while let Some(at) = waiting.pop() {
                for to in next.get(&(at, flow)).into_iter().flatten().filter(|to| seen.insert(**to)) {
                    if *to < *shown { found.push(*to) } else { waiting.push(*to) }
                }
            }
            found
        })
    }
}

/// What flows between two boxes.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    heads: Heads,
    /// How many arrows of the forward pass there are, along and against.
    forward: (u64, u64),
}

impl Pair {
    fn add(&mut self, arrow: &Arrow, is_against: bool) {
        let flow = Flow::of(arrow);
        self.heads.add(flow, is_against);
        if flow == Flow::Forward {
            let count = if is_against { &mut self.forward.1 } else { &mut self.forward.0 };
            *count = count.saturating_add(arrow.count);
        }
    }

    fn turned(self) -> Pair {
        Pair { heads: self.heads.turned(), forward: (self.forward.1, self.forward.0) }
    }

    /// Whether it is drawn along rather than against.
    fn is_down(&self) -> bool {
        let has = |flow, is_against| self.heads.has(flow, is_against);
        if has(Flow::Forward, false) || has(Flow::Forward, true) {
            return self.forward.0 >= self.forward.1;
        }
        has(Flow::Backward, true) || !has(Flow::Backward, false) && has(Flow::Between, false)
    }
}

/// Whether a way leads from one box to another.
fn leads(below: &HashMap<usize, Vec<usize>>, from: usize, to: usize) -> bool {
    let mut seen = HashSet::from([from]);
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        if at == to {
            return true;
        }
        waiting.extend(below.get(&at).into_iter().flatten().filter(|next| seen.insert(**next)));
    }
    false
}

/// Places all boxes that data flows to or from; returns the size and the routes. `None` when the library gave up, as it asserts
/// where it should return an error.
fn laid_out(
    places: &mut [DiagramBox],
    is_joined: &[bool],
    flows: &BTreeMap<(usize, usize), Heads>,
    measures: &Measures,
) -> Option<((f64, f64), Vec<Route>)> {
    if flows.is_empty() {
        return Some(Default::default());
    }
    let (wide, high) = measures.box_size;
    let mut graph: Graph<NodeLabel, EdgeLabel> =
        Graph::with_options(GraphOptions { directed: true, multigraph: false, compound: false });
    for number in (0..places.len()).filter(|number| is_joined[*number]) {
        let label = NodeLabel { width: wide, height: high, ..NodeLabel::default() };
        graph.set_node(number.to_string(), Some(label));
    }
    for ((from, to), heads) in flows {
        let weight = if heads.has(Flow::Forward, false) { 3 } else { 1 };
        let label = EdgeLabel { weight, ..EdgeLabel::default() };
        graph.set_edge(from.to_string(), to.to_string(), Some(label), None);
    }
    let (nodesep, ranksep) = measures.gap;
    let options = LayoutOptions { nodesep, ranksep, edgesep: measures.arrow_gap, ..LayoutOptions::default() };
    guarded(|| layout(&mut graph, Some(options)))?;
    let mut size = (0.0_f64, 0.0_f64);
    for (number, place) in places.iter_mut().enumerate() {
        if let Some(node) = graph.node(&number.to_string()) {
            place.at = (node.x.unwrap_or(0.0), node.y.unwrap_or(0.0));
            size = (size.0.max(place.at.0 + wide / 2.0), size.1.max(place.at.1 + high / 2.0));
        }
    }
    let route = |((from, to), heads): (&(usize, usize), &Heads)| {
        let edge = graph.edge(&from.to_string(), &to.to_string(), None);
        let points: Vec<(f64, f64)> =
            edge.map(|edge| edge.points.iter().map(|point| (point.x, point.y)).collect()).unwrap_or_default();
        Route { from: *from, to: *to, points, heads: *heads }
    };
    let routes: Vec<Route> = flows.iter().map(route).collect();
    for (x, y) in routes.iter().flat_map(|route| &route.points) {
        size = (size.0.max(*x), size.1.max(*y));
    }
    Some((size, routes))
}

/// Places boxes in rows below what is there.
fn in_rows(alone: Vec<&mut DiagramBox>, size: &mut (f64, f64), measures: &Measures) {
    if alone.is_empty() {
        return;
    }
    let ((wide, high), gap) = (measures.box_size, measures.gap);
    let (width, height) = (wide + gap.0, high + gap.1);
    let fitting = ((size.0 + gap.0) / width).floor() as usize;
    let in_a_row = fitting.max(measures.in_a_row).min(alone.len());
    let top = if size.1 > 0.0 { size.1 + gap.1 } else { 0.0 };
    let rows = alone.len().div_ceil(in_a_row);
    for (number, place) in alone.into_iter().enumerate() {
        let (row, column) = (number / in_a_row, number % in_a_row);
        place.at = (column as f64 * width + wide / 2.0, top + row as f64 * height + high / 2.0);
    }
    *size = (size.0.max(in_a_row as f64 * width - gap.0), top + rows as f64 * height - gap.1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::Joules;
    use proptest::prelude::*;

    /// A name without a number.
    fn named(number: usize) -> String {
        format!("n{number}.")
    }

    fn layer(children: usize, edges: &[(usize, usize, Pass, Pass)]) -> EnergyTree {
        let child = |number: usize| EnergyTree {
            name: named(number),
            energy: Joules((children - number) as f64),
            ..EnergyTree::default()
        };
        let arrow = |(from, to, from_pass, to_pass): &(usize, usize, Pass, Pass)| Arrow {
            from: named(*from),
            to: named(*to),
            from_pass: *from_pass,
            to_pass: *to_pass,
            count: 1,
        };
        EnergyTree {
            children: (0..children).map(child).collect(),
            edges: edges.iter().map(arrow).collect(),
            ..EnergyTree::default()
        }
    }

    #[test]
    fn data_flows_downwards_and_gradients_up_the_same_way() {
        let (f, b) = (Pass::Forward, Pass::Backward);
        let diagram = Diagram::of(&layer(4, &[(1, 0, f, f), (0, 1, b, b), (0, 2, f, f)])).unwrap();
        let at =
            |child: usize| diagram.places.iter().find(|place| place.part == BoxContent::Child(child)).unwrap().at;
        assert!(at(1).1 < at(0).1 && at(0).1 < at(2).1, "{diagram:?}");
        assert!(at(3).1 > at(2).1, "what has no data flow is below");
        assert_eq!(diagram.routes.len(), 2);
        let route = diagram.routes.iter().find(|route| (route.from, route.to) == (1, 0)).unwrap();
        assert!(route.heads.has(Flow::Forward, false) && route.heads.has(Flow::Backward, true));
        assert!(!route.heads.has(Flow::Backward, false) && route.points.len() >= 2);
    }

    #[test]
    fn numbered_siblings_stand_in_their_order() {
        let f = Pass::Forward;
        let mut layer = layer(3, &[(2, 1, f, f), (1, 0, f, f), (0, 2, f, f)]);
        layer.edges[0].count = 19;
        let plain = |name: &mut String| name.truncate(name.trim_end_matches('.').len());
        layer.children.iter_mut().for_each(|child| plain(&mut child.name));
        layer.edges.iter_mut().for_each(|edge| [&mut edge.from, &mut edge.to].into_iter().for_each(plain));
        let diagram = Diagram::of(&layer).unwrap();
        assert!(diagram.places[0].at.1 < diagram.places[1].at.1, "{diagram:?}");
        assert!(diagram.places[1].at.1 < diagram.places[2].at.1, "{diagram:?}");
    }

    #[test]
    fn only_the_least_of_a_circle_flows_upwards() {
        let f = Pass::Forward;
        let mut layer = layer(3, &[(0, 1, f, f), (1, 2, f, f), (2, 0, f, f), (2, 1, Pass::Optimizer, f)]);
        layer.edges[0].count = 5;
        layer.edges[1].count = 5;
        let diagram = Diagram::of(&layer).unwrap();
        let at = |child: usize| diagram.places[child].at.1;
        assert!(at(0) < at(1) && at(1) < at(2), "{diagram:?}");
        let back = diagram.routes.iter().find(|route| (route.from, route.to) == (0, 2)).unwrap();
        assert!(back.heads.has(Flow::Forward, true) && !back.heads.has(Flow::Forward, false));
        assert_eq!(diagram.routes.len(), 3);
    }

    #[test]
    fn many_small_parts_share_a_box() {
        let diagram = Diagram::of(&layer(100, &[(99, 98, Pass::Forward, Pass::Forward)])).unwrap();
        assert_eq!(diagram.places.len(), MOST_BOXES);
        assert_eq!(diagram.places.last().unwrap().part, BoxContent::Others(MOST_BOXES - 1));
        assert!(diagram.routes.is_empty());
        assert_eq!(Diagram::of(&EnergyTree::default()), None);
    }

    #[test]
    fn parts_below_one_percent_share_a_box() {
        let with = |energies: &[f64]| {
            let mut layer = layer(energies.len(), &[]);
            layer.energy = Joules(energies.iter().sum());
            layer.children.iter_mut().zip(energies).for_each(|(child, energy)| child.energy = Joules(*energy));
            Diagram::of(&layer).unwrap().places.into_iter().map(|place| place.part).collect::<Vec<BoxContent>>()
        };
        assert_eq!(
            with(&[90.0, 9.1, 0.5, 0.4]),
            [BoxContent::Child(0), BoxContent::Child(1), BoxContent::Others(2)]
        );
        assert_eq!(
            with(&[99.5, 0.5]),
            [BoxContent::Child(0), BoxContent::Child(1)],
            "one is not worth a box of others"
        );
        assert_eq!(with(&[0.5; 200]).len(), MOST_BOXES, "none is larger than the others");
        assert_eq!(with(&[0.0; 3]).len(), 3);
    }

    #[test]
    fn data_goes_through_parts_that_share_a_box() {
        let f = Pass::Forward;
        let mut layer = layer(5, &[(0, 3, f, f), (3, 4, f, f), (4, 1, f, f), (3, 2, Pass::Backward, f)]);
        layer.energy = Joules(100.0);
        layer.children.iter_mut().zip([50.0, 30.0, 19.2, 0.4, 0.4]).for_each(|(child, joules)| {
            child.energy = Joules(joules);
        });
        let diagram = Diagram::of(&layer).unwrap();
        assert_eq!(diagram.places.last().map(|place| place.part), Some(BoxContent::Others(3)));
        let routes: Vec<(usize, usize)> = diagram.routes.iter().map(|route| (route.from, route.to)).collect();
        assert_eq!(routes, [(0, 1)], "and none ends at the box of the others");
    }

    #[test]
    fn numbered_parts_without_data_flow_stand_in_their_order() {
        let mut layer = layer(3, &[]);
        for (child, name) in layer.children.iter_mut().zip(["layer_10", "pooler", "layer_2"]) {
            child.name = name.to_owned();
        }
        let diagram = Diagram::of(&layer).unwrap();
        let x = |child: usize| {
            diagram.places.iter().find(|place| place.part == BoxContent::Child(child)).unwrap().at.0
        };
        assert!(x(2) < x(0) && x(0) < x(1), "{diagram:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn boxes_never_overlap(
            children in 1..30_usize,
            edges in proptest::collection::vec((0..30_usize, 0..30_usize, 0..3_usize, 0..3_usize), 0..60),
        ) {
            let edges: Vec<(usize, usize, Pass, Pass)> =
                edges.into_iter().map(|(from, to, a, b)| (from, to, Pass::ALL[a], Pass::ALL[b])).collect();
            let diagram = Diagram::of(&layer(children, &edges)).unwrap();
            prop_assert_eq!(diagram.places.len(), children);
            for (number, a) in diagram.places.iter().enumerate() {
                prop_assert!(a.at.0 >= BOX.0 / 2.0 - 0.01 && a.at.0 <= diagram.size.0 - BOX.0 / 2.0 + 0.01);
                prop_assert!(a.at.1 >= BOX.1 / 2.0 - 0.01 && a.at.1 <= diagram.size.1 - BOX.1 / 2.0 + 0.01);
                for b in &diagram.places[number + 1..] {
                    let apart = (a.at.0 - b.at.0).abs() >= BOX.0 || (a.at.1 - b.at.1).abs() >= BOX.1;
                    prop_assert!(apart, "{:?} {:?}", a, b);
                }
            }
        }
    }
}
