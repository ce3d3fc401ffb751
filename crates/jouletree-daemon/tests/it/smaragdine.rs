//! The published Smaragdine protocol: recordings arrive whole, whatever their size, and clients are kept apart.

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jouletree_daemon::wire::smaragdine::sampler_client::SamplerClient;
use jouletree_daemon::wire::smaragdine::{DataSet, NvmlReading, ReadRequest, StartRequest, StopRequest};
use jouletree_daemon::{Config, SmaragdineConfig};
use jouletree_host::Roots;

use common::{Busy, Daemon};
use prost::Message;
use tonic::Code;
use tonic::transport::Channel;

const MANY: usize = 256;

fn daemon(fast: bool) -> Daemon {
    Daemon::start(|config, _| serve(config, fast))
}

fn serve(config: &mut Config, fast: bool) {
    let address = "127.0.0.1:0".parse().unwrap();
    config.smaragdine = Some(SmaragdineConfig { address, insecure: false, fast });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A client as published ones are: it refuses answers of more than 4 MiB.
async fn sampler(daemon: &Daemon) -> SamplerClient<Channel> {
    let address = format!("http://{}", daemon.ways.smaragdine.unwrap());
    SamplerClient::new(Channel::from_shared(address).unwrap().connect().await.unwrap())
}

async fn start(sampler: &mut SamplerClient<Channel>, pid: u32, period: u64) {
    sampler.start(StartRequest { pid: Some(pid.into()), period: Some(period) }).await.unwrap();
}

async fn stop(sampler: &mut SamplerClient<Channel>, pid: impl Into<Option<u32>>) {
    sampler.stop(StopRequest { pid: pid.into().map(u64::from) }).await.unwrap();
}

async fn read(sampler: &mut SamplerClient<Channel>, pid: impl Into<Option<u32>>) -> (usize, DataSet) {
    let response = sampler.read(ReadRequest { pid: pid.into().map(u64::from) }).await.unwrap();
    let data = response.into_inner().data.unwrap();
    (data.len(), DataSet::decode(data).unwrap())
}

/// The processes that a recording is about.
fn processes(data: &DataSet) -> BTreeSet<u32> {
    data.process.iter().flat_map(|sample| &sample.reading).map(|task| task.task_id).collect()
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
#[ignore = "run by other tests, to be watched"]
fn many_threads() {
    let sleep = || std::thread::sleep(Duration::from_secs(600));
    let threads: Vec<_> = (0..MANY).map(|_| std::thread::spawn(sleep)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_recording_larger_than_four_megabytes_arrives() {
    let daemon = daemon(true);
    let program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "smaragdine::many_threads", "--ignored"])
        .stdout(Stdio::null())
        .spawn();
    let watched = Killed(program.unwrap());
    let pid = watched.0.id();
    let tasks = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    common::until("the threads", || tasks() > MANY);
    runtime().block_on(async {
        let mut sampler = sampler(&daemon).await;
        let (mut bytes, mut data) = Default::default();
        let mut all = sampler.clone().max_decoding_message_size(usize::MAX);
        // A busy machine records less in a second.
        for seconds in [8, 16, 32, 64] {
            start(&mut sampler, pid, 1).await;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            assert_eq!(read(&mut sampler, pid).await.0, 0, "nothing is read while it runs");
            stop(&mut sampler, pid).await;
            (bytes, data) = read_whole(&mut all, pid).await;
            if bytes > 4 << 20 {
                break;
            }
        }
        assert!(bytes > 4 << 20, "{bytes} bytes");
        assert!(data.process.iter().all(|sample| sample.reading.len() > MANY));
        assert!(data.process.is_sorted_by_key(|sample| sample.timestamp));
        assert!(data.rapl.is_sorted_by_key(|sample| sample.timestamp) && !data.rapl.is_empty());
        assert_eq!(read_whole(&mut all, pid).await, (bytes, data.clone()), "it can be asked for again");
        // A client that takes no more than 4 MiB, and calls as published ones do, gets all of it on a coarser grid.
        let (size, coarse) = read(&mut sampler, None).await;
        assert!(size <= 4 << 20, "{size} bytes");
        assert!(coarse.process.len() >= data.process.len() / 8, "{}", coarse.process.len());
        let ends = |data: &DataSet| {
            let [first, last] = [data.rapl.first(), data.rapl.last()].map(|sample| sample.unwrap().clone());
            let [begin, end] = [data.process.first(), data.process.last()].map(|sample| sample.unwrap().clone());
            (first, last, begin, end)
        };
        assert_eq!(ends(&coarse), ends(&data), "energy and time are those of the whole");
    });
}

/// What a client gets that takes any size.
async fn read_whole(sampler: &mut SamplerClient<Channel>, pid: u32) -> (usize, DataSet) {
    let mut request = tonic::Request::new(ReadRequest { pid: Some(pid.into()) });
    request.metadata_mut().insert("jouletree-largest-answer", "1000000000".parse().unwrap());
    let response = sampler.read(request).await.unwrap();
    assert!(response.metadata().get("jouletree-one-of").is_none());
    let data = response.into_inner().data.unwrap();
    (data.len(), DataSet::decode(data).unwrap())
}

#[test]
fn clients_are_kept_apart_by_process() {
    let daemon = daemon(false);
    let (first, second) = (Busy::start(), Busy::start());
    let (one, two) = (first.0.id(), second.0.id());
    runtime().block_on(async {
        let mut sampler = sampler(&daemon).await;
        start(&mut sampler, one, 4).await;
        start(&mut sampler, two, 20).await;
        start(&mut sampler, two, 20).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop(&mut sampler, one).await;
        assert_eq!(read(&mut sampler, two).await.0, 0, "the other goes on");
        stop(&mut sampler, two).await;
        for pid in [one, two] {
            let (_, data) = read(&mut sampler, pid).await;
            assert_eq!(processes(&data), BTreeSet::from([pid]));
            // The floor of strangers, whatever they ask for; at the end sensors are read once more.
            let times: Vec<u64> = data.rapl.iter().map(|sample| sample.timestamp).collect();
            let most = (times[times.len() - 1] - times[0]) / 10 + 3;
            assert!(times.len() as u64 <= most, "{times:?}");
            let counts: Vec<u64> = data.rapl.iter().filter_map(|sample| sample.reading.first()?.package).collect();
            assert!(counts.is_sorted() && counts[0] < counts[counts.len() - 1], "ever growing");
            let user = |at: usize| data.process[at].reading[0].user.unwrap();
            assert!(user(0) < user(data.process.len() - 1), "it was busy");
        }
        let nothing = sampler.read(ReadRequest { pid: Some(1) }).await.unwrap_err();
        assert_eq!(nothing.code(), Code::NotFound);
        let missing = sampler.start(StartRequest { pid: Some(u64::from(u32::MAX)), period: None }).await;
        assert_eq!(missing.unwrap_err().code(), Code::NotFound);
        let wrong = sampler.start(StartRequest { pid: Some(u64::MAX), period: None }).await;
        assert_eq!(wrong.unwrap_err().code(), Code::InvalidArgument);
        sampler.stop(StopRequest { pid: Some(1) }).await.unwrap();
    });
}

/// The calls of the published hook: a process is named at Start and nowhere else, and the last Read finds nothing.
#[test]
fn calls_that_name_no_process_mean_what_their_connection_started() {
    let daemon = daemon(false);
    let (first, second) = (Busy::start(), Busy::start());
    let (one, two) = (first.0.id(), second.0.id());
    runtime().block_on(async {
        let (mut hook, mut other) = (sampler(&daemon).await, sampler(&daemon).await);
        stop(&mut hook, None).await;
        assert_eq!(read(&mut hook, None).await.0, 0, "there is nothing yet");
        start(&mut other, two, 4).await;
        let mut until = 0;
        for step in 0..3 {
            start(&mut hook, one, 4).await;
            tokio::time::sleep(Duration::from_millis(400)).await;
            assert_eq!(read(&mut hook, None).await.0, 0, "nothing is read while it runs");
            stop(&mut hook, None).await;
            let (bytes, data) = read(&mut hook, None).await;
            assert_eq!(processes(&data), BTreeSet::from([one]), "step {step}");
            assert_eq!(read(&mut hook, None).await.0, bytes, "an answer that was lost can be asked for again");
            assert!(data.process[0].timestamp >= until, "a step has its own samples");
            until = data.process[data.process.len() - 1].timestamp;
            assert!(!data.rapl.is_empty(), "step {step}");
            let readings = data.rapl.iter().flat_map(|sample| &sample.reading);
            let missing = readings.filter(|reading| reading.package.is_none() || reading.dram.is_none()).count();
            assert_eq!(missing, 0, "clients take a missing field for zero");
        }
        stop(&mut hook, None).await;
        assert_eq!(read(&mut hook, None).await.0, 0, "the last step is not read twice");
        assert!(read(&mut hook, one).await.0 > 0, "unless it is named");
        assert_eq!(read(&mut other, None).await.0, 0, "the other was not stopped");
        // Each call of the command-line client has its own connection.
        let mut third = sampler(&daemon).await;
        stop(&mut third, None).await;
        let mut fourth = sampler(&daemon).await;
        assert_eq!(processes(&read(&mut fourth, None).await.1), BTreeSet::from([two]));
        stop(&mut fourth, None).await;
        stop(&mut fourth, None).await;
        let _ = read(&mut fourth, None).await;
    });
}

#[test]
fn recordings_that_are_left_alone_end_and_are_forgotten() {
    let daemon = Daemon::start(|config, _| {
        serve(config, false);
        config.limits.recording_kept_for = Duration::from_secs(4);
        config.limits.recording_unattended_for = Duration::from_secs(1);
    });
    let (mut ends, stays) = (Busy::start(), Busy::start());
    let [ending, staying] = [&ends, &stays].map(|process| process.0.id());
    runtime().block_on(async {
        let mut sampler = sampler(&daemon).await;
        // The process of one of them ends, the client of the other goes away.
        start(&mut sampler, ending, 4).await;
        let mut gone = self::sampler(&daemon).await;
        start(&mut gone, staying, 4).await;
        drop(gone);
        tokio::time::sleep(Duration::from_millis(300)).await;
        ends.0.kill().and_then(|()| ends.0.wait()).unwrap();
        for pid in [ending, staying] {
            let mut wait = Duration::from_millis(1500);
            // Each Read keeps it alive, so the waits grow.
            loop {
                tokio::time::sleep(wait).await;
                match sampler.read(ReadRequest { pid: Some(pid.into()) }).await {
                    Ok(answer) if answer.get_ref().data.as_ref().unwrap().is_empty() => {}
                    Ok(_) => break,
                    // It ended and was forgotten since the last look.
                    Err(status) if status.code() == Code::NotFound && pid == staying => break,
                    Err(status) => panic!("{status}"),
                }
                assert!(wait < Duration::from_secs(100), "it goes on");
                wait *= 2;
            }
        }
        let begin = std::time::Instant::now();
        for pid in [ending, staying] {
            while sampler.read(ReadRequest { pid: Some(pid.into()) }).await.is_ok() {
                assert!(begin.elapsed() < common::TIMEOUT, "it is kept for ever");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    });
}

#[test]
fn finished_recordings_do_not_prevent_another_start() {
    let daemon = daemon(false);
    let sleep = || Killed(Command::new("sleep").arg("600").spawn().unwrap());
    let many: Vec<Killed> = (0..34).map(|_| sleep()).collect();
    runtime().block_on(async {
        let mut sampler = sampler(&daemon).await;
        for process in &many {
            start(&mut sampler, process.0.id(), 100).await;
            stop(&mut sampler, None).await;
        }
        let last = many[33].0.id();
        assert_eq!(processes(&read(&mut sampler, None).await.1), BTreeSet::from([last]));
        let first = sampler.read(ReadRequest { pid: Some(many[0].0.id().into()) }).await.unwrap_err();
        assert_eq!(first.code(), Code::NotFound, "the oldest is dropped");
    });
}

/// The power of a GPU is what its driver shows, and not what two looks at a counter that moves in steps seem to say.
#[test]
fn the_power_of_a_gpu_is_what_its_driver_shows() {
    let folder = tempfile::tempdir().unwrap();
    let gpu = fake_nvml::Gpu { power: fake_nvml::Power::Constant { watts: 100.0 }, ..fake_nvml::Gpu::default() };
    let script = fake_nvml::Script { gpu: vec![gpu], ..fake_nvml::Script::default() };
    let library = fake_nvml::install(folder.path(), &script).unwrap();
    let roots = Roots { nvml: Some(library), ..Roots::default() };
    let found = jouletree_meter::nvml::discover(&roots).unwrap();
    let sensors = found.into_iter().filter_map(|found| found.sensor.ok()).collect();
    let daemon = Daemon::start_with(sensors, roots, |config, _| serve(config, false));
    let busy = Busy::start();
    runtime().block_on(async {
        let mut sampler = sampler(&daemon).await;
        // The first look may take the driver some time.
        let mut data = DataSet::default();
        for _ in 0..30 {
            start(&mut sampler, busy.0.id(), 10).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            stop(&mut sampler, None).await;
            data = read(&mut sampler, None).await.1;
            if data.nvml.len() > 10 {
                break;
            }
        }
        assert!(data.nvml.len() > 10, "{}", data.nvml.len());
        assert!(data.nvml.is_sorted_by_key(|sample| sample.timestamp));
        let readings: Vec<_> = data.nvml.iter().flat_map(|sample| &sample.reading).collect();
        assert_eq!(readings.len(), data.nvml.len());
        let power = |reading: &&NvmlReading| (reading.index, reading.power_usage);
        assert!(readings.iter().all(|reading| power(reading) == (0, Some(100_000))), "{readings:?}");
        assert!(!readings[0].bus_id.is_empty());
    });
}

/// A Python that has gRPC, in an environment of its own.
fn python() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("smaragdine-venv");
    let python = folder.join("bin/python");
    let has_all = |python: &Path| {
        let check = Command::new(python).args(["-c", "import grpc, grpc_tools.protoc"]).output();
        check.is_ok_and(|output| output.status.success())
    };
    if !has_all(&python) {
        Command::new("python3").args(["-m", "venv"]).arg(&folder).output().ok()?;
        let packages = ["-m", "pip", "install", "--quiet", "grpcio", "grpcio-tools"];
        Command::new(&python).args(packages).output().ok()?;
    }
    has_all(&python).then_some(python)
}

#[test]
fn a_client_in_python_works() {
    let Some(python) = python() else {
        eprintln!("SKIP: grpcio and grpcio-tools cannot be installed, or there is no python3");
        return;
    };
    let mut daemon = daemon(false);
    let busy = Busy::start();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/smaragdine/client.py");
    let output = Command::new(python)
        .arg(script)
        .arg(daemon.ways.smaragdine.unwrap().to_string())
        .args([busy.0.id().to_string().as_str(), "4", "2"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let number = |name: &str| -> i64 {
        let rest = said.split(&format!("\"{name}\": ")).nth(1).unwrap_or_else(|| panic!("no {name} in {said}"));
        rest.split([',', '}', ']']).next().unwrap().trim_start_matches('[').parse().unwrap()
    };
    assert_eq!(number("running_bytes"), 0);
    assert!(number("bytes") > 0 && number("bytes") == number("again_bytes"));
    assert_eq!((number("after_bytes"), number("missing")), (0, 0));
    assert!(number("rapl") > 0 && number("cpu") > 0 && number("process") > 0);
    assert_eq!(number("tasks"), i64::from(busy.0.id()));
    assert!(number("now") < 60_000, "time stamps are milliseconds since 1970");
    // 60 W; times are whole milliseconds.
    let (joules, seconds) = (number("microjoules") as f64 * 1e-6, number("milliseconds") as f64 * 1e-3);
    let bound = daemon.bound() + 60.0 * 2e-3;
    assert!((joules - 60.0 * seconds).abs() < bound, "{joules} J in {seconds} s");
}
