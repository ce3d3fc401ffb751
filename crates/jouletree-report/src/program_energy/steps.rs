//! Steps by stage and phase: the first ones that take longer than usual apart, recorded ones beside those that were not.

use std::collections::HashMap;

use jouletree_model::{Joules, Nanos, ProgramSpan, Step, TimeRange, Timeline};
use serde::Serialize;

use super::{Counts, ProgramEnergy};

/// A first step that takes longer than so many times the median is warm-up,
const SLOW: f64 = 1.5;
/// but at most one in so many steps.
const MOST_WARM_UP: usize = 10;

/// Steps of one stage, phase and function. The three sums make all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageSteps {
    /// The stage in which they began; empty before the first, or where the program names none.
    pub stage: Box<str>,
    /// What the steps do.
    pub phase: Box<str>,
    /// What distinguishes them from others of the phase; may be empty.
    pub function: Box<str>,
    /// The first ones, while they take longer than 1.5 times the median; at most a tenth of all.
    pub warm_up: StepSum,
    /// Those whose operations were recorded.
    pub recorded: StepSum,
    /// The others.
    pub unrecorded: StepSum,
}

/// Some steps together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StepSum {
    /// How many there are, as in [`super::PhaseRow::steps`].
    pub steps: usize,
    /// What they used.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
    /// How many samples they worked on, if all say.
    pub samples: Option<u64>,
    /// How long they took.
    pub seconds: f64,
}

/// The number, phase and function of a step, and whether it was recorded.
type Taken<'a> = (Step, &'a str, &'a str, bool);

/// The steps of one row, and those of them that are warm-up.
struct Group<'a> {
    stage: Box<str>,
    spans: Vec<&'a ProgramSpan>,
    warm_up: Vec<TimeRange>,
    sums: [(Joules, Nanos); 3],
}

impl ProgramEnergy<'_> {
    /// Its steps by stage, phase and function, in the order of their beginnings. A step belongs to the stage in which it began.
    /// At each instant one step counts, so that the energies sum up to that of [`ProgramEnergy::phases`].
    pub fn steps_by_stage(&self) -> Vec<StageSteps> {
        let Some(timeline) = Timeline::of(self.program, None) else { return Vec::new() };
        let mut groups = self.groups();
        // The steps with a number, phase and function: ranks take the same ones.
        let mut places: HashMap<Taken<'_>, Vec<(usize, TimeRange)>> = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            for span in &group.spans {
                let key = (span.step, &*span.name, &*span.function, span.is_recorded);
                places.entry(key).or_default().push((number, span.range));
            }
        }
        for stretch in &timeline.stretches {
            let Some(part) = timeline.parts.get(stretch.part).filter(|part| part.is_steps()) else { continue };
            let start = stretch.range.start;
            let holds = |range: &TimeRange| range.start <= start && start < range.end;
            let key = (stretch.step, &*part.phase, &*part.function, part.is_recorded());
            let place = places.get(&key).and_then(|places| places.iter().find(|(_, range)| holds(range)));
            let Some(group) = place.and_then(|(number, _)| groups.get_mut(*number)) else { continue };
            let sum = match (group.warm_up.iter().any(holds), part.is_recorded()) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            group.sums[sum].0 += self.within(&[stretch.range]);
            group.sums[sum].1 += stretch.range.duration();
        }
        groups.iter().filter_map(Group::row).collect()
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let stages = self.program.stages();
        let stage_at = |instant: Nanos| -> &str {
            let holds = |range: &TimeRange| range.start <= instant && instant < range.end;
            stages.iter().find(|stage| stage.ranges.iter().any(holds)).map_or("", |stage| &*stage.name)
        };
        let mut steps: Vec<&ProgramSpan> = self.program.steps().filter(|step| !step.range.is_empty()).collect();
        steps.sort_by_key(|step| step.range.start);
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut known: HashMap<(&str, &str, &str), usize> = HashMap::new();
        for step in steps {
            let stage = stage_at(step.range.start);
            let place = *known.entry((stage, &*step.name, &*step.function)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.spans.push(step),
                None => {
                    let sums = [(Joules::ZERO, Nanos(0)); 3];
                    groups.push(Group { stage: stage.into(), spans: vec![step], warm_up: Vec::new(), sums });
                }
            }
        }
        for group in &mut groups {
            group.warm_up = warm_up(&group.spans);
        }
        groups
    }
}

