//! The tree as an icicle: a row for each depth, every layer as wide as its energy, below the layer that holds it.

use jouletree_account::EnergyTree;

use super::axes::{PAGE, SMALL, TEXT, axis_title, kinds, pen};
use super::scale::Scale;
use super::svg::{Anchor, Area, Pen, Picture, Stroke};
use super::{colour, font};
use crate::Study;

/// The height of a row.
const ROW: f64 = 13.0;
/// What is narrower than this cannot be seen.
const NARROWEST: f64 = 0.35;
/// Below this depth nothing is shown.
const DEEPEST: usize = 30;
/// Room at the edges.
const EDGE: f64 = 8.0;
/// A shortened name says something if it has this many letters.
const FEWEST_LETTERS: usize = 6;

/// The figure; `None` when there are no operations.
pub fn icicle(study: &Study) -> Option<String> {
    let total = study.tree.energy.0;
    if study.tree.children.is_empty() || !total.is_finite() || total <= 0.0 {
        return None;
    }
    let mut picture = Picture::new(PAGE);
    let scale = Scale::within(total, "J", 8);
    let width = PAGE - 2.0 * EDGE;
    let mut rows = 0;
    let mut waiting: Vec<(&EnergyTree, usize, f64)> = vec![(&study.tree, 0, 0.0)];
    while let Some((node, depth, start)) = waiting.pop() {
        let wide = scale.part(node.energy.0) * width;
        if wide < NARROWEST || depth > DEEPEST {
            continue;
        }
        rows = rows.max(depth + 1);
        let area = Area { x: EDGE + start, y: 4.0 + depth as f64 * ROW, width: wide, height: ROW };
        draw(&mut picture, node, area, node.energy.0 / total);
        let mut at = start;
        for child in &node.children {
            waiting.push((child, depth + 1, at));
            at += scale.part(child.energy.0) * width;
        }
    }
    let bottom = 4.0 + rows as f64 * ROW + 2.0;
    picture.line((EDGE, bottom), (PAGE - EDGE, bottom), Stroke::new(colour::INK, 0.7));
    for (value, label) in &scale.ticks {
        let x = EDGE + scale.part(*value) * width;
        picture.line((x, bottom), (x, bottom + 2.5), Stroke::new(colour::INK, 0.7));
        let room = font::width(label, TEXT) / 2.0;
        picture.text(x.clamp(room + 1.0, PAGE - room - 1.0), bottom + 3.5 + TEXT, label, pen(Anchor::Middle));
    }
    let title = axis_title("Energy", &scale.unit, kinds(study));
    picture.text(PAGE / 2.0, bottom + 4.0 + TEXT * 2.3, &title, pen(Anchor::Middle));
    Some(picture.finish(bottom + 4.0 + TEXT * 2.3 + 4.0, "Energy by layer"))
}

fn draw(picture: &mut Picture, node: &EnergyTree, area: Area, share: f64) {
    let (fill, upon) = colour::of_share(share);
    // A line between neighbours, unless they are hardly wider than the line.
    let line = if area.width > 1.5 { 0.5 } else { 0.1 };
    picture.rect(area, &fill, Some(Stroke::new(colour::GREY, line)), 0.0);
    let name = if node.path.is_empty() { "all" } else { &node.name };
    let fitted = font::fitted(name, area.width - 3.0, SMALL);
    if fitted == font::printable(name) || fitted.chars().count() >= FEWEST_LETTERS {
        let baseline = area.y + ROW / 2.0 + SMALL * font::CAP / 2.0;
        let pen = Pen { size: SMALL, colour: upon, anchor: Anchor::Middle };
        picture.text(area.x + area.width / 2.0, baseline, &fitted, pen);
    }
}
