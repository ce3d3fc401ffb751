//! Accuracy against energy: a point for each model, the front as a line of steps, names where there is room for them.

use jouletree_model::{Interval, Joules, Kind};

use super::axes::{COLUMN, SMALL, TEXT, axis_title, pen, small_pen};
use super::scale::Scale;
use super::svg::{Anchor, Area, Pen, Picture, Stroke, Way};
use super::{Figure, colour, font};

/// The height of the points' area.
const HEIGHT: f64 = 150.0;
/// Half the size of a point.
const POINT: f64 = 2.2;
/// The distance of a name from its point.
const AWAY: f64 = 2.6;
/// A name takes at most this part of the width.
const WIDEST_NAME: f64 = 0.45;

/// A model in the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct TradeoffPoint {
    /// Its name.
    pub name: String,
    /// How good it is.
    pub accuracy: f64,
    /// What it takes.
    pub energy: Joules,
    /// Where its energy is expected.
    pub interval: Option<Interval>,
    /// How its energy is known.
    pub kind: Option<Kind>,
    /// Whether no other is better.
    pub is_on_front: bool,
}

/// The figure of a choice between models; `None` without models. A budget and a target are drawn where they are given.
pub fn tradeoff(points: &[TradeoffPoint], budget: Option<Joules>, target: Option<f64>) -> Option<Figure> {
    let reach = |point: &TradeoffPoint| point.interval.map_or(point.energy.0, |interval| interval.high.0);
    let most = points.iter().map(reach).chain(budget.map(|budget| budget.0)).reduce(f64::max)?;
    let accuracies = || points.iter().map(|point| point.accuracy).chain(target);
    let across = Scale::up_to(most, "J", 5);
    let up = Scale::around(accuracies().reduce(f64::min)?, accuracies().reduce(f64::max)?, 5);
    let labels = up.ticks.iter().map(|(_, label)| font::width(label, TEXT)).fold(0.0, f64::max);
    let plot = Area { x: 4.0 + TEXT * 1.5 + labels + 5.0, y: 6.0, width: 0.0, height: HEIGHT };
    let plot = Area { width: COLUMN - 8.0 - plot.x, ..plot };
    let place = |energy: f64, accuracy: f64| {
        (plot.x + across.part(energy) * plot.width, plot.y + (1.0 - up.part(accuracy)) * plot.height)
    };
    let mut picture = Picture::new(COLUMN);
    let bottom = draw_axes(&mut picture, plot, &across, &up, points);
    let mut taken = Vec::new();
    let limits = [
        budget.map(|budget| place(budget.0, up.start).0).map(|x| ((x, plot.y), (x, plot.y + plot.height))),
        target.map(|target| place(0.0, target).1).map(|y| ((plot.x, y), (plot.x + plot.width, y))),
    ];
    for (from, to) in limits.into_iter().flatten() {
        picture.line(from, to, Stroke { is_dashed: true, ..Stroke::new(colour::GREY, 0.7) });
        taken.push(along(from, to));
    }
    draw_front(&mut picture, points, &place, &mut taken);
    for point in points {
        draw_point(&mut picture, point, &place, &mut taken);
    }
    let unnamed = draw_names(&mut picture, points, plot, &place, taken);
    let mut height = bottom;
    if unnamed > 0 {
        let note = format!("without a name for lack of space: {unnamed}");
        picture.text(plot.x, height + SMALL, &note, small_pen(Anchor::Start));
        height += SMALL * 1.6;
    }
    Some(Figure {
        name: "tradeoff".to_owned(),
        svg: picture.finish(height + 2.0, "Accuracy against energy"),
        data: String::new(),
    })
}

