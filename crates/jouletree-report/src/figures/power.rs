//! Power over a step: a track for every device. The moments of one layer are coloured, and a band shows one standard deviation
//! over the steps.

use jouletree_account::EnergyTree;
use jouletree_model::{Device, Nanos, TimeRange, Watts, united};

use super::axes::{COLUMN, SMALL, TEXT, axis_title, device_name, draw_ticks, honesty, pen, small_pen};
use super::scale::{Scale, percent};
use super::svg::{Anchor, Area, Picture, Stroke, Way};
use super::{colour, font};
use crate::{PowerTrack, StepView, Study};

/// The height of a track among others,
const TRACK: f64 = 50.0;
/// and of one that is alone.
const ONLY_TRACK: f64 = 92.0;
/// The distance between tracks, with space for the name of the lower one.
const APART: f64 = 13.0;
/// A layer that covers more of the step than this is the step and not a part of it.
const WHOLE: f64 = 0.6;
/// Moments that are closer than this, in points, are one.
const TOGETHER: f64 = 0.2;
/// The size of a point of the layer that is pointed out.
const POINT: f64 = 1.8;

/// The figure; `None` when there is no step or no power in it.
pub fn power(study: &Study, highlight: Option<&str>) -> Option<String> {
    let step = study.power.step.as_ref()?;
    let tracks: Vec<(&PowerTrack, f64)> =
        step.tracks.iter().filter_map(|track| Some((track, peak(track)?))).collect();
    if tracks.is_empty() || step.duration <= Nanos(0) {
        return None;
    }
    let scales: Vec<Scale> = tracks.iter().map(|(_, peak)| Scale::up_to(*peak, "W", 3)).collect();
    let layer = highlight.map(str::to_owned).or_else(|| largest_part(&study.tree, step));
    let labels = scales.iter().flat_map(|scale| &scale.ticks).map(|(_, label)| font::width(label, TEXT));
    let left = 4.0 + TEXT * 1.5 + labels.fold(0.0, f64::max) + 4.0;
    let right = COLUMN - 6.0;
    let time = Scale::within(step.duration.seconds(), "s", 5);
    let place = |seconds: f64| left + time.part(seconds) * (right - left);

    let mut picture = Picture::new(COLUMN);
    let mut y = 3.0;
    let spans = layer.as_deref().map(|layer| moments_of(step, layer)).unwrap_or_default();
    if let Some(layer) = layer.filter(|_| !spans.is_empty()) {
        legend(&mut picture, &layer, covered(&spans) / step.duration.seconds(), left, right);
        y += TEXT * 1.4;
    }
    let height = if tracks.len() == 1 { ONLY_TRACK } else { TRACK };
    let first = y + APART;
    let devices: Vec<&Device> = tracks.iter().map(|(track, _)| &track.device).collect();
    let has_one_unit = scales.iter().all(|scale| scales.first().is_some_and(|first| first.unit == scale.unit));
    let word = honesty(tracks.iter().map(|(track, _)| Some(track.kind)));
    for ((track, _), scale) in tracks.iter().zip(&scales) {
        let mut name = device_name(&track.device, &devices);
        if !has_one_unit {
            name = format!("{name}, {}", scale.unit);
        }
        if let (Some(own), true) =
            (honesty([Some(track.kind)]), word.is_some_and(|word| word.starts_with("partly")))
        {
            name = format!("{name}, {own}");
        }
        let name = font::fitted(&name, right - left, SMALL);
        picture.text(left, y + APART - 3.0, &name, small_pen(Anchor::Start));
        y += APART;
        let area = Area { x: left, y, width: right - left, height };
        draw_bands(&mut picture, &spans, area, &place);
        draw_deviations(&mut picture, track, scale, area, &place);
        draw_track(&mut picture, track, scale, area, &place);
        draw_points(&mut picture, (track, &spans), scale, area, &place);
        y += height;
    }
    let title = match has_one_unit.then(|| scales.first()).flatten() {
        Some(scale) => axis_title("Power", &scale.unit, tracks.iter().map(|(track, _)| Some(track.kind))),
        None => word.map_or_else(|| "Power".to_owned(), |word| format!("Power ({word})")),
    };
    picture.text_upwards(4.0 + TEXT * 0.8, (first + y) / 2.0, &title, pen(Anchor::Middle));
    for (value, label) in &time.ticks {
        let x = place(*value);
        picture.line((x, y), (x, y + 2.5), Stroke::new(colour::INK, 0.7));
        let room = font::width(label, TEXT) / 2.0;
        picture.text(x.min(COLUMN - room - 1.0), y + 3.5 + TEXT, label, pen(Anchor::Middle));
    }
    let title = font::fitted(&time_title(step, &time), COLUMN - 8.0, TEXT);
    let room = font::width(&title, TEXT) / 2.0 + 2.0;
    let middle = ((left + right) / 2.0).min(COLUMN - room).max(room);
    picture.text(middle, y + 4.0 + TEXT * 2.3, &title, pen(Anchor::Middle));
    Some(picture.finish(y + 4.0 + TEXT * 2.3 + 4.0, "Power over a step"))
}

