//! Regressed attribution: how far it is from the truth of simulated programs beside equal shares, and how fast it is.

use anyhow::{Context, Result};
use jouletree_account::attribution::{Observed, probe::Probe};
use jouletree_account::{Attribution, Metered, Semantics, account_by};
use jouletree_model::{Device, DeviceClass, Event, Joules, Kind, Lane, Nanos, Op, OpId, OpTable, Pass, PowerSpan};
use jouletree_model::{Step, TimeRange};
use test_support::simulator::scenarios::{Run, Scenario, all, device, random};
use test_support::simulator::score::Score;

use crate::Setup;
use crate::clock::best_of;
use crate::figure::{Figure, Target};
use crate::random::Random;

/// Measures errors.
pub fn accuracy(setup: &Setup) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let seeds = if setup.quick { 1 } else { 5 };
    for scenario in &all() {
        figures.extend(errors(scenario, seeds)?);
    }
    figures.push(never_worse(if setup.quick { 20 } else { 200 })?);
    Ok(figures)
}

fn score(run: &Run, attribution: Attribution) -> Result<Score> {
    let device = device();
    let power = [Metered { device: &device, kind: Kind::Measured, series: &run.series }];
    Ok(Score::of(run, &account_by(&run.trace, &power, Semantics::Exact, attribution)?))
}

/// The error of a scenario by operation and by layer, and how many intervals hold: means over seeds.
fn errors(scenario: &Scenario, seeds: u64) -> Result<[Figure; 3]> {
    let (mut equal, mut found) = (Vec::new(), Vec::new());
    for seed in 0..seeds {
        let run = scenario.run(seed);
        equal.push(score(&run, Attribution::Equal)?);
        found.push(score(&run, Attribution::Auto)?);
    }
    let (equal, found) = (Score::mean(&equal), Score::mean(&found));
    let figure = |what: &str, value, decimals, target, detail| Figure {
        what: format!("{}, {what}", scenario.name),
        value,
        decimals,
        unit: "%",
        target: Some(target),
        detail,
        peers: Vec::new(),
    };
    let (by_op, by_layer) = scenario.reference;
    let types = format!("types {:.1}, passes {:.2}", found.by_type, found.by_pass);
    Ok([
        figure(
            "operations",
            found.by_op,
            1,
            Target::AtMost(1.1 * by_op),
            format!("equal shares {:.1}; {types}", equal.by_op),
        ),
        figure(
            "layers",
            found.by_layer,
            2,
            Target::AtMost(1.1 * by_layer),
            format!(
                "equal shares {:.1}; intervals of layers hold {:.0} %",
                equal.by_layer,
                100.0 * found.held_layers
            ),
        ),
        figure(
            "intervals of 90 % that hold",
            100.0 * found.held,
            0,
            Target::AtLeast(85.0),
            format!("by energy {:.0}", 100.0 * found.held_energy),
        ),
    ])
}

/// In how many random scenarios charges are farther from the truth than equal shares.
fn never_worse(scenarios: u64) -> Result<Figure> {
    let (mut worse, mut used) = (Vec::new(), 0);
    for seed in 0..scenarios {
        let run = random(seed).run(seed);
        let (equal, found) = (score(&run, Attribution::Equal)?, score(&run, Attribution::Auto)?);
        used += usize::from(found.by_op != equal.by_op);
        if found.by_op > 1.02 * equal.by_op {
            worse.push(seed.to_string());
        }
    }
    Ok(Figure {
        what: format!("random scenarios of {scenarios} that are worse than equal shares by more than 2 %"),
        value: worse.len() as f64,
        decimals: 0,
        unit: "",
        target: Some(Target::AtMost(0.0)),
        detail: format!("powers were estimated in {used}; worse: {}", worse.join(", ")),
        peers: Vec::new(),
    })
}

/// Windows of 4 ms with 50 executions each, of 1,000 operations one after the other.
struct Large {
    lane: Lane,
    spans: Vec<PowerSpan>,
    ops: OpTable,
}

const OPERATIONS: usize = 1000;

impl Large {
    fn new(windows: usize) -> Large {
        let mut random = Random::new(5);
        let mut ops = OpTable::default();
        for op in 0..OPERATIONS {
            let path = format!("layer_{}/op_{}", op / 50, op % 50);
            let kind = format!("type {}", op % 12);
            ops.intern(Op::new(path.as_str(), kind.as_str(), path.as_str(), Pass::Forward));
        }
        let watts: Vec<f64> = (0..OPERATIONS).map(|_| 50.0 + random.below(200) as f64).collect();
        let (mut events, mut at) = (Vec::new(), 0_i64);
        let mut energy = vec![0.16; windows];
        while at < windows as i64 * 4_000_000 {
            let op = events.len() % OPERATIONS;
            let end = at + 60_000 + random.below(40_000) as i64;
            events.push(Event { start: Nanos(at), end: Nanos(end), op: OpId(op as u32), step: Step::NONE });
            if let Some(energy) = energy.get_mut((at / 4_000_000) as usize) {
                *energy += watts[op] * (end - at) as f64 * 1e-9;
            }
            at = end + random.below(500) as i64;
        }
        let span = |(index, joules): (usize, &f64)| {
            let start = Nanos(index as i64 * 4_000_000);
            let range = TimeRange { start, end: start + Nanos(4_000_000) };
            PowerSpan { range, power: Joules(*joules) / range.duration() }
        };
        let spans = energy.iter().enumerate().map(span).collect();
        Large { lane: Lane::new(0, "stream", events), spans, ops }
    }
}

/// Measures how fast powers are estimated.
pub fn speed(setup: &Setup) -> Result<Vec<Figure>> {
    let large = Large::new(if setup.quick { 20_000 } else { 100_000 });
    let device = Device::new(DeviceClass::Gpu, 0);
    let lanes = [&large.lane];
    let observed = Observed::new(&device, &lanes, &large.spans, &large.ops);
    let probe = Probe::new(&observed);
    let (columns, windows) = probe.size();
    let rounds = if setup.quick { 1 } else { 3 };
    let (gathered, gathering) = best_of(rounds, || Ok(probe.gather(&observed)))?;
    let (steps, fitting) = best_of(rounds, || probe.fit(&gathered).context("the fit degenerated"))?;
    let (_, whole) = best_of(1, || Ok(probe.estimate(&observed)))?;
    let figure = |what: &str, value, decimals, unit, target, detail| Figure {
        what: what.to_owned(),
        value,
        decimals,
        unit,
        target,
        detail,
        peers: Vec::new(),
    };
    let events = large.lane.events().len() as f64;
    Ok(vec![
        figure(
            "statistics of windows gathered",
            events / gathering.cpu / 1e6,
            1,
            "M events/s a core",
            Some(Target::AtLeast(20.0)),
            format!("{windows} windows, {columns} columns"),
        ),
        figure(
            "powers fitted",
            fitting.cpu,
            2,
            "s on one core",
            Some(Target::AtMost(2.0)),
            format!("{windows} windows, {columns} columns, {steps} steps from scratch"),
        ),
        figure(
            "estimate from events, with errors and validation",
            whole.cpu,
            2,
            "s on one core",
            None,
            "fits, weights, five folds; the sensor is known".to_owned(),
        ),
    ])
}
