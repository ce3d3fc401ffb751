//! Energy by stage, stacked by pass and by what was used beside operations, with whiskers of one standard deviation over runs.

use jouletree_model::{Joules, Pass};

use super::axes::{COLUMN, PAGE, SMALL, TEXT, axis_title, kinds, legend_key, pass_legend, pen};
use super::scale::Scale;
use super::svg::{Anchor, Area, Pen, Picture, Stroke};
use super::{colour, font};
use crate::{StageTotal, Study};

/// The height of the bars' area.
const HEIGHT: f64 = 110.0;
/// Names of stages have room for so many lines.
const NAME_LINES: usize = 3;
/// A bar with its name needs this room; with less, the figure takes both columns.
const NARROWEST: f64 = 32.0;
/// The widest bar.
const WIDEST_BAR: f64 = 34.0;

/// The figure; `None` when no stage used anything.
pub fn stages(study: &Study) -> Option<String> {
    let mut shown: Vec<&StageTotal> = study.stages.iter().collect();
    let most = ((PAGE - 50.0) / NARROWEST) as usize;
    let left_out = shown.len().saturating_sub(most);
    if left_out > 0 {
        // The smallest go, the others stay in their order.
        let mut energies: Vec<f64> = shown.iter().map(|stage| stage.energy().0).collect();
        energies.sort_unstable_by(|a, b| b.total_cmp(a));
        shown.retain(|stage| energies.get(most).is_none_or(|limit| stage.energy().0 > *limit));
    }
    let reach = |stage: &&StageTotal| stage.energy().0 + stage.deviation.map_or(0.0, |sd| sd.0);
    let largest = shown.iter().map(reach).fold(0.0, f64::max);
    if shown.is_empty() || largest <= 0.0 {
        return None;
    }
    let scale = Scale::up_to(largest, "J", 5);
    let labels = scale.ticks.iter().map(|(_, label)| font::width(label, TEXT)).fold(0.0, f64::max);
    let left = 4.0 + TEXT * 1.5 + labels + 5.0;
    let width = if (COLUMN - left - 4.0) / shown.len() as f64 >= NARROWEST { COLUMN } else { PAGE };
    let slot = (width - left - 4.0) / shown.len() as f64;
    let mut picture = Picture::new(width);

    let passes: Vec<Pass> = (Pass::ALL.into_iter().enumerate())
        .filter(|(number, _)| shown.iter().any(|stage| stage.passes[*number].0.0 > 0.0))
        .map(|(_, pass)| pass)
        .collect();
    let room = pass_legend(&mut picture, left, 3.0 + TEXT, &passes, false);
    // A second line, where the first has no room.
    let others = BESIDE.iter().filter(|(_, _, of)| shown.iter().any(|stage| of(stage).0 > 0.0));
    let others: Vec<(&str, &str)> = others.map(|(name, colour, _)| (*name, *colour)).collect();
    let needed: f64 = others.iter().map(|(name, _)| TEXT * 2.5 + font::width(name, TEXT)).sum();
    let is_wrapped = !others.is_empty() && left + room + needed > width - 4.0;
    let line = if is_wrapped { TEXT * 1.4 } else { 0.0 };
    let mut at = if is_wrapped { left } else { left + room };
    for (name, fill) in others {
        at += legend_key(&mut picture, at, 3.0 + TEXT + line, name, fill);
    }
    let top = 3.0 + TEXT * 2.2 + line;
    let bottom = top + HEIGHT;
    let height_at = |joules: f64| bottom - scale.part(joules) * HEIGHT;
    for (value, label) in &scale.ticks {
        let y = height_at(*value);
        picture.line((left, y), (width - 4.0, y), Stroke::new(colour::GRID, 0.5));
        picture.text(left - 4.0, y + TEXT * font::CAP / 2.0, label, pen(Anchor::End));
    }
    let title = axis_title("Energy", &scale.unit, kinds(study));
    picture.text_upwards(4.0 + TEXT * 0.8, (top + bottom) / 2.0, &title, pen(Anchor::Middle));

    let mut deepest = 0;
    for (number, stage) in shown.iter().enumerate() {
        let middle = left + (number as f64 + 0.5) * slot;
        draw_bar(&mut picture, stage, middle, (slot * 0.62).min(WIDEST_BAR), &height_at);
        let name = if stage.name.is_empty() { "the run" } else { &stage.name };
        let lines = font::lines(name, slot - 3.0, TEXT, NAME_LINES);
        deepest = deepest.max(lines.len());
        for (line, text) in lines.iter().enumerate() {
            let y = bottom + 3.0 + TEXT * (font::LINE * line as f64 + 0.9);
            picture.text(middle, y, text, pen(Anchor::Middle));
        }
    }
    picture.line((left, bottom), (width - 4.0, bottom), Stroke::new(colour::INK, 0.7));
    let mut height = bottom + 3.0 + TEXT * font::LINE * deepest as f64 + 4.0;
    let gone = study.stages.len() - shown.len();
    if gone > 0 {
        let note = format!("{gone} smaller stages are not shown");
        picture.text(left, height + SMALL * 0.8, &note, Pen { size: SMALL, ..pen(Anchor::Start) });
        height += SMALL * 1.5;
    }
    Some(picture.finish(height, "Energy by stage and pass"))
}

/// What stages used beside operations: its name, its colour, its energy.
type Beside = (&'static str, &'static str, fn(&StageTotal) -> Joules);
const BESIDE: [Beside; 2] = [
    ("between operations", colour::BETWEEN, |stage| stage.between),
    ("outside recorded steps", colour::OUTSIDE, |stage| stage.outside),
];

fn draw_bar(picture: &mut Picture, stage: &StageTotal, middle: f64, bar: f64, height_at: &dyn Fn(f64) -> f64) {
    let mut sum = 0.0;
    for ((energy, _), pass) in stage.passes.iter().zip(Pass::ALL) {
        let (low, high) = (height_at(sum), height_at(sum + energy.0));
        sum += energy.0;
        if energy.0 > 0.0 {
            let area = Area { x: middle - bar / 2.0, y: high, width: bar, height: low - high };
            picture.rect(area, colour::of_pass(pass), None, 0.0);
        }
    }
    for (_, fill, of) in BESIDE {
        let (low, high) = (height_at(sum), height_at(sum + of(stage).0));
        sum += of(stage).0;
        if low > high {
            let area = Area { x: middle - bar / 2.0, y: high, width: bar, height: low - high };
            picture.rect(area, fill, Some(Stroke::new(colour::GREY, 0.3)), 0.0);
        }
    }
    if let Some(deviation) = stage.deviation {
        let (low, high) = (height_at(sum - deviation.0), height_at(sum + deviation.0));
        let stroke = Stroke::new(colour::INK, 0.8);
        picture.line((middle, low), (middle, high), stroke);
        for y in [low, high] {
            picture.line((middle - 3.0, y), (middle + 3.0, y), stroke);
        }
    }
}
