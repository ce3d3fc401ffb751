//! How many events a second go from the Parquet files of a run folder into a footprint.

use std::path::Path;

use anyhow::{Result, ensure};
use jouletree_account::{Metered, Semantics, account};
use jouletree_model::{Device, DeviceClass, Footprint, Kind, Op, OpTable, Pass, Trace};
use jouletree_run::{Accounting, MeteredSeries, RunContents, RunFolder, Scope};

use crate::Setup;
use crate::alignment::pool;
use crate::clock::best_of;
use crate::figure::{Figure, Target};
use crate::footprint::conservation_error;
use crate::peers;
use crate::workload::{OPS, Shape, Workload};

const RUNS: usize = 5;

/// Measures run folder to footprint on one thread.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let path = setup.folder().join("run");
    let events = write_run(&path, setup)?;
    let table = path.join("events.parquet");
    let bytes_per_event = table.metadata()?.len() as f64 / events as f64;
    let (footprint, took) = pool(1)?.install(|| best_of(RUNS, || footprint_of(&path)))?;
    let error = conservation_error(&footprint);
    ensure!(error < 1e-9, "accounting the run folder lost energy: relative {error}");
    let millions = events as f64 / 1e6;
    Ok(vec![Figure {
        what: "run folder → footprint".to_owned(),
        value: millions / took.cpu,
        decimals: 1,
        unit: "M events/s a core",
        target: Some(Target::AtLeast(20.0)),
        detail: format!(
            "{millions:.0} M events, {bytes_per_event:.1} bytes each in Parquet, {:.1} M/s on the wall, \
             conserved to {error:.0e}",
            millions / took.wall
        ),
        peers: peers::earlier_figures(&peers::LOADING_EARLIER),
    }])
}

fn footprint_of(path: &Path) -> Result<Footprint> {
    let run = RunFolder::open(path)?;
    let trace = run.read_trace(1)?;
    let power = run.read_power()?;
    Ok(account(&trace, &metered(&power), Semantics::Exact)?)
}

fn metered<'a>(power: &'a [MeteredSeries]) -> Vec<Metered<'a>> {
    let metered = |one: &'a MeteredSeries| {
        let MeteredSeries { device, kind, series, .. } = one;
        Metered { device, kind: *kind, series }
    };
    power.iter().map(metered).collect()
}

/// Writes a run and says how many there are.
pub fn write_run(path: &Path, setup: &Setup) -> Result<usize> {
    let workload = Workload::new(setup.events(), setup.devices(), Shape::flat(4).with_steps())?;
    let mut trace = Trace { ops: ops(), ..Trace::default() };
    let mut power = Vec::new();
    for (index, (lanes, series)) in workload.devices.into_iter().enumerate() {
        let device = Device::new(DeviceClass::Gpu, index as u32);
        trace.device_index(&device);
        trace.lanes.extend(lanes);
        power.push(MeteredSeries { device, domain: None, scope: Scope::Device, kind: Kind::Measured, series });
    }
    let footprint = account(&trace, &metered(&power), Semantics::Exact)?;
    let contents =
        RunContents { accounting: Accounting::default(), trace: &trace, power: &power, footprint: &footprint };
    RunFolder::create(path, &contents)?;
    Ok(trace.event_count())
}

fn ops() -> OpTable {
    let mut ops = OpTable::default();
    for number in 0..OPS {
        let path = format!("encoder/layer_{}/dense_{}/MatMul", number / 64, number % 64);
        let pass = Pass::ALL[number % Pass::ALL.len()];
        ops.intern(Op::new(path.as_str(), "MatMul", path.as_str(), pass));
    }
    ops
}
