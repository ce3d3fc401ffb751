//! The operations that used or drew most (STEF, STPF): bars, each with the qualified name of its tensor above it.

use jouletree_model::{Device, Pass};

use super::axes::{COLUMN, SMALL, TEXT, axis_title, device_name, kind_of, pass_legend, pen, small_pen};
use super::scale::Scale;
use super::svg::{Anchor, Area, Picture, Stroke};
use super::{colour, font};
use crate::{Ranked, Study};

/// The height of a bar.
const BAR: f64 = 6.0;
/// The distance between a bar and the next name.
const APART: f64 = 5.0;
/// A name has room for so many lines.
const NAME_LINES: usize = 2;
/// Room at the edges.
const EDGE: f64 = 4.0;
/// The distance between a name and the letter of its pass.
const TAG_APART: f64 = 5.0;

/// What bars show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// Energy.
    Energy,
    /// Average power.
    Power,
}

/// A bar.
struct Bar<'a> {
    ranked: &'a Ranked,
    value: f64,
    deviation: Option<f64>,
}

/// The figure; `None` when there are no operations.
pub fn top(study: &Study, top: Top) -> Option<String> {
    let bars = bars(study, top);
    let reach = |bar: &Bar<'_>| bar.value + bar.deviation.unwrap_or(0.0);
    let largest = bars.iter().map(reach).fold(0.0, f64::max);
    if bars.is_empty() || largest <= 0.0 {
        return None;
    }
    let (what, unit) = match top {
        Top::Energy => ("Energy", "J"),
        Top::Power => ("Joules over operation time", "W"),
    };
    let scale = Scale::up_to(largest, unit, 5);
    let values: Vec<String> = bars.iter().map(|bar| scale.value(bar.value)).collect();
    let devices: Vec<&Device> = bars.iter().map(|bar| &bar.ranked.entry.device).collect();
    let has_devices = devices.iter().any(|device| Some(device) != devices.first());

    let mut picture = Picture::new(COLUMN);
    let passes: Vec<Pass> =
        Pass::ALL.into_iter().filter(|pass| bars.iter().any(|bar| bar.ranked.entry.pass == *pass)).collect();
    pass_legend(&mut picture, EDGE, 3.0 + TEXT, &passes, true);
    let top_edge = 3.0 + TEXT * 2.0;
    // The longest bar leaves room for its number, and the axis for the middle of its first label.
    let number = values.iter().map(|value| font::width(value, SMALL)).fold(0.0, f64::max) + 3.0;
    let half = |tick: Option<&(f64, String)>| tick.map_or(0.0, |(_, label)| font::width(label, TEXT) / 2.0);
    let left = EDGE + half(scale.ticks.first());
    let full = COLUMN - EDGE - left - number.max(half(scale.ticks.last()));
    let place = |value: f64| left + scale.part(value) * full;

    let rows: Vec<(Vec<String>, String)> = bars
        .iter()
        .map(|bar| {
            let entry = &bar.ranked.entry;
            let tag = match has_devices {
                true => format!("{} {}", colour::letter_of_pass(entry.pass), device_name(&entry.device, &devices)),
                false => colour::letter_of_pass(entry.pass).to_owned(),
            };
            let tag = font::fitted(&tag, COLUMN / 3.0, SMALL);
            let room = COLUMN - EDGE - left - font::width(&tag, SMALL) - TAG_APART;
            (font::lines(&entry.label(), room, TEXT, NAME_LINES), tag)
        })
        .collect();
    let row_height = |lines: &[String]| TEXT * font::LINE * lines.len().max(1) as f64 + 1.5 + BAR + APART;
    let bottom = top_edge + rows.iter().map(|(lines, _)| row_height(lines)).sum::<f64>();
    for (value, label) in &scale.ticks {
        let x = place(*value);
        picture.line((x, top_edge), (x, bottom), Stroke::new(colour::GRID, 0.5));
        picture.text(x, bottom + 2.0 + TEXT, label, pen(Anchor::Middle));
    }

    let mut y = top_edge;
    for ((bar, value), (lines, tag)) in bars.iter().zip(&values).zip(&rows) {
        let mut end = (left, y + TEXT * 0.95);
        for (line, text) in lines.iter().enumerate() {
            let baseline = y + TEXT * (font::LINE * line as f64 + 0.95);
            // The grid stays behind the names.
            let area =
                Area { x: left, y: baseline - TEXT * 0.8, width: font::width(text, TEXT) + 1.0, height: TEXT };
            picture.rect(area, colour::WHITE, None, 0.0);
            picture.text(left, baseline, text, pen(Anchor::Start));
            end = (left + font::width(text, TEXT) + TAG_APART, baseline);
        }
        let (x, baseline) = end;
        let width = font::width(tag, SMALL);
        let area = Area { x: x - 1.0, y: baseline - TEXT * 0.8, width: width + 2.0, height: TEXT };
        picture.rect(area, colour::WHITE, None, 0.0);
        picture.text(x, baseline, tag, small_pen(Anchor::Start));
        y += row_height(lines);
        draw_bar(&mut picture, bar, value, y - APART - BAR, &place);
    }
    picture.line((left, bottom), (place(scale.end), bottom), Stroke::new(colour::INK, 0.7));
    let title = axis_title(what, &scale.unit, devices.iter().map(|device| kind_of(study, device)));
    let title = if has_devices { title } else { with_device(&title, &devices) };
    let title = font::fitted(&title, COLUMN - 2.0 * EDGE, TEXT);
    let room = font::width(&title, TEXT) / 2.0 + EDGE;
    let middle = (left + full / 2.0).clamp(room, (COLUMN - room).max(room));
    picture.text(middle, bottom + 3.0 + TEXT * 2.2, &title, pen(Anchor::Middle));
    Some(picture.finish(
        bottom + 3.0 + TEXT * 2.2 + 4.0,
        &format!("The operations with the highest {}", what.to_lowercase()),
    ))
}

