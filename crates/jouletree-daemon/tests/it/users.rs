//! Other users of the machine: they see their own processes, and the rest slowly or not at all. Needs root, to become
//! another user.

use crate::common;

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Busy, Daemon, MS};
use jouletree_daemon::SmaragdineConfig;
use jouletree_daemon::client::{Address, Client};
use jouletree_daemon::policy::Foreign;
use jouletree_daemon::wire::smaragdine::sampler_client::SamplerClient;
use jouletree_daemon::wire::smaragdine::{ReadRequest, StartRequest, StopRequest};
use jouletree_meter::station::Watch;
use tonic::transport::Channel;

/// A program that is being written cannot be run, and a process that another test starts meanwhile still writes it for
/// an instant: one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Another user of this machine: this test's own program, run again as `nobody`.
fn as_nobody(daemon: &Daemon, pid: u32) -> Option<String> {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        eprintln!("SKIP: only root can become another user");
        return None;
    }
    let this = std::env::current_exe().unwrap();
    // Where programs are built need not be open to all.
    let program = daemon.folder.path().join("as-nobody");
    fs::copy(this, &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["--exact", "another_user", "--ignored", "--nocapture"])
        .env("JOULETREE_TEST_SOCKET", &daemon.ways.socket)
        .env("JOULETREE_TEST_PID", pid.to_string())
        .env("JOULETREE_TEST_SMARAGDINE", daemon.ways.smaragdine.map(|at| at.to_string()).unwrap_or_default())
        .current_dir(daemon.folder.path())
        .output();
    match output {
        Ok(output) => Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()),
        Err(error) => {
            eprintln!("SKIP: setpriv cannot be run: {error}");
            None
        }
    }
}

#[test]
#[ignore = "run by other tests, as another user"]
fn another_user() {
    let (Ok(socket), Ok(pid)) = (std::env::var("JOULETREE_TEST_SOCKET"), std::env::var("JOULETREE_TEST_PID"))
    else {
        return;
    };
    if let Some(address) = std::env::var("JOULETREE_TEST_SMARAGDINE").ok().filter(|address| !address.is_empty()) {
        return println!("{}", runtime().block_on(stop_and_read(&address, pid.parse().ok())));
    }
    let client = match Client::connect(&Address::Unix(socket.into())) {
        Ok(client) => client,
        Err(error) => return println!("connect: {error}"),
    };
    let own = Busy::start();
    let targets = [("own", Some(own.0.id())), ("foreign", pid.parse().ok()), ("machine", None)];
    for (name, pid) in targets {
        match client.watch(Watch { pid, period: MS, grid: None }) {
            Ok(session) => println!("{name}: {}", session.period().0),
            Err(error) => println!("{name}: {error}"),
        }
    }
}

#[test]
fn another_user_sees_its_own_and_the_rest_slowly() {
    let _alone = alone();
    let daemon = Daemon::start(|config, _| config.socket.mode = 0o666);
    let busy = Busy::start();
    let Some(said) = as_nobody(&daemon, busy.0.id()) else { return };
    assert!(said.contains("own: 1000000\n"), "{said}");
    assert!(said.contains("foreign: 10000000\n"), "{said}");
    assert!(said.contains("machine: 10000000\n"), "{said}");
}

#[test]
fn another_user_is_refused_where_that_is_wanted() {
    let _alone = alone();
    let daemon = Daemon::start(|config, _| {
        config.socket.mode = 0o666;
        config.foreign = Foreign::Refuse;
    });
    let busy = Busy::start();
    let Some(said) = as_nobody(&daemon, busy.0.id()) else { return };
    assert!(said.contains("own: 1000000\n"), "{said}");
    assert!(said.contains("foreign: the daemon refuses: the process belongs to another user"), "{said}");
}

#[test]
fn who_is_not_in_the_group_is_told_how_to_get_in() {
    let _alone = alone();
    let daemon = Daemon::start(|_, _| {});
    let Some(said) = as_nobody(&daemon, 1) else { return };
    assert!(said.contains("connect: you may not use"), "{said}");
    assert!(said.contains("usermod -aG"), "{said}");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn sampler(address: &str) -> SamplerClient<Channel> {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    SamplerClient::new(channel)
}

/// What a client gets of a recording that another user has begun.
async fn stop_and_read(address: &str, pid: Option<u64>) -> String {
    let mut sampler = sampler(address).await;
    let mut said = String::new();
    for pid in [None, pid] {
        sampler.stop(StopRequest { pid }).await.unwrap();
        let read = sampler.read(ReadRequest { pid }).await;
        let bytes = read.map(|answer| answer.into_inner().data.unwrap_or_default().len());
        said += &format!("{:?}; ", bytes.map_err(|status| status.code()));
    }
    said
}

#[test]
fn another_user_neither_stops_nor_reads_a_smaragdine_recording() {
    let _alone = alone();
    let daemon = Daemon::start(|config, _| {
        let address = "127.0.0.1:0".parse().unwrap();
        config.smaragdine = Some(SmaragdineConfig { address, insecure: false, fast: false });
    });
    let busy = Busy::start();
    let pid = Some(u64::from(busy.0.id()));
    runtime().block_on(async {
        let mut ours = sampler(&daemon.ways.smaragdine.unwrap().to_string()).await;
        ours.start(StartRequest { pid, period: None }).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let Some(said) = as_nobody(&daemon, busy.0.id()) else { return };
        assert!(said.contains("Ok(0); Err(NotFound); "), "{said}");
        let bytes = ours.read(ReadRequest { pid: None }).await.unwrap().into_inner().data.unwrap().len();
        assert_eq!(bytes, 0, "it still runs");
        ours.stop(StopRequest { pid: None }).await.unwrap();
        let Some(said) = as_nobody(&daemon, busy.0.id()) else { return };
        assert!(said.contains("Ok(0); Err(NotFound); "), "{said}");
        let bytes = ours.read(ReadRequest { pid: None }).await.unwrap().into_inner().data.unwrap().len();
        assert!(bytes > 0);
    });
}
