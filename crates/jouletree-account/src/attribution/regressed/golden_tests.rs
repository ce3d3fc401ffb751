//! The estimator against the reference implementation, case by case.

use std::path::Path;

use jouletree_model::{
    Device, DeviceClass, Event, Joules, Lane, Nanos, Op, OpId, OpTable, Pass, PowerSpan, Step, TimeRange,
};
use serde_json::Value;
use test_support::development::development_data;

use super::columns::Catalog;
use super::estimate::{Estimate, Sensor, estimate};
use super::kernel::Kernel;
use super::options::Options;
use super::rows::visit_rows;
use super::search::Range;
use super::shares::{each_share, happened};
use super::windows::Windows;
use crate::attribution::Observed;

/// A case: what ran, what was read, and what the reference says.
struct Case {
    lanes: Vec<Lane>,
    ops: OpTable,
    catalog: Catalog,
    spans: Vec<PowerSpan>,
    case: Value,
    expected: Value,
}

fn table(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

impl Case {
    fn read(name: &str) -> Option<Case> {
        let folder = development_data(&format!("regressed/golden/{name}"))?;
        let json = |file: &str| serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
        let mut ops = OpTable::default();
        let mut catalog = Catalog::default();
        for row in table(&folder.join("ops.csv")) {
            ops.intern(Op::new(row[1].as_str(), row[2].as_str(), row[0].as_str(), Pass::Forward));
            catalog.kind.push(row[2].parse().unwrap());
            catalog.role.push(row[3].parse().unwrap());
        }
        let mut lanes: Vec<Vec<Event>> = Vec::new();
        for row in table(&folder.join("events.csv")) {
            let number = |place: usize| row[place].parse::<i64>().unwrap();
            let lane = number(3) as usize;
            lanes.resize(lanes.len().max(lane + 1), Vec::new());
            let (start, end, op) = (Nanos(number(0)), Nanos(number(1)), OpId(number(2) as u32));
            lanes[lane].push(Event { start, end, op, step: Step::NONE });
        }
        let readings: Vec<(Nanos, f64)> = table(&folder.join("power.csv"))
            .iter()
            .map(|row| (Nanos(row[0].parse().unwrap()), row[1].parse().unwrap()))
            .collect();
        let span = |pair: &[(Nanos, f64)]| {
            let range = TimeRange { start: pair[0].0, end: pair[1].0 };
            PowerSpan { range, power: Joules(pair[1].1 - pair[0].1) / range.duration() }
        };
        Some(Case {
            lanes: lanes.into_iter().map(|events| Lane::new(0, "lane", events)).collect(),
            ops,
            catalog,
            spans: readings.windows(2).map(span).collect(),
            case: json("case.json"),
            expected: json("expected.json"),
        })
    }

    /// The sensor as the case describes it.
    fn sensor(&self) -> Sensor {
        let shape = |shape: &Value| Kernel {
            blur: shape["blur_s"].as_f64().unwrap_or(0.0),
            low_pass: shape["tau_s"].as_f64().unwrap_or(0.0),
            duty: shape["duty"].as_f64().unwrap_or(1.0),
            ..Kernel::default()
        };
        if self.case["kernel"] != "search" {
            return Sensor { kernel: shape(&self.case["kernel"]), search: None, widths: Vec::new() };
        }
        let lag = self.case["max_lag_s"].as_f64().unwrap();
        let shapes = self.case["shapes"].as_array().unwrap().iter().map(shape).collect();
        let widths = self.case["refine_h_s"].as_array().unwrap();
        Sensor {
            kernel: Kernel::default(),
            search: Some(Range { shapes, lags: (-lag, lag) }),
            widths: widths.iter().map(|width| width.as_f64().unwrap()).collect(),
        }
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        self.expected[key].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    fn number(&self, key: &str) -> f64 {
        self.expected[key].as_f64().unwrap()
    }
}

/// What a reader of an estimate sees, by operation.
struct Result {
    estimate: Estimate,
    powers: Vec<f64>,
    energies: Vec<f64>,
    unattributed: f64,
    by_equal_shares: Vec<f64>,
    errors: Vec<f64>,
    type_errors: Vec<f64>,
}

fn result(case: &Case) -> Result {
    let lanes: Vec<&Lane> = case.lanes.iter().collect();
    let device = Device::new(DeviceClass::Gpu, 0);
    let observed = Observed::new(&device, &lanes, &case.spans, &case.ops);
    let windows = Windows::of(&case.spans);
    let columns = case.case["opt"]["max_cols"].as_u64().map_or(1000, |columns| columns as usize);
    // The reference was run until nothing moved.
    let options = Options { columns, tolerance: 1e-11, iterations: 400, ..Options::default() };
    let estimate = estimate(&observed, &windows, &case.catalog, &case.sensor(), &options).unwrap();
    let ops = case.ops.len();
    let power = |op: usize| estimate.fit.powers[estimate.columns.of[op] as usize];
    let powers: Vec<f64> = (0..ops).map(power).collect();
    let idle = *estimate.fit.powers.last().unwrap();

    // What the reference charges: in each window, or block of windows, the parts scaled to what was measured.
    let spans = happened(&windows, &estimate.kernel);
    let mut share = vec![0.0; ops];
    let mut shares = vec![vec![0.0; ops]; windows.len()];
    let (mut equal, mut empty) = (vec![0.0; ops], vec![0.0; windows.len()]);
    each_share(&observed, &spans, |piece| {
        for (_, op) in piece.active {
            let seconds = piece.seconds / piece.active.len() as f64;
            share[op.index()] += seconds;
            shares[piece.window][op.index()] += seconds;
            equal[op.index()] += seconds * spans[piece.window].power.0;
        }
        empty[piece.window] += if piece.active.is_empty() { piece.seconds } else { 0.0 };
    });
    let all: Vec<u32> = (0..ops as u32).collect();
    let mut parts =
        shares.iter().map(|shares| shares.iter().map(|share| share * idle).collect()).collect::<Vec<Vec<f64>>>();
    let mut lane = vec![0.0; ops];
    visit_rows(&lanes, &windows, &estimate.kernel.whole(), (&all, ops), |window, row| {
        for (op, seconds) in row {
            parts[window][*op as usize] += seconds * powers[*op as usize];
            lane[*op as usize] += seconds;
        }
    });
    let block = if estimate.kernel.duty < 1.0 { options.duty_block } else { 1 };
    let (mut energies, mut unattributed) = (vec![0.0; ops], 0.0);
    for (first, joules) in
        windows.joules.chunks(block).enumerate().map(|(number, joules)| (number * block, joules))
    {
        let range = first..first + joules.len();
        let modelled: f64 =
            range.clone().map(|window| parts[window].iter().sum::<f64>() + empty[window] * idle).sum();
        let factor = joules.iter().sum::<f64>() / modelled;
        for window in range {
            energies.iter_mut().zip(&parts[window]).for_each(|(energy, part)| *energy += factor * part);
            unattributed += factor * empty[window] * idle;
        }
    }
    let columns = &estimate.columns;
    let error = |of: &dyn Fn(usize) -> bool| {
        let covariance = &estimate.covariance;
        let mut gradient = vec![0.0; columns.len() + 1];
        let mut lumped = 0.0;
        for op in (0..ops).filter(|op| of(*op)) {
            gradient[columns.of[op] as usize] += lane[op] * powers[op];
            gradient[columns.len()] += share[op] * idle;
            lumped += covariance.lumped(columns, op) * (lane[op] * powers[op]).powi(2);
        }
        let mut variance = lumped;
        for (a, x) in gradient.iter().enumerate() {
            for (b, y) in gradient.iter().enumerate() {
                variance += x * y * covariance.get(a, b);
            }
        }
        covariance.widening() * variance.sqrt()
    };
    let errors = (0..ops).map(|one| error(&|op| op == one)).collect();
    let kinds = *case.catalog.kind.iter().max().unwrap();
    let type_errors = (0..=kinds).map(|kind| error(&|op| case.catalog.kind[op] == kind)).collect();
    Result { powers, energies, unattributed, by_equal_shares: equal, errors, type_errors, estimate }
}

#[track_caller]
fn assert_close(what: &str, found: &[f64], wanted: &[f64]) {
    assert_within(1e-6, what, found, wanted);
}

#[track_caller]
fn assert_within(tolerance: f64, what: &str, found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let off = |(found, wanted): (&f64, &f64)| (found - wanted).abs() / wanted.abs().max(1e-9);
    let worst = found.iter().zip(wanted).map(off).fold(0.0, f64::max);
    assert!(worst <= tolerance, "{what}: off by {worst}");
}

fn assert_as_the_reference(name: &str) {
    let Some(case) = Case::read(name) else { return };
    let found = result(&case);
    let Estimate { fit, validation, kernel, phi, .. } = &found.estimate;
    assert_eq!(found.estimate.columns.len() as f64, case.number("columns"));
    assert_eq!(found.estimate.columns.own as f64, case.number("own_columns"));
    assert_eq!(found.estimate.columns.effects() as f64, case.number("effects"));
    assert_close("lag", &[kernel.lag], &[case.expected["kernel"]["lag_s"].as_f64().unwrap()]);
    assert_eq!(Some(kernel.duty), case.expected["kernel"]["duty"].as_f64());
    if let Some(error) = found.estimate.lag_error {
        assert_close("error of the lag", &[error], &[case.number("lag_se_s")]);
    }
    assert_close("powers", &found.powers, &case.numbers("theta_w"));
    assert_close("idle power", &fit.powers[fit.powers.len() - 1..], &[case.number("idle_w")]);
    let sd: Vec<f64> = fit.variances.iter().map(|variance| variance.sqrt()).collect();
    let wanted = ["op", "role", "type"].map(|level| case.expected["sd"][level].as_f64().unwrap());
    // Spreads converge most slowly of all, and the reference stops somewhat earlier.
    assert_within(3e-6, "spreads", &sd, &wanted);
    assert_close("slope", &[fit.effects[fit.effects.len() - 2]], &[case.number("size_slope")]);
    assert_close("noise", &[fit.noise.sqrt()], &[case.number("noise_sd_j")]);
    assert_close("autoregression", phi, &case.numbers("ar"));
    assert_close("standard errors", &found.errors, &case.numbers("se_j"));
    assert_close("standard errors of types", &found.type_errors, &case.numbers("type_se_j"));
    assert_close("charges", &found.energies, &case.numbers("energy_regressed_j"));
    assert_close("unattributed", &[found.unattributed], &[case.number("unattributed_regressed_j")]);
    assert_close("equal shares", &found.by_equal_shares, &case.numbers("energy_recency_j"));
    assert_close("left-out windows", &[validation.regressed], &[case.number("cv_rmse_regressed")]);
    assert_close("left-out windows by equal shares", &[validation.equal], &[case.number("cv_rmse_recency")]);
    assert_close("t", &[validation.t], &[case.number("cv_t")]);
    assert_eq!(validation.t >= Options::default().least_t, case.expected["published"] == "regressed");
    let total = found.energies.iter().sum::<f64>() + found.unattributed;
    let measured = case.number("measured_j");
    assert!((total - measured).abs() <= 1e-9 * measured, "{total} of {measured}");
}

#[test]
fn one_lane_is_as_the_reference() {
    assert_as_the_reference("1-single-lane");
}

#[test]
fn lanes_a_ticking_counter_and_coloured_noise_are_as_the_reference() {
    assert_as_the_reference("2-lanes-tick-ar");
}

#[test]
fn a_part_time_sensor_and_its_lag_are_as_the_reference() {
    assert_as_the_reference("3-search-duty");
}

#[test]
fn equal_shares_are_kept_where_the_reference_keeps_them() {
    assert_as_the_reference("4-fallback");
}
