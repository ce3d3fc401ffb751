//! Power over one call: a track for every device, the call and its tail as bands behind it, and the level of idling.

use jouletree_account::EnergyIndex;
use jouletree_model::{Device, EnergySeries, Kind, Nanos, TimeRange, Watts};

use super::axes::{COLUMN, SMALL, TEXT, axis_title, device_name, draw_ticks, pen, small_pen};
use super::scale::Scale;
use super::svg::{Anchor, Area, Picture, Stroke, Way};
use super::{Figure, colour, font};

/// The height of a track.
const TRACK: f64 = 50.0;
/// The distance between tracks, with space for the name of the lower one.
const APART: f64 = 13.0;
/// What is shown after the tail, as a part of what is shown before.
const AFTER: f64 = 0.1;
/// A track is drawn in no more pieces than this: several for each point of the figure's width.
const PIECES: i64 = 800;

/// A call as a figure shows it.
#[derive(Debug, Clone)]
pub struct CallPicture<'a> {
    /// What was called.
    pub name: String,
    /// The devices it ran on.
    pub tracks: Vec<CallTrack<'a>>,
}

/// The power of a device around a call.
#[derive(Debug, Clone)]
pub struct CallTrack<'a> {
    /// The device.
    pub device: Device,
    /// How its numbers came to be.
    pub kind: Kind,
    /// Its energy.
    pub series: &'a EnergySeries,
    /// When the call was.
    pub window: TimeRange,
    /// The level of idling and when it was learnt.
    pub baseline: Option<(TimeRange, Watts)>,
    /// What stayed up afterwards.
    pub tail: Option<TimeRange>,
}

impl Figure {
    /// Draws a call; `None` where no power is known around it.
    pub fn of_call(call: &CallPicture<'_>) -> Option<Figure> {
        Some(Figure { name: "call".to_owned(), svg: drawn(call)?, data: String::new() })
    }
}

