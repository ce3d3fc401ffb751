//! A process that is watched: it says when it is ready, works on request, and says what it used.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jouletree_model::Nanos;
use rustix::time::{ClockId, clock_gettime};

const TASK: &str = "JOULETREE_TEST_WORKER";

/// The worker, seen from the test; it is ended when this is dropped.
pub struct Worker {
    child: Child,
    words: Receiver<String>,
}

impl Worker {
    /// Starts it; it has done its preparations when this returns.
    pub fn start(task: &str) -> Worker {
        let mut child = program(task).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, words) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The test harness talks, too.
                if let Some((_, word)) = line.split_once("worker: ") {
                    let _ = send.send(word.to_owned());
                }
            }
        });
        assert_eq!(words.recv_timeout(Duration::from_secs(20)).unwrap(), "ready");
        Worker { child, words }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// The seconds of CPU time that it used, once it has done its work.
    pub fn said(&self) -> Option<f64> {
        self.words.try_recv().ok().map(|word| word.parse().unwrap())
    }

    /// Ends it, and waits until it has ended without burying it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        let stat = format!("/proc/{}/stat", self.child.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "share::work", "--nocapture", "--test-threads=1"]).env(TASK, task);
    command
}

/// The work itself, in the process that was started for it; nothing in any other.
pub fn run() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (task, amount) = task.split_once(' ').unwrap();
    let amount: u64 = amount.parse().unwrap();
    if task == "once" {
        return burn(Duration::from_millis(amount));
    }
    say("ready");
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).unwrap();
    let before = used();
    match task {
        "burn" => burn(Duration::from_millis(amount)),
        "children" => (0..amount).for_each(|_| {
            program("once 10").stdout(Stdio::null()).status().unwrap();
        }),
        "churn" => {
            let until = Instant::now() + Duration::from_millis(amount);
            while Instant::now() < until {
                std::thread::spawn(|| burn(Duration::from_micros(300))).join().unwrap();
                std::thread::sleep(Duration::from_micros(500));
            }
        }
        _ => {}
    }
    say(&(used() - before).to_string());
    std::io::stdin().read_line(&mut word).unwrap();
}

fn say(word: &str) {
    println!("\nworker: {word}");
}

fn burn(time: Duration) {
    let until = thread_time().0 + i64::try_from(time.as_nanos()).unwrap();
    while thread_time().0 < until {}
}

/// The CPU time of the calling thread.
fn thread_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// The CPU time of this process and of the children that it buried, in seconds.
fn used() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[13..15].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9 + ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}
