//! Passes over processes of our own making.

use std::fs;
use std::path::Path;

use super::*;
use crate::share::CpuTicks;

/// A process as the kernel would show it.
fn process(root: &Path, pid: u32, name: &str, ticks: u64, cpu: u32) {
    let directory = root.join(pid.to_string());
    fs::create_dir_all(&directory).unwrap();
    let stat = format!(
        "{pid} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 3 0 77 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0\n"
    );
    fs::write(directory.join("stat"), stat).unwrap();
    fs::write(directory.join("cmdline"), format!("{name}\0--train\0a\x1b[31mb\0")).unwrap();
}

fn machine(root: &Path, busy: u64, idle: u64) {
    fs::write(root.join("stat"), format!("cpu  0 0 0 0\ncpu0 {busy} 0 0 {idle} 0 0 0 0\n")).unwrap();
}

fn roots(root: &Path) -> Roots {
    Roots { sys: root.join("sys"), proc: root.to_owned(), nvml: None }
}

#[test]
fn each_pass_tells_what_ran_since_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let (root, tick) = (folder.path(), i64::try_from(tick_of_the_system()).unwrap());
    machine(root, 1000, 1000);
    process(root, 4000, "python", 500, 0);
    process(root, 4001, "gone", 5, 0);
    let mut census = Census::open(&roots(root)).unwrap();

    machine(root, 1060, 1040);
    process(root, 4000, "python", 530, 0);
    process(root, 4002, "new", 10, 0);
    fs::remove_dir_all(root.join("4001")).unwrap();
    let pass = census.pass().unwrap();

    let ran: Vec<(u32, i64)> = pass.processes.iter().map(|listed| (listed.pid, listed.ran.0 / tick)).collect();
    assert_eq!(ran, [(4000, 30), (4002, 10)]);
    assert_eq!(pass.processes[0].command, "python --train a [31mb", "no control characters");
    let [share] = pass.shares.as_slice() else { panic!("{:?}", pass.shares) };
    // 60 of 100 ticks were busy, 40 of them are those of processes that are listed.
    assert_eq!((share.ours, share.others, share.idle), (0.4, 0.2, 0.4));
    assert!(pass.from < pass.at && (share.from, share.at) == (pass.from, pass.at));
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    machine(root, 1000, 1000);
    process(root, 4000, "old", 500, 0);
    let mut census = Census::open(&roots(root)).unwrap();
    let stat = fs::read_to_string(root.join("4000/stat")).unwrap();
    fs::write(root.join("4000/stat"), stat.replace(" 77 ", " 99 ").replace(" 500 ", " 3 ")).unwrap();
    machine(root, 1010, 1010);
    let pass = census.pass().unwrap();
    assert_eq!(pass.processes[0].ran.0, 3 * i64::try_from(tick_of_the_system()).unwrap());
}

#[test]
fn shares_make_one_whatever_processes_claim() {
    for (busy, idle, ran, own) in [(10, 90, 5.0, 1.0), (10, 90, 20.0, 0.0), (0, 5, 1.0, 1.0), (7, 0, 0.0, 9.0)] {
        let since = SocketTicks { ticks: CpuTicks { busy, idle, stolen: 3 }, cpus: 1 };
        let [ours, others, idle, monitor] = share(&since, ran, own).unwrap();
        assert!((ours + others + idle - 1.0).abs() < 1e-12);
        assert!(monitor <= others && ours >= 0.0 && others >= 0.0);
    }
    assert_eq!(share(&SocketTicks::default(), 1.0, 0.0), None);
}

#[test]
fn this_machine_lists_its_processes_without_the_monitor() {
    let mut census = Census::open(&Roots::default()).unwrap();
    let pass = census.pass().unwrap();
    let parent = std::os::unix::process::parent_id();
    assert!(pass.processes.iter().any(|listed| listed.pid == parent));
    assert!(pass.processes.iter().all(|listed| listed.pid != std::process::id()));
}