fn drawn(call: &CallPicture<'_>) -> Option<String> {
    let shown = shown(call)?;
    let powers: Vec<Vec<(TimeRange, f64)>> = call.tracks.iter().map(|track| pieces(track.series, shown)).collect();
    let tracks: Vec<(&CallTrack<'_>, &Vec<(TimeRange, f64)>)> =
        call.tracks.iter().zip(&powers).filter(|(_, pieces)| !pieces.is_empty()).collect();
    if tracks.is_empty() {
        return None;
    }
    let peak = |pieces: &[(TimeRange, f64)]| pieces.iter().map(|(_, power)| *power).fold(0.0, f64::max);
    let scales: Vec<Scale> = tracks.iter().map(|(_, pieces)| Scale::up_to(peak(pieces), "W", 3)).collect();
    let labels = scales.iter().flat_map(|scale| &scale.ticks).map(|(_, label)| font::width(label, TEXT));
    let left = 4.0 + TEXT * 1.5 + labels.fold(0.0, f64::max) + 4.0;
    let right = COLUMN - 6.0;
    let time = Scale::within(shown.duration().seconds(), "s", 5);
    let place = |instant: Nanos| left + time.part((instant - shown.start).seconds()) * (right - left);

    let mut picture = Picture::new(COLUMN);
    let name = font::fitted(&call.name, right - left, TEXT);
    picture.text(left, 3.0 + TEXT, &name, pen(Anchor::Start));
    let mut y = 3.0 + TEXT * 1.4;
    legend(&mut picture, left, y + TEXT, call);
    y += TEXT * 1.2;
    let first = y + APART;
    let devices: Vec<&Device> = tracks.iter().map(|(track, _)| &track.device).collect();
    let has_one_unit = scales.iter().all(|scale| scales.first().is_some_and(|first| first.unit == scale.unit));
    for ((track, pieces), scale) in tracks.iter().zip(&scales) {
        let mut name = device_name(&track.device, &devices);
        if !has_one_unit {
            name = format!("{name}, {}", scale.unit);
        }
        picture.text(left, y + APART - 3.0, &font::fitted(&name, right - left, SMALL), small_pen(Anchor::Start));
        y += APART;
        let area = Area { x: left, y, width: right - left, height: TRACK };
        let band = |range: TimeRange| {
            let range = range.intersection(shown);
            let (from, to) = (place(range.start), place(range.end));
            (!range.is_empty()).then_some(Area { x: from, width: (to - from).max(0.2), ..area })
        };
        for (band, fill) in [(band(track.window), colour::BAND), (track.tail.and_then(band), colour::TAIL)] {
            if let Some(band) = band {
                picture.rect(band, fill, None, 0.0);
            }
        }
        draw_track(&mut picture, track, pieces, scale, area, &place);
        y += TRACK;
    }
    let unit = if has_one_unit { scales.first().map_or("W", |scale| scale.unit.as_str()) } else { "W" };
    let title = axis_title("Power", unit, tracks.iter().map(|(track, _)| Some(track.kind)));
    picture.text_upwards(4.0 + TEXT * 0.8, (first + y) / 2.0, &title, pen(Anchor::Middle));
    for (value, label) in &time.ticks {
        let x = left + time.part(*value) * (right - left);
        picture.line((x, y), (x, y + 2.5), Stroke::new(colour::INK, 0.7));
        let room = font::width(label, TEXT) / 2.0;
        picture.text(x.min(COLUMN - room - 1.0), y + 3.5 + TEXT, label, pen(Anchor::Middle));
    }
    let title = format!("Time, {}", time.unit);
    picture.text((left + right) / 2.0, y + 4.0 + TEXT * 2.3, &title, pen(Anchor::Middle));
    Some(picture.finish(y + 4.0 + TEXT * 2.3 + 4.0, &format!("Power over {}", call.name)))
}

/// From the beginning of the baseline to a little after the tail.
fn shown(call: &CallPicture<'_>) -> Option<TimeRange> {
    let ranges = call.tracks.iter().map(|track| {
        let before = track.baseline.map_or(track.window, |(range, _)| range);
        let after = track.tail.unwrap_or(track.window);
        let all = before.union(track.window).union(after);
        let margin = Nanos((all.duration().0 as f64 * AFTER) as i64);
        Some(TimeRange { end: all.end + margin, ..all }.intersection(track.series.extent()?))
    });
    ranges.flatten().filter(|range| !range.is_empty()).reduce(TimeRange::union)
}

/// The power over the time that is shown, in pieces that are not narrower than can be seen.
fn pieces(series: &EnergySeries, shown: TimeRange) -> Vec<(TimeRange, f64)> {
    let spans: Vec<(TimeRange, f64)> = series.spans_within(shown).map(|span| (span.range, span.power.0)).collect();
    if spans.len() <= PIECES as usize {
        return spans;
    }
    let index = EnergyIndex::from(&series.within(&[shown]));
    let edge = |piece: i64| shown.start + Nanos((shown.duration().0 as f64 * piece as f64 / PIECES as f64) as i64);
    let piece = |piece: i64| {
        let range = TimeRange { start: edge(piece), end: edge(piece + 1) };
        (range, (index.between(range) / range.duration()).0)
    };
    (0..PIECES).map(piece).collect()
}

fn legend(picture: &mut Picture, left: f64, baseline: f64, call: &CallPicture<'_>) {
    let mut x = left;
    let has_tail = call.tracks.iter().any(|track| track.tail.is_some_and(|tail| !tail.is_empty()));
    for (name, fill, is_there) in [("call", colour::BAND, true), ("tail", colour::TAIL, has_tail)] {
        if is_there {
            let area = Area { x, y: baseline - TEXT * font::CAP, width: TEXT, height: TEXT * font::CAP };
            picture.rect(area, fill, None, 0.0);
            picture.text(x + TEXT * 1.4, baseline, name, pen(Anchor::Start));
            x += TEXT * 2.8 + font::width(name, TEXT);
        }
    }
    if call.tracks.iter().any(|track| track.baseline.is_some()) {
        let y = baseline - TEXT * font::CAP / 2.0;
        let stroke = Stroke { is_dashed: true, ..Stroke::new(colour::INK, 0.7) };
        picture.line((x, y), (x + TEXT * 1.4, y), stroke);
        picture.text(x + TEXT * 1.8, baseline, "idle", pen(Anchor::Start));
    }
}

fn draw_track(
    picture: &mut Picture,
    track: &CallTrack<'_>,
    pieces: &[(TimeRange, f64)],
    scale: &Scale,
    area: Area,
    place: &dyn Fn(Nanos) -> f64,
) {
    let bottom = area.y + area.height;
    let height_at = |watts: f64| bottom - scale.part(watts) * area.height;
    draw_ticks(picture, scale, area);
    let mut way = Way::default();
    let mut last = None;
    for (range, watts) in pieces {
        let y = height_at(*watts);
        if last == Some(range.start) {
            way.line((place(range.start), y));
        } else {
            way.jump((place(range.start), y));
        }
        way.line((place(range.end), y));
        last = Some(range.end);
    }
    picture.path(&way, "none", Some(Stroke::new(colour::LINE, 0.8)));
    if let Some((_, level)) = track.baseline {
        let y = height_at(level.0);
        let stroke = Stroke { is_dashed: true, ..Stroke::new(colour::INK, 0.7) };
        picture.line((area.x, y), (area.x + area.width, y), stroke);
    }
    picture.line((area.x, bottom), (area.x + area.width, bottom), Stroke::new(colour::INK, 0.7));
    picture.line((area.x, area.y), (area.x, bottom), Stroke::new(colour::INK, 0.7));
}