fn time_title(step: &StepView, time: &Scale) -> String {
    let name = if step.name.is_empty() { "step".to_owned() } else { format!("step ({})", step.name) };
    match step.steps {
        0 | 1 => format!("Time in the {name}, {}", time.unit),
        steps => format!("Time in the {name}, {}; mean ± deviation of {steps} steps", time.unit),
    }
}

/// The highest power, with the deviation above it.
fn peak(track: &PowerTrack) -> Option<f64> {
    let highest = |(number, watts): (usize, &Option<Watts>)| Some((*watts)?.0 + deviation(track, number));
    track.watts.iter().enumerate().filter_map(highest).filter(|watts| watts.is_finite()).reduce(f64::max)
}

fn deviation(track: &PowerTrack, piece: usize) -> f64 {
    track.deviations.get(piece).copied().flatten().map_or(0.0, |watts| watts.0)
}

fn legend(picture: &mut Picture, layer: &str, part: f64, left: f64, right: f64) {
    let baseline = 3.0 + TEXT;
    let area = Area { x: left, y: baseline - TEXT * font::CAP, width: TEXT, height: TEXT * font::CAP };
    picture.rect(area, colour::BAND, None, 0.0);
    let (x, y) = (area.x + area.width / 2.0, area.y + area.height / 2.0);
    picture.rect(point(x, y), colour::POINT, None, POINT / 2.0);
    let part = format!(" {} of the step", percent(part));
    let room = right - left - TEXT * 1.4 - font::width(&part, TEXT);
    let layer = font::fitted(layer, room, TEXT);
    // One text, so that no space is lost between two.
    picture.text(left + TEXT * 1.4, baseline, &format!("{layer}:{part}"), pen(Anchor::Start));
}

fn draw_bands(picture: &mut Picture, spans: &[TimeRange], area: Area, place: &dyn Fn(f64) -> f64) {
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for span in spans {
        let (from, to) = (place(span.start.seconds()), place(span.end.seconds()));
        match drawn.last_mut() {
            Some((_, end)) if from - *end < TOGETHER => *end = end.max(to),
            _ => drawn.push((from, to)),
        }
    }
    for (from, to) in drawn {
        let band = Area { x: from, width: (to - from).max(TOGETHER), ..area };
        picture.rect(band, colour::BAND, None, 0.0);
    }
}

/// One standard deviation below and above the mean, as far as it is known.
fn draw_deviations(
    picture: &mut Picture,
    track: &PowerTrack,
    scale: &Scale,
    area: Area,
    place: &dyn Fn(f64) -> f64,
) {
    let height_at = |watts: f64| area.y + area.height - scale.part(watts) * area.height;
    let piece = track.piece.seconds();
    let known = |number: usize| Some((track.watts.get(number).copied().flatten()?.0, deviation(track, number)));
    let numbers: Vec<usize> = (0..track.watts.len()).collect();
    for run in numbers.chunk_by(|a, b| known(*a).is_some() == known(*b).is_some()) {
        let steps: Vec<(f64, f64, f64, f64)> = (run.iter())
            .filter_map(|number| {
                let (watts, spread) = known(*number)?;
                let (start, end) = (place(*number as f64 * piece), place((number + 1) as f64 * piece));
                Some((start, end, height_at(watts + spread), height_at(watts - spread)))
            })
            .collect();
        let above = steps.iter().flat_map(|(start, end, high, _)| [(*start, *high), (*end, *high)]);
        let below = steps.iter().rev().flat_map(|(start, end, _, low)| [(*end, *low), (*start, *low)]);
        let mut corners = above.chain(below);
        let (Some(first), true) = (corners.next(), !track.deviations.is_empty()) else { continue };
        let mut way = Way::from(first);
        corners.for_each(|corner| way.line(corner));
        way.close();
        picture.path(&way, colour::SPREAD, None);
    }
}

