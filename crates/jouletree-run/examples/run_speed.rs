//! How fast a run of ten million events, and a power file of five million lines, are written and read:
//! `cargo run --release -p jouletree-run --example run_speed [EVENTS]`.

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use jouletree_model::{Device, DeviceClass, Event, Footprint, Lane, Nanos, Op, OpId, OpTable, Pass, Step, Trace};
use jouletree_run::{Accounting, RunContents, RunFolder, read_power_csv};

/// Eight lanes of operations of some 20 µs, 3000 of them a step, one in ten out of the usual order.
fn trace(events: usize) -> Trace {
    let mut random = 88_172_645_463_325_252u64;
    let mut ops = OpTable::default();
    for op in 0..3000u32 {
        let path = format!("model/layer_{}/op_{op}", op / 30);
        let pass = Pass::ALL[op as usize % 3];
        ops.intern(Op { op_type: "MatMul".into(), name: path.as_str().into(), path: path.into(), pass });
    }
    let lanes = (0..8).map(|lane| {
        let mut time = 1_794_770_717_476_000_125;
        let run = |number: u32| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let start = time + (random % 3000) as i64;
            time = start + 1000 + ((random >> 20) % 40_000) as i64;
            let op = if random >> 60 == 0 { (random >> 30) as u32 % 3000 } else { number % 3000 };
            Event { start: Nanos(start), end: Nanos(time), op: OpId(op), step: Step(number / 3000) }
        };
        Lane::new(lane % 2, format!("stream {lane}"), (0..(events / 8) as u32).map(run).collect())
    });
    let lanes = lanes.collect();
    let devices = vec![Device::new(DeviceClass::Cpu, 0), Device::new(DeviceClass::Gpu, 0)];
    Trace { devices, ops, lanes, ..Trace::default() }
}

fn main() -> Result<(), Box<dyn Error>> {
    let events = std::env::args().nth(1).map_or(Ok(10_000_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run");
    let trace = trace(events);
    let footprint = Footprint { ops: trace.ops.clone(), ..Footprint::default() };
    let accounting = Accounting::default();
    let contents =
        RunContents { accounting, trace: &trace, power: &[], footprint: &footprint, tree: Default::default() };
    let rate = |count: usize, since: Instant| count as f64 / since.elapsed().as_secs_f64() / 1e6;

    let begin = Instant::now();
    let run = RunFolder::create(&path, &contents)?;
    println!("write         {:6.1} M events/s", rate(events, begin));
    let bytes = std::fs::metadata(path.join("events.parquet"))?.len();
    println!("size          {:6.2} bytes an event", bytes as f64 / events as f64);
    for threads in [1, 1, 1, 2, 2, 2] {
        let begin = Instant::now();
        let read = run.read_trace(threads)?;
        println!("read {threads} thread(s) {:4.1} M events/s", rate(events, begin));
        if read != trace {
            return Err("the trace did not come back as it was".into());
        }
    }

    let mut csv = String::from("epoch_us,device,watts\n");
    let lines = events / 2;
    for line in 0..lines {
        let (time, device) = (1_794_770_717_476_000 + line * 500, ["cpu:0", "gpu:0"][line % 2]);
        writeln!(csv, "{time}.125,{device},{}.{}", 40 + line % 37, line % 100)?;
    }
    let begin = Instant::now();
    let file = read_power_csv("power.csv", csv.as_bytes())?;
    println!("power CSV     {:6.1} M lines/s", rate(lines, begin));
    assert_eq!(file.records.iter().map(|record| record.samples.len()).sum::<usize>(), lines);
    Ok(())
}
