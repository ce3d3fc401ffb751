//! Recordings made up for tests: sensors that read a known course of counts.

use std::fs;
use std::path::Path;

use jouletree_host::Roots;
use jouletree_model::sampling::{
    Anchor, Batch, Bounds, Ending, Flags, GpuSample, GpuShare, GpuUse, Incident, Mono, Quality, ResourceSample,
    Sample, SensorInfo, ShareBasis, ShareSample, Stats, What,
};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Nanos, Watts};
use jouletree_run::{Exit, JournalWriter, RecordingHeader, RunFolder};

pub const PERIOD: Nanos = Nanos(4_000_000);
const MS: i64 = 1_000_000;

pub fn sensor(class: DeviceClass, index: u32, domain: Option<&str>, kind: Kind) -> SensorInfo {
    let is_gpu = class == DeviceClass::Gpu;
    SensorInfo {
        device: Device::new(class, index),
        domain: domain.map(str::to_owned),
        source: "a made-up course of counts".into(),
        kind,
        range: (!is_gpu).then_some(262_143_328_850),
        step: Microjoules(61.035),
        period: if is_gpu { Nanos(20 * MS) } else { Nanos(MS) },
        most: Watts(2000.0),
        is_slow: is_gpu,
        quality: Quality {
            lag: if is_gpu { Nanos(10 * MS) } else { Nanos(0) },
            coverage: is_gpu.then_some(0.25),
            bounds: (kind == Kind::Estimated).then_some(Bounds { low: 0.7, high: 1.48 }),
        },
    }
}

pub fn sensors() -> Vec<SensorInfo> {
    vec![
        sensor(DeviceClass::Cpu, 0, None, Kind::Measured),
        sensor(DeviceClass::Cpu, 0, Some("core"), Kind::Measured),
        sensor(DeviceClass::Dram, 0, None, Kind::Measured),
        sensor(DeviceClass::Cpu, 1, None, Kind::Estimated),
        sensor(DeviceClass::Gpu, 0, None, Kind::Derived),
    ]
}

pub fn header(sensors: &[SensorInfo]) -> RecordingHeader {
    let command = vec!["python".to_owned(), "train.py".to_owned()];
    RecordingHeader::new(&Roots::default(), command, Some(4711), sensors)
        .with_share_source(Some("schedstat".to_owned()))
}

pub fn ending(sensors: &[SensorInfo]) -> Ending {
    let stats = Stats { wakes: 250, missed: 1, late_p99: Nanos(80_000), ..Stats::default() };
    Ending {
        sensors: sensors.to_vec(),
        remarks: vec!["performance events are refused".to_owned()],
        stats,
        share_source: Some("schedstat".to_owned()),
        tree_time: Nanos(900 * MS),
        own_time: Nanos(11 * MS),
    }
}

/// A small source of numbers that are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Batches of a tenth of a second: every sensor at every period, shares, GPUs, resources, an anchor a second. Now and
/// then a reading fails.
pub fn batches(seed: u64, tenths: u64, began: Anchor) -> Vec<Batch> {
    let mut dice = Dice(seed);
    let mut counts: Vec<u64> = (0..5).map(|_| dice.roll(1_000_000)).collect();
    let mut batches = Vec::new();
    let at = |nanos: i64| Mono(began.mono.0 + nanos);
    for number in 0..tenths {
        let mut batch = Batch { number, ..Batch::default() };
        let (start, end) = (number as i64 * 100 * MS, (number as i64 + 1) * 100 * MS);
        for (sensor, count) in counts.iter_mut().enumerate() {
            for tick in 0..25 {
                *count += if sensor == 4 && tick % 5 != 0 { 0 } else { 1 + dice.roll(400_000) };
                let flags = if dice.roll(60) == 0 { Flags::GAP } else { Flags::default() };
                let at = at(start + tick * PERIOD.0 + dice.roll(100_000) as i64);
                batch.samples.push(Sample { sensor: sensor as u16, flags, at, count: *count });
            }
        }
        if dice.roll(8) > 0 {
            for socket in 0..2 {
                let ours = dice.roll(1000) as f64 / 1000.0;
                let idle = (1.0 - ours) * dice.roll(1000) as f64 / 1000.0;
                let others = 1.0 - ours - idle;
                let (from, at) = (at(start), at(end));
                batch.shares.push(ShareSample { from, at, socket, ours, others, idle, own: others / 8.0 });
            }
        }
        let share = [None, Some(1.0), Some(0.25)][dice.roll(3) as usize];
        let basis = |share| if share == 1.0 { ShareBasis::Alone } else { ShareBasis::Utilisation };
        let used = GpuUse { busy: Some(0.5), temperature: Some(61), ..GpuUse::default() };
        let share = share.map(|share| GpuShare { share, basis: basis(share) });
        batch.gpus.push(GpuSample { at: at(end - MS), gpu: 0, used, share });
        batch.resources.push(ResourceSample {
            at: at(end),
            cpus: 1.5,
            machine_busy: Some(0.75),
            resident: 1 << 30,
            proportional: None,
            memory_total: Some(1 << 34),
            memory_available: Some(1 << 33),
            processes: 3,
            threads: 17,
        });
        if number % 10 == 0 {
            let nanos = number as i64 * 100 * MS;
            batch.anchors.push(Anchor { mono: at(nanos), wall: Nanos(began.wall.0 + nanos), boot: Nanos(nanos) });
        }
        if number == 3 {
            let what = What::Lost("it is gone (ENODEV)".to_owned());
            batch.incidents.push(Incident { at: at(end), sensor: Some(2), what });
            batch.lost = 7;
        }
        batches.push(batch);
    }
    batches
}

pub fn anchor(header: &RecordingHeader) -> Anchor {
    let mono = Mono(header.began_mono_ns);
    Anchor { mono, wall: Nanos(header.began_ns), boot: Nanos(header.began_mono_ns) }
}

/// Writes batches with a message for every few of them, and leaves the recording without an end.
pub fn write(run: &Path, header: &RecordingHeader, batches: &[Batch], every: usize) -> JournalWriter {
    let mut writer = JournalWriter::create(run, header).unwrap();
    for batch in batches {
        writer.append(batch).unwrap();
        if (batch.number as usize + 1).is_multiple_of(every) {
            writer.flush().unwrap();
        }
    }
    writer.flush().unwrap();
    writer
}

pub fn finish(writer: JournalWriter, sensors: &[SensorInfo]) -> RunFolder {
    writer.finish(&ending(sensors), Some(Exit { code: Some(0), signal: None })).unwrap()
}

/// A finished recording of so many tenths of a second.
pub fn record(run: &Path, seed: u64, tenths: u64) -> RunFolder {
    let sensors = sensors();
    let header = header(&sensors);
    finish(write(run, &header, &batches(seed, tenths, anchor(&header)), 5), &sensors)
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

pub fn names_in(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