impl Group<'_> {
    fn row(&self) -> Option<StageSteps> {
        let first = self.spans.first()?;
        let is_warm_up = |span: &&&ProgramSpan| self.warm_up.contains(&span.range);
        let of = |number: usize, is_in: &dyn Fn(&&&ProgramSpan) -> bool| {
            let spans: Vec<&ProgramSpan> = self.spans.iter().filter(is_in).copied().collect();
            let samples = spans.iter().map(|span| span.samples).sum::<Option<u64>>();
            let (energy, time) = self.sums[number];
            StepSum {
                steps: Counts::of(&spans).steps,
                energy,
                samples: samples.filter(|samples| *samples > 0),
                seconds: time.seconds(),
            }
        };
        Some(StageSteps {
            stage: self.stage.clone(),
            phase: first.name.clone(),
            function: first.function.clone(),
            warm_up: of(0, &is_warm_up),
            recorded: of(1, &|span| !is_warm_up(span) && span.is_recorded),
            unrecorded: of(2, &|span| !is_warm_up(span) && !span.is_recorded),
        })
    }
}

/// When the first steps of each process were that took longer than usual; `spans` are in order of time.
fn warm_up(spans: &[&ProgramSpan]) -> Vec<TimeRange> {
    let mut durations: Vec<Nanos> = spans.iter().map(|span| span.range.duration()).collect();
    durations.sort_unstable();
    let Some(median) = durations.get(durations.len() / 2).filter(|_| spans.len() > 2) else { return Vec::new() };
    let mut processes: HashMap<usize, Vec<&ProgramSpan>> = HashMap::new();
    for span in spans {
        processes.entry(span.process).or_default().push(span);
    }
    let slow = |span: &&&ProgramSpan| span.range.duration().0 as f64 > SLOW * median.0 as f64;
    let first = |spans: Vec<&ProgramSpan>| {
        let most = spans.len().div_ceil(MOST_WARM_UP);
        spans.iter().take(most).take_while(slow).map(|span| span.range).collect::<Vec<_>>()
    };
    processes.into_values().flat_map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{Device, DeviceClass, EnergySeries, Kind, MeteredSeries, Program, Scope, SpanKind};

    fn span(kind: SpanKind, name: &str, step: u32, start: i64, end: i64, is_recorded: bool) -> ProgramSpan {
        ProgramSpan {
            kind,
            name: name.into(),
            process: 0,
            range: TimeRange { start: Nanos(start), end: Nanos(end) },
            step: Step(step),
            is_recorded,
            samples: Some(4),
            function: "".into(),
        }
    }

    #[test]
    fn steps_are_apart_by_stage_warm_up_and_record_and_make_the_phase() {
        let step = |number: u32, start, end, recorded| span(SpanKind::Step, "train", number, start, end, recorded);
        let spans = vec![
            span(SpanKind::Stage, "first", 0, 0, 0, false),
            step(1, 0, 30, false),
            step(2, 30, 40, true),
            step(3, 40, 50, false),
            step(4, 50, 60, true),
            span(SpanKind::Stage, "second", 0, 60, 60, false),
            step(5, 60, 70, true),
        ];
        let program = Program { spans, ..Program::default() };
        let mut series = EnergySeries::default();
        series.push(Nanos(0), Joules(0.0), false).unwrap();
        series.push(Nanos(70), Joules(70.0), false).unwrap();
        let device = Device::new(DeviceClass::Cpu, 0);
        let power = MeteredSeries { device, domain: None, scope: Scope::Device, kind: Kind::Measured, series };
        let energy = ProgramEnergy::new(&program, vec![power]);
        let rows = energy.steps_by_stage();
        let sums = |sum: &StepSum| (sum.steps, sum.energy.0.round(), sum.samples);
        let found: Vec<_> = rows
            .iter()
            .map(|row| (&*row.stage, [&row.warm_up, &row.recorded, &row.unrecorded].map(sums)))
            .collect();
        assert_eq!(
            found,
            [
                ("first", [(1, 30.0, Some(4)), (2, 20.0, Some(8)), (1, 10.0, Some(4))]),
                ("second", [(0, 0.0, None), (1, 10.0, Some(4)), (0, 0.0, None)]),
            ]
        );
        let all: f64 = energy.phases().iter().map(|phase| phase.energy.0).sum();
        let sums = rows.iter().flat_map(|row| [&row.warm_up, &row.recorded, &row.unrecorded]);
        assert!((sums.map(|sum| sum.energy.0).sum::<f64>() - all).abs() < 1e-9 * all);
    }

    #[test]
    fn even_steps_have_no_warm_up() {
        let spans: Vec<ProgramSpan> =
            (0..20).map(|at| span(SpanKind::Step, "train", at as u32, 10 * at, 10 * at + 8, true)).collect();
        assert!(warm_up(&spans.iter().collect::<Vec<_>>()).is_empty());
    }
}
