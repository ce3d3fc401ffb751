//! The energy distribution diagram of a layer on paper: round boxes for layers, sharp ones for tensors, arrows for data flow.
//!
//! Arrows leave and enter boxes above and below, bend only between ranks, and pass other boxes upright: none crosses a box.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jouletree_account::{Arrow, EnergyTree, is_earlier};
use jouletree_model::{Joules, Pass};

use super::axes::{COLUMN, PAGE, SMALL, TEXT, honesty, kinds, pen, small_pen};
use super::scale::{Scale, percent};
use super::svg::{Anchor, Area, Pen, Picture, Stroke, Way};
use super::{colour, font};
use crate::Study;
use crate::diagram::{BoxContent, Diagram, Flow, Measures, Route};

/// The width of a box.
const BOX: f64 = 64.0;
const MEASURES: Measures =
    Measures { box_size: (BOX, 0.0), gap: (8.0, 0.0), arrow_gap: 6.0, most_boxes: 0, in_a_row: 3 };

/// The distances between boxes.
#[derive(Debug, Clone, Copy)]
struct Density {
    /// The height of a box.
    height: f64,
    /// The distance between ranks.
    gap: f64,
    /// A name has room for so many lines; with none it is beside its share.
    name_lines: usize,
}

/// From spacious to dense: models of many layers are deep, and every layer should be seen.
const DENSITIES: [Density; 3] = [
    Density { height: 31.0, gap: 15.0, name_lines: 2 },
    Density { height: 20.0, gap: 11.0, name_lines: 1 },
    Density { height: 12.5, gap: 9.5, name_lines: 0 },
];
/// How many boxes there are, at most, until the diagram fits on a page.
const BOXES: [usize; 9] = [40, 32, 24, 18, 14, 10, 7, 5, 3];
/// A figure may be this high.
const HIGHEST: f64 = 615.0;
/// Room at the edges.
const EDGE: f64 = 3.0;
/// The length of an arrow's head.
const HEAD: f64 = 4.2;

/// The figure; `None` when the layer has no parts or used nothing in this pass.
pub fn distribution(study: &Study, layer: &EnergyTree, pass: Option<Pass>) -> Option<String> {
    let total = energy(layer, pass);
    if !total.is_finite() || total <= 0.0 {
        return None;
    }
    let layer = &*in_pass(layer, pass);
    let (diagram, density, left_out) = fitting(layer, pass)?;
    let width = if diagram.size.0 <= COLUMN - 2.0 * EDGE { COLUMN } else { PAGE.max(diagram.size.0 + 2.0 * EDGE) };
    let mut picture = Picture::new(width);
    let arrows: Vec<(&Route, Ends)> =
        diagram.routes.iter().filter_map(|route| Some((route, Ends::of(route, pass)?))).collect();
    let has_dashes = arrows.iter().any(|(_, ends)| ends.is_dashed);
    let about_arrows = if has_dashes { Some("dashed: outside the forward pass") } else { left_out };
    let top = heading(&mut picture, study, (&layer.path, total, pass), about_arrows);
    let shift = ((width - diagram.size.0) / 2.0, top);
    for (way, (_, ends)) in ways(&diagram, density.height / 2.0, &arrows).iter().zip(&arrows) {
        draw_arrow(&mut picture, way, ends, shift);
    }
    for place in &diagram.places {
        let (name, used, is_round) = match place.part {
            BoxContent::Child(number) => match layer.children.get(number) {
                Some(child) => (child.name.clone(), child.energy.0, child.is_composite()),
                None => continue,
            },
            BoxContent::Own => ("itself".to_owned(), layer.own.0, false),
            BoxContent::Others(from) => {
                let others = layer.children.get(from..).unwrap_or_default();
                let used = others.iter().map(|other| other.energy.0).sum();
                (format!("{} others", others.len()), used, true)
            }
        };
        let middle = (place.at.0 + shift.0, place.at.1 + shift.1);
        draw_box(&mut picture, (&name, used / total), is_round, middle, density);
    }
    let name = if layer.path.is_empty() { "everything" } else { &layer.path };
    Some(picture.finish(top + diagram.size.1 + EDGE, &format!("Energy distribution of {name}")))
}