fn draw_axes(picture: &mut Picture, plot: Area, across: &Scale, up: &Scale, points: &[TradeoffPoint]) -> f64 {
    let bottom = plot.y + plot.height;
    let right = plot.x + plot.width;
    for (value, label) in &up.ticks {
        let y = bottom - up.part(*value) * plot.height;
        picture.line((plot.x, y), (right, y), Stroke::new(colour::GRID, 0.4));
        picture.text(plot.x - 3.5, y + TEXT * font::CAP / 2.0, label, pen(Anchor::End));
    }
    for (value, label) in &across.ticks {
        let x = plot.x + across.part(*value) * plot.width;
        picture.line((x, bottom), (x, bottom + 2.5), Stroke::new(colour::INK, 0.7));
        let room = font::width(label, TEXT) / 2.0;
        picture.text(x.min(COLUMN - room - 1.0), bottom + 3.5 + TEXT, label, pen(Anchor::Middle));
    }
    picture.line((plot.x, bottom), (right, bottom), Stroke::new(colour::INK, 0.7));
    picture.line((plot.x, plot.y), (plot.x, bottom), Stroke::new(colour::INK, 0.7));
    let title = axis_title("Energy", &across.unit, points.iter().map(|point| point.kind));
    let middle = (plot.x + right) / 2.0;
    picture.text(middle, bottom + 4.0 + TEXT * 2.3, &title, pen(Anchor::Middle));
    picture.text_upwards(4.0 + TEXT * 0.8, plot.y + plot.height / 2.0, "Accuracy", pen(Anchor::Middle));
    bottom + 4.0 + TEXT * 2.3 + 2.0
}

/// Steps from the cheapest model on the front to the best.
fn draw_front(
    picture: &mut Picture,
    points: &[TradeoffPoint],
    place: &dyn Fn(f64, f64) -> (f64, f64),
    taken: &mut Vec<Area>,
) {
    let mut front: Vec<&TradeoffPoint> = points.iter().filter(|point| point.is_on_front).collect();
    front.sort_by(|a, b| a.energy.0.total_cmp(&b.energy.0));
    let Some(first) = front.first() else { return };
    let mut at = place(first.energy.0, first.accuracy);
    let mut way = Way::from(at);
    for point in &front[1..] {
        let to = place(point.energy.0, point.accuracy);
        let corner = (to.0, at.1);
        way.line(corner);
        way.line(to);
        taken.extend([along(at, corner), along(corner, to)]);
        at = to;
    }
    picture.path(&way, "none", Some(Stroke::new(colour::LINE, 0.9)));
}

fn draw_point(
    picture: &mut Picture,
    point: &TradeoffPoint,
    place: &dyn Fn(f64, f64) -> (f64, f64),
    taken: &mut Vec<Area>,
) {
    let (x, y) = place(point.energy.0, point.accuracy);
    if let Some(interval) = point.interval {
        let (from, _) = place(interval.low.0, point.accuracy);
        let (to, _) = place(interval.high.0, point.accuracy);
        picture.line((from, y), (to, y), Stroke::new(colour::GREY, 0.6));
        taken.push(along((from, y), (to, y)));
    }
    taken.push(area_of(x, y));
    // Those on the front are filled, so that it is seen without colours.
    let (fill, edge) =
        if point.is_on_front { (colour::LINE, colour::LINE) } else { (colour::WHITE, colour::GREY) };
    picture.rect(area_of(x, y), fill, Some(Stroke::new(edge, 0.8)), POINT);
}

fn area_of(x: f64, y: f64) -> Area {
    Area { x: x - POINT, y: y - POINT, width: 2.0 * POINT, height: 2.0 * POINT }
}

/// What a line across or upwards takes.
fn along(from: (f64, f64), to: (f64, f64)) -> Area {
    let (left, top) = (from.0.min(to.0), from.1.min(to.1));
    Area { x: left - 0.5, y: top - 0.5, width: (to.0 - from.0).abs() + 1.0, height: (to.1 - from.1).abs() + 1.0 }
}