fn bars(study: &Study, top: Top) -> Vec<Bar<'_>> {
    let bar = |ranked| match top {
        Top::Energy => energy_bar(ranked),
        Top::Power => power_bar(ranked),
    };
    let ranked = match top {
        Top::Energy => &study.top_energy,
        Top::Power => &study.top_power,
    };
    ranked.iter().filter_map(bar).filter(|bar| bar.value.is_finite() && bar.value > 0.0).collect()
}

fn energy_bar(ranked: &Ranked) -> Option<Bar<'_>> {
    let deviation = ranked.energy_deviation.map(|sd| sd.0);
    Some(Bar { ranked, value: ranked.entry.energy.0, deviation })
}

fn power_bar(ranked: &Ranked) -> Option<Bar<'_>> {
    let deviation = ranked.power_deviation.map(|sd| sd.0);
    Some(Bar { ranked, value: ranked.entry.power()?.0, deviation })
}

fn with_device(title: &str, devices: &[&Device]) -> String {
    match devices.first() {
        Some(device) => format!("{title}, {}", device_name(device, devices)),
        None => title.to_owned(),
    }
}

fn draw_bar(picture: &mut Picture, bar: &Bar<'_>, value: &str, y: f64, place: &dyn Fn(f64) -> f64) {
    let (start, end) = (place(0.0), place(bar.value));
    let area = Area { x: start, y, width: end - start, height: BAR };
    picture.rect(area, colour::of_pass(bar.ranked.entry.pass), None, 0.0);
    let mut last = end;
    if let Some(deviation) = bar.deviation {
        let (low, high) = (place(bar.value - deviation), place(bar.value + deviation));
        let stroke = Stroke::new(colour::INK, 0.8);
        picture.line((low, y + BAR / 2.0), (high, y + BAR / 2.0), stroke);
        for x in [low, high] {
            picture.line((x, y + BAR / 2.0 - 2.0), (x, y + BAR / 2.0 + 2.0), stroke);
        }
        last = high;
    }
    let baseline = y + BAR / 2.0 + SMALL * font::CAP / 2.0;
    let area = Area { x: last + 1.5, y, width: font::width(value, SMALL) + 2.0, height: BAR };
    picture.rect(area, colour::WHITE, None, 0.0);
    picture.text(last + 2.5, baseline, value, small_pen(Anchor::Start));
}
