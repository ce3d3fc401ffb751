//! The published Smaragdine protocol: recordings arrive whole, whatever their size, and clients are kept apart.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Busy, Daemon};
use jouletree_daemon::SmaragdineConfig;
use jouletree_daemon::wire::smaragdine::sampler_client::SamplerClient;
use jouletree_daemon::wire::smaragdine::{DataSet, ReadRequest, StartRequest, StopRequest};
use prost::Message;
use tonic::Code;
use tonic::transport::Channel;

const MANY: usize = 256;

fn daemon(fast: bool) -> Daemon {
    Daemon::start(|config, _| {
        let address = "127.0.0.1:0".parse().unwrap();
        config.smaragdine = Some(SmaragdineConfig { address, insecure: false, fast });
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn sampler(daemon: &Daemon) -> SamplerClient<Channel> {
    let address = format!("http://{}", daemon.ways.smaragdine.unwrap());
    let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
    SamplerClient::new(channel).max_decoding_message_size(usize::MAX)
}

async fn start(sampler: &mut SamplerClient<Channel>, pid: u32, period: u64) {
    sampler.start(StartRequest { pid: Some(pid.into()), period: Some(period) }).await.unwrap();
}

async fn stop(sampler: &mut SamplerClient<Channel>, pid: u32) {
    sampler.stop(StopRequest { pid: Some(pid.into()) }).await.unwrap();
}

async fn read(sampler: &mut SamplerClient<Channel>, pid: u32) -> (usize, DataSet) {
    let response = sampler.read(ReadRequest { pid: Some(pid.into()) }).await.unwrap();
    assert!(response.metadata().get("jouletree-samples-left-out").is_none());
    let data = response.into_inner().data.unwrap();
    (data.len(), DataSet::decode(data).unwrap())
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
fn a_recording_larger_than_four_megabytes_arrives_whole() {
    let daemon = daemon(true);
    let program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "many_threads", "--ignored"])
        .stdout(Stdio::null())
        .spawn();
    let watched = Killed(program.unwrap());
    let pid = watched.0.id();
    let tasks = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    common::until("the threads", || tasks() > MANY);
    runtime().block_on(async {
        let mut sampler = sampler(&daemon).await;
        let (mut bytes, mut data) = Default::default();
        // A busy machine records less in a second.
        for seconds in [8, 16, 32, 64] {
            start(&mut sampler, pid, 1).await;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            assert_eq!(read(&mut sampler, pid).await.0, 0, "nothing is read while it runs");
            stop(&mut sampler, pid).await;
            (bytes, data) = read(&mut sampler, pid).await;
            if bytes > 4 << 20 {
                break;
            }
        }
        assert!(bytes > 4 << 20, "{bytes} bytes");
        assert!(data.process.iter().all(|sample| sample.reading.len() > MANY));
        assert!(data.process.is_sorted_by_key(|sample| sample.timestamp));
        assert!(data.rapl.is_sorted_by_key(|sample| sample.timestamp) && !data.rapl.is_empty());
        let again = read(&mut sampler, pid).await;
        assert_eq!((again.0, again.1), (bytes, data), "an answer that was lost can be asked for again");
    });
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
            let tasks = data.process.iter().flat_map(|sample| &sample.reading).map(|task| task.task_id);
            assert!(!data.process.is_empty() && tasks.into_iter().all(|task| task == pid));
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
        let nobody = sampler.start(StartRequest { pid: Some(u64::from(u32::MAX)), period: None }).await;
        assert_eq!(nobody.unwrap_err().code(), Code::NotFound);
        let wrong = sampler.start(StartRequest { pid: Some(u64::MAX), period: None }).await;
        assert_eq!(wrong.unwrap_err().code(), Code::InvalidArgument);
        sampler.stop(StopRequest { pid: Some(1) }).await.unwrap();
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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smaragdine/client.py");
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
    assert!(number("rapl") > 0 && number("cpu") > 0 && number("process") > 0);
    assert_eq!(number("tasks"), i64::from(busy.0.id()));
    assert!(number("now") < 60_000, "time stamps are milliseconds since 1970");
    // 60 W; times are whole milliseconds.
    let (joules, seconds) = (number("microjoules") as f64 * 1e-6, number("milliseconds") as f64 * 1e-3);
    let bound = daemon.bound() + 60.0 * 2e-3;
    assert!((joules - 60.0 * seconds).abs() < bound, "{joules} J in {seconds} s");
}