/// What a layer used in a pass, or in all.
pub fn energy(layer: &EnergyTree, pass: Option<Pass>) -> f64 {
    pass.map_or(layer.energy, |pass| layer.passes.get(&pass)).0
}

/// The layer as one pass used it: parts without energy in this pass, and arrows of others, are left out.
fn in_pass(layer: &EnergyTree, pass: Option<Pass>) -> Cow<'_, EnergyTree> {
    if pass.is_none() {
        return Cow::Borrowed(layer);
    }
    let child = |child: &EnergyTree| EnergyTree {
        name: child.name.clone(),
        energy: Joules(energy(child, pass)),
        is_operation: !child.is_composite(),
        // Whether it is a layer is seen by what it holds.
        children: if child.is_composite() { vec![EnergyTree::default()] } else { Vec::new() },
        ..EnergyTree::default()
    };
    let mut children: Vec<EnergyTree> =
        layer.children.iter().map(child).filter(|child| child.energy.0 > 0.0).collect();
    children.sort_by(|a, b| b.energy.0.total_cmp(&a.energy.0).then_with(|| a.name.cmp(&b.name)));
    let inside: f64 = children.iter().map(|child| child.energy.0).sum();
    let energy = energy(layer, pass);
    // What is left of a difference of sums is no operation.
    let own = Some(energy - inside).filter(|own| *own > energy * 1e-9).unwrap_or(0.0);
    Cow::Owned(EnergyTree {
        path: layer.path.clone(),
        energy: Joules(energy),
        own: Joules(own),
        edges: arrows_of(layer, pass),
        children,
        ..EnergyTree::default()
    })
}

/// The diagram with as many boxes as a page has room for, and what is said of arrows that are left out.
fn fitting(layer: &EnergyTree, pass: Option<Pass>) -> Option<(Diagram, Density, Option<&'static str>)> {
    let fits = |diagram: &Diagram| diagram.size.0 <= PAGE - 2.0 * EDGE && diagram.size.1 <= HIGHEST;
    let outline = outline(layer, pass);
    let mut in_order = outline.clone();
    in_order.edges.retain(|arrow| is_earlier(&arrow.from, &arrow.to) != Some(pass == Some(Pass::Backward)));
    let mut last = None;
    for most_boxes in BOXES {
        let in_a_row = if layer.children.len().min(most_boxes) > 9 { 7 } else { 3 };
        // Rather a box for every part than arrows of other passes, or against the order of numbered layers.
        let other_passes = pass.is_none().then_some("without arrows of other passes");
        let ways =
            [(layer, None), (&outline, other_passes), (&in_order, Some("without arrows against the order"))];
        for ((layer, left_out), density) in
            ways.into_iter().flat_map(|way| DENSITIES.map(|density| (way, density)))
        {
            let (box_size, gap) = ((BOX, density.height), (MEASURES.gap.0, density.gap));
            let measures = Measures { box_size, gap, most_boxes, in_a_row, ..MEASURES };
            let diagram = Diagram::measured(layer, &measures)?;
            if fits(&diagram) {
                return Some((diagram, density, left_out));
            }
            last = Some((diagram, density, left_out));
        }
    }
    last
}

/// What a diagram needs of a layer, with the data flow of one pass; of the forward pass if none is chosen.
fn outline(layer: &EnergyTree, pass: Option<Pass>) -> EnergyTree {
    let part = |child: &EnergyTree| EnergyTree {
        name: child.name.clone(),
        energy: child.energy,
        ..EnergyTree::default()
    };
    EnergyTree {
        energy: layer.energy,
        own: layer.own,
        children: layer.children.iter().map(part).collect(),
        edges: arrows_of(layer, pass),
        ..EnergyTree::default()
    }
}

/// The arrows of one pass; of the forward pass if none is chosen.
fn arrows_of(layer: &EnergyTree, pass: Option<Pass>) -> Vec<Arrow> {
    let flow = match pass {
        None | Some(Pass::Forward) => Flow::Forward,
        Some(Pass::Backward) => Flow::Backward,
        Some(Pass::Optimizer) => Flow::Between,
    };
    layer.edges.iter().filter(|arrow| Flow::of(arrow) == flow).cloned().collect()
}

