//! Power over time of the page: the whole run with the parts of the program, and one step with what ran in it.

use jouletree_model::{Kind, Part, PartKind};
use serde::Serialize;

use super::cleaned;
use crate::{Marks, PowerTrack, Segment, StepView, Study};

/// Power over time.
#[derive(Serialize)]
pub struct Power {
    run: Vec<Track>,
    marks: MarkData,
    step: Option<StepData>,
}

#[derive(Serialize)]
struct Track {
    device: String,
    ours: bool,
    kind: Kind,
    piece: f64,
    watts: Vec<Option<f32>>,
}

/// When the parts of the program were.
#[derive(Serialize)]
struct MarkData {
    parts: Vec<PartData>,
    /// Microseconds from the end of the stretch before to the beginning, and to the end; the part; the number of the step.
    start: Vec<i64>,
    lasts: Vec<i64>,
    part: Vec<usize>,
    step: Vec<u32>,
    /// The stages by name, and when each begins, in seconds.
    stages: Vec<(Box<str>, f64)>,
}

#[derive(Serialize)]
struct PartData {
    segment: Option<Segment>,
    /// What its steps do; empty when it is not made of steps.
    phase: Box<str>,
    function: Box<str>,
    recorded: bool,
}

#[derive(Serialize)]
struct StepData {
    name: String,
    steps: usize,
    seconds: f64,
    /// When it began in the run, in seconds.
    at: f64,
    tracks: Vec<Track>,
    /// Microseconds since the moment before, and of the moment.
    start: Vec<i64>,
    lasts: Vec<i64>,
    node: Vec<u32>,
    left_out: usize,
}

impl Power {
    /// The power of a study; `number` is that of a layer by its path.
    pub fn of(study: &Study, number: &dyn Fn(&str) -> Option<u32>) -> Power {
        Power {
            run: study.power.run.iter().map(Track::from).collect(),
            marks: MarkData::from(&study.power.marks),
            step: study.power.step.as_ref().map(|step| StepData::of(step, number)),
        }
    }
}

impl From<&PowerTrack> for Track {
    fn from(track: &PowerTrack) -> Track {
        let watts =
            track.watts.iter().map(|watts| watts.map(|watts| (watts.0 * 1e3).round() as f32 / 1e3)).collect();
        let device = track.device.to_string();
        Track { device, ours: track.is_ours, kind: track.kind, piece: track.piece.seconds(), watts }
    }
}

impl From<&Marks> for MarkData {
    fn from(marks: &Marks) -> MarkData {
        let (mut start, mut lasts, mut before) = (Vec::new(), Vec::new(), 0);
        for mark in &marks.stretches {
            let (begin, end) = (mark.start.0 / 1000, mark.end.0 / 1000);
            start.push(begin - before);
            lasts.push(end - begin);
            before = end;
        }
        let part = |part: &Part| PartData {
            // Operations are in three segments.
            segment: Segment::of_part(match part.kind {
                PartKind::RecordedSteps => PartKind::Operations.as_str(),
                kind => kind.as_str(),
            }),
            phase: part.phase.clone(),
            function: part.function.clone(),
            recorded: part.is_recorded(),
        };
        MarkData {
            parts: marks.parts.iter().map(part).collect(),
            start,
            lasts,
            part: marks.stretches.iter().map(|mark| mark.part).collect(),
            step: marks.stretches.iter().map(|mark| mark.step.0).collect(),
            stages: marks.stages.iter().map(|(name, start)| (name.clone(), start.seconds())).collect(),
        }
    }
}

impl StepData {
    fn of(step: &StepView, number: &dyn Fn(&str) -> Option<u32>) -> StepData {
        let nodes: Vec<Option<u32>> = step.paths.iter().map(|path| number(&cleaned(path))).collect();
        let (mut start, mut lasts, mut node) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = 0;
        for moment in &step.moments {
            let Some(place) = nodes.get(moment.path).copied().flatten() else { continue };
            let at = moment.start.0 / 1000;
            start.push(at - before);
            before = at;
            lasts.push((moment.duration.0 + 500) / 1000);
            node.push(place);
        }
        StepData {
            name: step.name.clone(),
            steps: step.steps,
            seconds: step.duration.seconds(),
            at: step.start.seconds(),
            tracks: step.tracks.iter().map(Track::from).collect(),
            start,
            lasts,
            node,
            left_out: step.left_out,
        }
    }
}