/// A point for every piece of time that the layer takes most of.
fn draw_points(
    picture: &mut Picture,
    (track, spans): (&PowerTrack, &[TimeRange]),
    scale: &Scale,
    area: Area,
    place: &dyn Fn(f64) -> f64,
) {
    for (number, watts) in track.watts.iter().enumerate() {
        let Some(watts) = watts else { continue };
        let start = Nanos(number as i64 * track.piece.0);
        let piece = TimeRange { start, end: start + track.piece };
        let common = spans.iter().map(|span| span.intersection(piece)).filter(|common| !common.is_empty());
        let inside: f64 = common.map(|common| common.duration().seconds()).sum();
        if inside * 2.0 > track.piece.seconds() {
            let x = place(start.seconds() + track.piece.seconds() / 2.0);
            let y = area.y + area.height - scale.part(watts.0) * area.height;
            picture.rect(point(x, y), colour::POINT, None, POINT / 2.0);
        }
    }
}

fn point(x: f64, y: f64) -> Area {
    Area { x: x - POINT / 2.0, y: y - POINT / 2.0, width: POINT, height: POINT }
}

fn draw_track(picture: &mut Picture, track: &PowerTrack, scale: &Scale, area: Area, place: &dyn Fn(f64) -> f64) {
    let bottom = area.y + area.height;
    let height_at = |watts: f64| bottom - scale.part(watts) * area.height;
    draw_ticks(picture, scale, area);
    let mut way = Way::default();
    let mut is_on = false;
    for (number, watts) in track.watts.iter().enumerate() {
        let Some(watts) = watts else {
            is_on = false;
            continue;
        };
        let piece = track.piece.seconds();
        let (from, to) = (place(number as f64 * piece), place((number + 1) as f64 * piece));
        let y = height_at(watts.0);
        if is_on {
            way.line((from, y))
        } else {
            way.jump((from, y))
        }
        way.line((to, y));
        is_on = true;
    }
    if !way.is_empty() {
        picture.path(&way, "none", Some(Stroke::new(colour::LINE, 0.8)));
    }
    picture.line((area.x, bottom), (area.x + area.width, bottom), Stroke::new(colour::INK, 0.7));
    picture.line((area.x, area.y), (area.x, bottom), Stroke::new(colour::INK, 0.7));
}

/// When a layer ran in the step.
pub fn moments_of(step: &StepView, layer: &str) -> Vec<TimeRange> {
    let wanted: Vec<&str> = parts(layer).collect();
    let is_inside: Vec<bool> = (step.paths.iter())
        .map(|path| {
            let mut own = parts(path);
            wanted.iter().all(|part| own.next() == Some(part))
        })
        .collect();
    let inside = step.moments.iter().filter(|moment| is_inside.get(moment.path) == Some(&true));
    united(inside.map(|moment| TimeRange { start: moment.start, end: moment.start + moment.duration }))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

fn covered(spans: &[TimeRange]) -> f64 {
    spans.iter().map(|span| span.duration().seconds()).sum()
}

/// The largest layer that is only a part of the step.
fn largest_part(tree: &EnergyTree, step: &StepView) -> Option<String> {
    let runs = |node: &&EnergyTree| !moments_of(step, &node.path).is_empty();
    let mut found: Option<&EnergyTree> = None;
    loop {
        let inside = found.unwrap_or(tree);
        let layers = inside.children.iter().filter(|child| child.is_composite());
        let Some(largest) = layers.chain(&inside.children).find(runs) else { break };
        found = Some(largest);
        if covered(&moments_of(step, &largest.path)) < WHOLE * step.duration.seconds() {
            break;
        }
    }
    found.map(|layer| layer.path.clone())
}
