//! Recordings of which one file is nonsense. Whatever it is, what comes out adds up or is an error.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jouletree_host::Roots;
use jouletree_model::sampling::{Batch, Flags, Mono, Quality, Sample, SensorInfo, ShareSample};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, Watts};
use jouletree_run::{JournalWriter, RecordingHeader, RunFolder};

/// What the first byte of an input chooses from.
const FILES: [&str; 9] = [
    "journal/samples.arrows",
    "journal/shares.arrows",
    "journal/anchors.arrows",
    "journal/gpus.arrows",
    "journal/resources.arrows",
    "journal/incidents.arrows",
    "journal/batches.arrows",
    "recording.json",
    "ending.json",
];

/// A small recording without an end.
static RECORDING: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    jouletree_model::silence_guarded_panics();
    let run = folder("whole");
    record(&run).expect("a recording");
    let read = |name: &str| fs::read(run.join(name)).ok().map(|bytes| (PathBuf::from(name), bytes));
    FILES.iter().filter_map(|name| read(name)).collect()
});

fn folder(name: &str) -> PathBuf {
    let run = std::env::temp_dir().join(format!("jouletree-fuzz-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&run);
    run
}

fn record(run: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let sensor = SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "made up".into(),
        kind: Kind::Measured,
        range: Some(262_143_328_850),
        step: Microjoules(61.0),
        period: Nanos(1_000_000),
        most: Watts(2000.0),
        is_slow: false,
        quality: Quality::default(),
    };
    let header = RecordingHeader::new(&Roots::default(), Vec::new(), None, &[sensor]);
    let at = |nanos: i64| Mono(header.began_mono_ns + nanos);
    let sample = |n: i64| Sample {
        sensor: 0,
        flags: Flags::default(),
        at: at(n * 4_000_000),
        count: n.unsigned_abs() * 200_000,
    };
    let (from, until) = (at(0), at(100_000_000));
    let share = ShareSample { from, at: until, socket: 0, ours: 0.5, others: 0.25, idle: 0.25, own: 0.0 };
    let batch = Batch { samples: (0..25).map(sample).collect(), shares: vec![share], ..Batch::default() };
    let mut writer = JournalWriter::create(run, &header)?;
    writer.append(&batch)?;
    writer.flush()?;
    Ok(())
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let chosen = FILES[usize::from(*choice) % FILES.len()];
    let run = folder("run");
    fs::create_dir_all(run.join("journal")).expect("a folder");
    for (name, bytes) in RECORDING.iter() {
        fs::write(run.join(name), bytes).expect("a file");
    }
    fs::write(run.join(chosen), content).expect("a file");
    let Ok(opened) = RunFolder::open(&run) else { return };
    let power = opened.read_power().expect("what was written can be read");
    let recording = opened.manifest().recording.clone().expect("a recording");
    for balance in &recording.balance {
        let same = |metered: &&jouletree_run::MeteredSeries| {
            metered.device == balance.device && metered.domain == balance.domain
        };
        let total = power.iter().find(same).map_or(0.0, |metered| metered.series.total().0);
        let energy = balance.energy.0;
        assert!((total - energy).abs() <= 1e-6 * energy + 1e-6, "{total} J are written, {energy} J are said");
        if let Some(parts) = balance.parts {
            let sum = parts.ours.0 + parts.others.0 + parts.idle.0 + parts.unknown.0;
            assert!((sum - energy).abs() <= 1e-9 * energy + 1e-9, "{sum} J of {energy} J");
        }
    }
});