/// Says what is shown; returns where the diagram begins.
fn heading(
    picture: &mut Picture,
    study: &Study,
    (path, used, pass): (&str, f64, Option<Pass>),
    about_arrows: Option<&str>,
) -> f64 {
    let room = picture.width - 2.0 * EDGE;
    let name = if path.is_empty() { "all" } else { path };
    picture.text(EDGE, EDGE + TEXT * 0.9, &font::fitted(name, room, TEXT), pen(Anchor::Start));
    let mut words = vec![Scale::within(used, "J", 1).value(used)];
    words.extend(honesty(kinds(study)).map(str::to_owned));
    let whole = energy(&study.tree, pass);
    if !path.is_empty() && whole > 0.0 {
        words.push(format!("{} of all", percent(used / whole)));
    }
    words.extend(pass.map(|pass| format!("{pass} pass")));
    words.extend(about_arrows.map(str::to_owned));
    let words = font::fitted(&words.join(", "), room, SMALL);
    let baseline = EDGE + TEXT * (0.9 + font::LINE);
    picture.text(EDGE, baseline, &words, small_pen(Anchor::Start));
    baseline + SMALL
}

fn draw_box(
    picture: &mut Picture,
    (name, share): (&str, f64),
    is_round: bool,
    (x, y): (f64, f64),
    density: Density,
) {
    let (fill, upon) = colour::of_share(share);
    let area = Area { x: x - BOX / 2.0, y: y - density.height / 2.0, width: BOX, height: density.height };
    let radius = if is_round { density.height.min(24.0) * 0.28 } else { 0.0 };
    picture.rect(area, &fill, Some(Stroke::new(colour::INK, 0.7)), radius);
    let (room, share) = (BOX - 5.0, percent(share));
    let lines = match density.name_lines {
        0 => {
            let name = font::fitted(name, room - font::width(&share, SMALL) - 4.0, SMALL);
            vec![format!("{name} {share}")]
        }
        most => font::lines(name, room, SMALL, most).into_iter().chain([share]).collect(),
    };
    let line = SMALL * font::LINE;
    let first = y - line * (lines.len() - 1) as f64 / 2.0 + SMALL * font::CAP / 2.0;
    for (number, text) in lines.iter().enumerate() {
        let pen = Pen { size: SMALL, colour: upon, anchor: Anchor::Middle };
        picture.text(x, first + line * number as f64, text, pen);
    }
}

/// Which ends of an arrow have heads, and how it is drawn.
#[derive(Debug, Clone, Copy)]
struct Ends {
    at_end: bool,
    at_start: bool,
    is_dashed: bool,
}

impl Ends {
    /// Of a route in a pass; `None` when nothing flows along it.
    fn of(route: &Route, pass: Option<Pass>) -> Option<Ends> {
        let ends = |flows: &[Flow], is_dashed: bool| {
            let has = |is_against: bool| flows.iter().any(|flow| route.heads.has(*flow, is_against));
            let ends = Ends { at_end: has(false), at_start: has(true), is_dashed };
            Some(ends).filter(|ends| ends.at_end || ends.at_start)
        };
        match pass {
            Some(Pass::Forward) => ends(&[Flow::Forward], false),
            Some(Pass::Backward) => ends(&[Flow::Backward], false),
            Some(Pass::Optimizer) => ends(&[Flow::Between], false),
            None => ends(&[Flow::Forward], false).or_else(|| ends(&[Flow::Backward, Flow::Between], true)),
        }
    }
}

/// Where an arrow meets a box.
struct Port {
    /// Where it comes from or goes to.
    towards: f64,
    /// The arrow, by its number.
    arrow: usize,
    /// Whether the arrow ends here.
    is_end: bool,
}