/// Writes names beside their points, those on the front first; returns how many did not fit.
fn draw_names(
    picture: &mut Picture,
    points: &[TradeoffPoint],
    plot: Area,
    place: &dyn Fn(f64, f64) -> (f64, f64),
    mut taken: Vec<Area>,
) -> usize {
    let mut order: Vec<&TradeoffPoint> = points.iter().collect();
    order.sort_by_key(|point| !point.is_on_front);
    let mut unnamed = 0;
    for point in order {
        let name = font::fitted(&point.name, plot.width * WIDEST_NAME, SMALL);
        let (x, y) = place(point.energy.0, point.accuracy);
        let (width, height) = (font::width(&name, SMALL), SMALL);
        // A name beside its point is beyond the ends of the interval.
        let end = |energy: Joules| place(energy.0, point.accuracy).0;
        let (from, to) = point.interval.map_or((x, x), |interval| (end(interval.low), end(interval.high)));
        let sides = [
            (to.max(x + POINT) + AWAY, y - height / 2.0),
            (from.min(x - POINT) - AWAY - width, y - height / 2.0),
            (x - width / 2.0, y + POINT + AWAY / 2.0),
            (x - width / 2.0, y - POINT - AWAY / 2.0 - height),
            (x + AWAY / 2.0, y - POINT - AWAY / 2.0 - height),
            (x - AWAY / 2.0 - width, y - POINT - AWAY / 2.0 - height),
            (x + AWAY / 2.0, y + POINT + AWAY / 2.0),
            (x - AWAY / 2.0 - width, y + POINT + AWAY / 2.0),
        ];
        let areas = sides.map(|(x, y)| Area { x, y, width, height });
        let is_free = |area: &Area| {
            let is_inside = area.x >= plot.x + 1.0
                && area.x + width <= COLUMN - 1.0
                && area.y >= 1.0
                && area.y + height <= plot.y + plot.height - 1.0;
            is_inside && !taken.iter().any(|other| overlap(area, other))
        };
        match areas.iter().find(|area| is_free(area)).filter(|_| !name.is_empty()) {
            Some(area) => {
                let colour = if point.is_on_front { colour::INK } else { colour::GREY };
                let pen = Pen { size: SMALL, colour, anchor: Anchor::Start };
                // A little above the lower edge, for letters that reach below their line.
                picture.text(area.x, area.y + height * 0.8, &name, pen);
                taken.push(*area);
            }
            None => unnamed += 1,
        }
    }
    unnamed
}

fn overlap(a: &Area, b: &Area) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

#[cfg(test)]
mod tests {
    use resvg::usvg::roxmltree::Document;

    use super::*;

    fn point(name: &str, accuracy: f64, energy: f64, is_on_front: bool) -> TradeoffPoint {
        let interval = Some(Interval { low: Joules(energy * 0.9), high: Joules(energy * 1.1) });
        let kind = Some(Kind::Predicted);
        TradeoffPoint { name: name.to_owned(), accuracy, energy: Joules(energy), interval, kind, is_on_front }
    }

    #[test]
    fn models_and_what_their_numbers_are_can_be_read() {
        let points =
            [point("tiny", 82.0, 1.0, true), point("wide", 81.0, 3.0, false), point("base", 92.0, 9.0, true)];
        let figure = tradeoff(&points, Some(Joules(5.0)), Some(88.0)).unwrap();
        let document = Document::parse(&figure.svg).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        for wanted in ["tiny", "wide", "base", "Accuracy", "Energy (J, predicted)"] {
            assert!(texts.contains(&wanted), "no `{wanted}` in {texts:?}");
        }
        assert_eq!(figure.svg.matches("stroke-dasharray").count(), 2);
    }

    #[test]
    fn a_crowd_loses_names_and_says_so() {
        let crowd: Vec<TradeoffPoint> =
            (0..80).map(|index| point(&format!("model-{index}"), 90.0, 5.0, index == 0)).collect();
        let figure = tradeoff(&crowd, None, None).unwrap();
        assert!(figure.svg.contains("model-0") && figure.svg.contains("for lack of space"), "{}", figure.svg);
        assert_eq!(tradeoff(&[], None, None), None);
    }
}
