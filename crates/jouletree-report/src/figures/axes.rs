//! What every figure has: widths of columns, sizes of text, the words of an axis, a legend.

use jouletree_model::{Device, Kind, Pass};

use super::colour;
use super::font;
use super::scale::Scale;
use super::svg::{Anchor, Area, Pen, Picture, Stroke};
use crate::Study;

/// One column of a paper, in points.
pub const COLUMN: f64 = 240.0;
/// Both columns.
pub const PAGE: f64 = 504.0;
/// The size of text.
pub const TEXT: f64 = 7.0;
/// The size of the smallest text.
pub const SMALL: f64 = 6.5;

/// Ordinary text.
pub const fn pen(anchor: Anchor) -> Pen<'static> {
    Pen { size: TEXT, colour: colour::INK, anchor }
}

/// Text of less weight.
pub const fn small_pen(anchor: Anchor) -> Pen<'static> {
    Pen { size: SMALL, colour: colour::GREY, anchor }
}

/// What an axis shows, with a word where not all of it was measured.
pub fn axis_title(what: &str, unit: &str, kinds: impl IntoIterator<Item = Option<Kind>>) -> String {
    match honesty(kinds) {
        Some(word) => format!("{what} ({unit}, {word})"),
        None => format!("{what} ({unit})"),
    }
}

/// The word for numbers that were not all measured.
pub fn honesty(kinds: impl IntoIterator<Item = Option<Kind>>) -> Option<&'static str> {
    let kinds: Vec<Option<Kind>> = kinds.into_iter().collect();
    let has = |kind: Kind| kinds.contains(&Some(kind));
    let is_measured = |kind: &Option<Kind>| matches!(kind, Some(Kind::Measured | Kind::Derived));
    match (has(Kind::Estimated), has(Kind::Predicted), kinds.iter().any(is_measured)) {
        (_, true, false) => Some("predicted"),
        (_, true, true) => Some("partly predicted"),
        (true, false, false) => Some("estimated"),
        (true, false, true) => Some("partly estimated"),
        (false, false, _) => None,
    }
}

/// The kind of the energy of a device.
pub fn kind_of(study: &Study, device: &Device) -> Option<Kind> {
    study.devices.iter().find(|total| total.device.as_ref() == Some(device)).and_then(|total| total.kind)
}

/// The kind of the energy of operations, by device.
pub fn kinds(study: &Study) -> impl Iterator<Item = Option<Kind>> {
    let charged = study.devices.iter().filter(|total| total.attributed.0 > 0.0);
    charged.map(|total| total.kind)
}

/// A device as briefly as the others allow: without its host when all have the same.
pub fn device_name(device: &Device, others: &[&Device]) -> String {
    let name = device.to_string();
    let host = |device: &Device| device.to_string().rsplit_once('/').map(|(host, _)| host.to_owned());
    match name.rsplit_once('/') {
        Some((own, local)) if others.iter().all(|other| host(other).as_deref() == Some(own)) => local.to_owned(),
        _ => name,
    }
}

/// Names the colours of passes, from `x` on; returns the width that it took.
pub fn pass_legend(picture: &mut Picture, x: f64, y: f64, passes: &[Pass], has_letters: bool) -> f64 {
    let mut at = x;
    for pass in passes {
        let name = match has_letters {
            true => format!("{} {pass}", colour::letter_of_pass(*pass)),
            false => pass.to_string(),
        };
        at += legend_key(picture, at, y, &name, colour::of_pass(*pass));
    }
    at - x
}

/// Names one colour and returns how much room it took.
pub fn legend_key(picture: &mut Picture, x: f64, y: f64, name: &str, fill: &str) -> f64 {
    let area = Area { x, y: y - TEXT * font::CAP, width: TEXT * 0.8, height: TEXT * font::CAP };
    picture.rect(area, fill, None, 0.0);
    picture.text(x + TEXT * 1.1, y, name, pen(Anchor::Start));
    TEXT * 1.1 + font::width(name, TEXT) + TEXT * 1.4
}

/// The values beside an area, with a line across it at each but zero.
pub fn draw_ticks(picture: &mut Picture, scale: &Scale, area: Area) {
    for (value, label) in &scale.ticks {
        let y = area.y + area.height - scale.part(*value) * area.height;
        if *value > 0.0 {
            picture.line((area.x, y), (area.x + area.width, y), Stroke::new(colour::GRID, 0.4));
        }
        picture.text(area.x - 3.5, y + TEXT * font::CAP / 2.0, label, pen(Anchor::End));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_never_shown_as_a_measurement() {
        let (measured, estimated) = (Some(Kind::Measured), Some(Kind::Estimated));
        assert_eq!(axis_title("Energy", "J", [measured]), "Energy (J)");
        assert_eq!(axis_title("Energy", "J", [estimated, None]), "Energy (J, estimated)");
        assert_eq!(axis_title("Energy", "J", [estimated, measured]), "Energy (J, partly estimated)");
        assert_eq!(honesty([Some(Kind::Predicted), estimated]), Some("predicted"));
        assert_eq!(honesty([]), None);
    }

    #[test]
    fn devices_of_one_host_need_not_name_it() {
        let [cpu, gpu, far]: [Device; 3] = ["cpu:0", "gpu:1", "node7/gpu:1"].map(|name| name.parse().unwrap());
        assert_eq!(device_name(&gpu, &[&cpu, &gpu]), "gpu:1");
        assert_eq!(device_name(&gpu, &[&cpu, &far]), "host/gpu:1");
    }
}