/// The ways of arrows: pairs of points, from each of which an arrow bends to the next rank. On each side of a box arrows are
/// apart, in the order of where they come from or go to. `half` is half the height of a box.
fn ways(diagram: &Diagram, half: f64, arrows: &[(&Route, Ends)]) -> Vec<Vec<(f64, f64)>> {
    let mut ways: Vec<Vec<(f64, f64)>> = Vec::new();
    // By box and whether it is the lower side.
    let mut sides: BTreeMap<(usize, bool), Vec<Port>> = BTreeMap::new();
    for (number, (route, _)) in arrows.iter().enumerate() {
        let at = |place: usize| diagram.places.get(place).map_or((0.0, 0.0), |place| place.at);
        let (from, to) = (at(route.from), at(route.to));
        let down = if to.1 >= from.1 { 1.0 } else { -1.0 };
        let is_beside_boxes = |y: f64| diagram.places.iter().any(|place| (place.at.1 - y).abs() < half);
        let is_between = |y: f64| (y - from.1) * down > half && (to.1 - y) * down > half;
        let passed: Vec<(f64, f64)> =
            route.points.iter().copied().filter(|(_, y)| is_between(*y) && is_beside_boxes(*y)).collect();
        let next = passed.first().map_or(to.0, |(x, _)| *x);
        let before = passed.last().map_or(from.0, |(x, _)| *x);
        sides.entry((route.from, down > 0.0)).or_default().push(Port {
            towards: next,
            arrow: number,
            is_end: false,
        });
        sides.entry((route.to, down < 0.0)).or_default().push(Port {
            towards: before,
            arrow: number,
            is_end: true,
        });
        let mut way = vec![(from.0, from.1 + half * down)];
        way.extend(passed.iter().flat_map(|(x, y)| [(*x, y - half * down), (*x, y + half * down)]));
        way.push((to.0, to.1 - half * down));
        ways.push(way);
    }
    for ports in sides.values_mut() {
        ports.sort_by(|a, b| a.towards.total_cmp(&b.towards).then(a.arrow.cmp(&b.arrow)));
        let count = ports.len() as f64;
        for (place, port) in ports.iter().enumerate() {
            let shift = ((place as f64 + 1.0) / (count + 1.0) - 0.5) * BOX * 0.8;
            let Some(way) = ways.get_mut(port.arrow) else { continue };
            let point = if port.is_end { way.last_mut() } else { way.first_mut() };
            if let Some(point) = point {
                point.0 += shift;
            }
        }
    }
    ways
}

fn draw_arrow(picture: &mut Picture, way: &[(f64, f64)], ends: &Ends, shift: (f64, f64)) {
    let points: Vec<(f64, f64)> = way.iter().map(|(x, y)| (x + shift.0, y + shift.1)).collect();
    let [first, inner @ .., last] = points.as_slice() else { return };
    let down = if last.1 >= first.1 { 1.0 } else { -1.0 };
    let ink = if ends.is_dashed { colour::GREY } else { colour::INK };
    let stroke = Stroke { colour: ink, width: if ends.is_dashed { 0.5 } else { 0.7 }, is_dashed: ends.is_dashed };
    let start = (first.0, first.1 + if ends.at_start { HEAD * 0.8 * down } else { 0.0 });
    let end = (last.0, last.1 - if ends.at_end { HEAD * 0.8 * down } else { 0.0 });
    let mut line = Way::from(start);
    let mut at = start;
    for (number, next) in inner.iter().copied().chain([end]).enumerate() {
        // Between ranks it bends, beside boxes it is straight.
        if number % 2 == 0 {
            line.bend(at, next)
        } else {
            line.line(next)
        }
        at = next;
    }
    picture.path(&line, "none", Some(stroke));
    if ends.at_end {
        draw_head(picture, *last, down, ink);
    }
    if ends.at_start {
        draw_head(picture, *first, -down, ink);
    }
}

fn draw_head(picture: &mut Picture, tip: (f64, f64), down: f64, ink: &str) {
    let mut way = Way::from(tip);
    way.line((tip.0 - HEAD * 0.42, tip.1 - HEAD * down));
    way.line((tip.0 + HEAD * 0.42, tip.1 - HEAD * down));
    way.close();
    picture.path(&way, ink, None);
}
