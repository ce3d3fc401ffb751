//! What is recorded, watched from outside while it goes on: by a real Prometheus server, by a collector that decodes what
//! it is sent, and by plain scrapes. A fake plays the hardware; no energy here comes from it.

use crate::collector;
use crate::common;
use test_support::prometheus;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use collector::Collector;
use common::*;
use fake_powercap::{Fake, Layout, Player};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{Metric, Sum};
use prometheus::Sample;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(90);

/// A machine with one socket at 60 W and memory at 8 W.
struct Machine {
    folder: TempDir,
    _player: Player,
}

impl Machine {
    fn playing() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let script = "package-0: 60W\npackage-0/dram: 8W".parse().unwrap();
        let fake = Fake::new(folder.path(), Layout::OneSocket, &script).unwrap();
        Machine { folder, _player: Player::start(fake) }
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = jouletree();
        command.arg(verb).arg("--sys-root").arg(self.folder.path());
        command.arg("--nvml-library").arg(self.folder.path().join("libnvidia-ml.so.1"));
        // What the machine has set up for its network is not meant for a collector in the test.
        for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY"] {
            command.env_remove(variable);
        }
        command.env_remove("OTEL_EXPORTER_OTLP_HEADERS");
        command
    }

    /// `jouletree record` to the run of this machine.
    fn record(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("record");
        command.arg("-o").arg(self.run()).args(arguments);
        command
    }

    /// What `jouletree show` says of the run.
    fn shown(&self) -> Value {
        ended(jouletree().arg("show").arg(self.run()).args(["--format", "json"]).output().unwrap()).json()
    }
}

/// The balance of a whole device.
fn balance<'a>(shown: &'a Value, device: &str) -> &'a Value {
    let mut rows = list(shown, "devices").iter();
    let found = rows.find(|row| row["device"] == device && row["domain"].is_null());
    found.unwrap_or_else(|| panic!("no {device} in {shown}"))
}

/// A program that runs, with what it says; it is ended with the test.
struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    fn start(mut command: Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, heard) = (BufReader::new(child.stderr.take().unwrap()).lines(), said.clone());
        let reader = std::thread::spawn(move || {
            for line in lines {
                let line = line.unwrap();
                heard.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Running { child, said, reader: Some(reader) }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Where it answers scrapes, as soon as it says so.
    fn address(&mut self) -> SocketAddr {
        let timeout = Instant::now() + PATIENCE;
        loop {
            let said = self.said();
            if let Some((_, rest)) = said.split_once("at http://") {
                return rest.split_once("/metrics").expect("a path").0.parse().expect("an address");
            }
            assert!(Instant::now() < timeout, "it does not listen: {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its exit status and all that it said.
    fn end(mut self) -> (i32, String) {
        let timeout = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < timeout, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.reader.take().unwrap().join().unwrap();
        (self.child.wait().unwrap().code().unwrap(), self.said())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The samples of a scrape; `None` as long as counting has not begun or after it has ended.
fn scrape(address: SocketAddr) -> Option<Vec<Sample>> {
    let page = prometheus::get(address, "/metrics", "text/plain").ok()?;
    (!page.starts_with("counting")).then(|| prometheus::samples(&page))
}

#[track_caller]
fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let is_it = |sample: &&Sample| {
        sample.name == name && labels.iter().all(|(name, value)| sample.label(name) == Some(value))
    };
    samples.iter().find(is_it).unwrap_or_else(|| panic!("no {name} {labels:?} in {samples:?}")).value
}

/// The counters of a page, each under its whole name.
fn counters(samples: &[Sample]) -> Vec<(String, f64)> {
    let counters = samples.iter().filter(|sample| sample.name.ends_with("_total"));
    counters.map(|sample| (format!("{}{{{}}}", sample.name, sample.labels), sample.value)).collect()
}

/// The parts of every device make its counter.
#[track_caller]
fn assert_conserved(samples: &[Sample]) {
    for device in ["host/cpu:0", "host/dram:0"] {
        let whole = value(samples, "jouletree_energy_joules_total", &[("device", device)]);
        let part = |part| value(samples, "jouletree_share_joules_total", &[("device", device), ("part", part)]);
        let sum: f64 = ["ours", "others", "idle", "unknown"].map(part).iter().sum();
        assert_close(sum, whole, 1e-9, device);
    }
}

#[test]
fn scrapes_grow_are_conserved_and_end_as_the_report() {
    let machine = Machine::playing();
    let arguments = [
        "--prometheus",
        ":0",
        "--prometheus-aliases",
        "codecarbon",
        "--prometheus-linger",
        "60",
        "--",
        "sh",
        "-c",
    ];
    let program = "end=$(($(date +%s) + 5)); while [ $(date +%s) -lt $end ]; do :; done; exit 7";
    let mut running = Running::start(machine.record(&[&arguments[..], &[program]].concat()));
    let address = running.address();
    assert!(address.ip().is_loopback());
    let (mut pages, mut before): (Vec<Vec<Sample>>, Vec<(String, f64)>) = (Vec::new(), Vec::new());
    while running.child.try_wait().unwrap().is_none() {
        if let Some(samples) = scrape(address) {
            assert_conserved(&samples);
            for (name, was) in &before {
                let is = counters(&samples).into_iter().find(|(other, _)| other == name);
                assert!(is.as_ref().is_some_and(|(_, is)| is >= was), "{name} went from {was} to {is:?}");
            }
            before = counters(&samples);
            pages.push(samples);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, said) = running.end();
    assert_eq!(code, 7, "{said}");
    let energies: Vec<f64> = pages
        .iter()
        .map(|page| value(page, "jouletree_energy_joules_total", &[("device", "host/cpu:0")]))
        .collect();
    let changes = energies.windows(2).filter(|pair| pair[0] != pair[1]).count();
    // The last scrape is what let it end, and says what the report does.
    let (last, shown) = (pages.last().unwrap(), machine.shown());
    let most = number(&shown, "duration_s") + 2.0;
    assert!(changes >= 2 && changes as f64 <= most, "nothing is new more than once a second: {energies:?}");
    for (device, watts) in [("host/cpu:0", 60.0), ("host/dram:0", 8.0)] {
        let row = balance(&shown, device);
        let scraped = value(last, "jouletree_energy_joules_total", &[("device", device), ("kind", "measured")]);
        assert_close(scraped, number(row, "energy_j"), 1e-9, device);
        for part in ["ours", "others", "idle", "unknown"] {
            let scraped = value(last, "jouletree_share_joules_total", &[("device", device), ("part", part)]);
            let answer = number(row, &format!("{part}_j"));
            assert!(
                (scraped - answer).abs() <= 1e-9 * number(row, "energy_j"),
                "{device} {part}: {scraped} {answer}"
            );
        }
        // What the script plays.
        let known = value(last, "jouletree_known_seconds_total", &[("device", device)]);
        assert!(known > 3.0 && (scraped / known / watts - 1.0).abs() < 0.02, "{scraped} J in {known} s");
        let power = value(last, "jouletree_power_watts", &[("device", device)]);
        assert!((power / watts - 1.0).abs() < 0.1, "{power} W");
    }
    let energy = |class: &str| value(last, "jouletree_energy_joules_total", &[("class", class)]);
    assert_close(value(last, "codecarbon_cpu_energy", &[]) * 3.6e6, energy("cpu"), 1e-12, "kWh of the processor");
    assert_close(value(last, "codecarbon_ram_energy", &[]) * 3.6e6, energy("dram"), 1e-12, "kWh of the memory");
    let consumed = energy("cpu") + energy("dram");
    assert_close(value(last, "codecarbon_energy_consumed", &[]) * 3.6e6, consumed, 1e-12, "kWh of all");
    // The location is not set.
    assert!(!last.iter().any(|sample| sample.name.contains("carbon_grams") || sample.name.contains("emissions")));
    assert!(value(last, "jouletree_monitor_cpu_seconds_total", &[]) > 0.0);
    let began = value(last, "jouletree_start_time_seconds", &[]);
    assert!((began - number(&shown, "began_ns") * 1e-9).abs() < 5.0, "{began}");
}

/// A Prometheus server that scrapes one target every second.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(programs: &Path, folder: &Path, target: SocketAddr) -> Server {
        // Between this and the server's own start the port could be taken, hardly ever.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n- job_name: jouletree\n  \
             static_configs: [{{targets: ['{target}']}}]\n"
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let child = Command::new(programs.join("prometheus"))
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Server { child, address }
    }

    /// The answer to a query, or why there is none.
    fn query(&self, query: &str) -> Option<Value> {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = prometheus::get(self.address, &format!("/api/v1/query?query={escaped}"), "*/*").ok()?;
        serde_json::from_str(&answer).ok()
    }

    /// The values of a query, by one of their labels.
    fn values(&self, query: &str, label: &str) -> Vec<(String, f64)> {
        let answer = self.query(query).unwrap_or_else(|| panic!("no answer to {query}"));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let rows = answer["data"]["result"].as_array().unwrap();
        let value = |row: &Value| row["value"][1].as_str().unwrap().parse().unwrap();
        rows.iter().map(|row| (text(&row["metric"], label).to_owned(), value(row))).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_prometheus_server_has_the_joules_of_the_report() {
    let Some(programs) = prometheus::programs() else { return };
    let machine = Machine::playing();
    let mut running =
        Running::start(machine.record(&["--prometheus", ":0", "--prometheus-linger", "60", "--", "sleep", "12"]));
    let address = running.address();
    let server = Server::start(&programs, machine.folder.path(), address);
    // The plain page, too, is as Prometheus wants it.
    while scrape(address)
        .is_none_or(|samples| !samples.iter().any(|sample| sample.name == "jouletree_power_watts"))
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    let page = prometheus::get(address, "/metrics", "text/plain").unwrap();
    assert_eq!(prometheus::complaints(&programs, &page), "");
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said}");
    let shown = machine.shown();
    // What was scraped is asked for a moment later.
    let timeout = Instant::now() + PATIENCE;
    let energy = "last_over_time(jouletree_energy_joules_total[1h])";
    loop {
        let seen = server.values(energy, "device");
        let is_all = list(&shown, "devices").iter().filter(|row| row["domain"].is_null()).all(|row| {
            let (device, energy) = (text(row, "device"), number(row, "energy_j"));
            seen.iter().any(|(seen, joules)| seen == device && (joules / energy - 1.0).abs() < 1e-9)
        });
        if is_all {
            break;
        }
        assert!(Instant::now() < timeout, "{seen:?} is not what is reported: {shown}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let sums = "sum by (device) (last_over_time(jouletree_share_joules_total[1h]))";
    for (device, sum) in server.values(sums, "device") {
        assert_close(
            sum,
            number(balance(&shown, &device), "energy_j"),
            1e-9,
            "the parts, as Prometheus adds them up",
        );
    }
    // As a counter it gives the power that is played. Figures are new once in a second and scraped as often, so that four
    // seconds may show five.
    let rates = server.values("max_over_time(rate(jouletree_energy_joules_total[5s])[1h:1s])", "device");
    let cpu = rates.iter().find(|(device, _)| device == "host/cpu:0").unwrap().1;
    assert!((cpu / 60.0 - 1.0).abs() < 0.3, "{rates:?}");
    for query in prometheus::dashboard_queries() {
        let answer = server.query(&query).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
    }
}

fn sum(metric: &Metric) -> &Sum {
    match &metric.data {
        Some(Data::Sum(sum)) => sum,
        data => panic!("{}: {data:?}", metric.name),
    }
}

/// The joules of a device in a message.
fn joules(metric: &Metric, device: &str) -> f64 {
    let is_it = |attributes: &str| attributes.contains(&format!("\"{device}\""));
    let mut points = sum(metric).data_points.iter();
    let point = points.find(|point| is_it(&format!("{:?}", point.attributes))).unwrap();
    match point.value {
        Some(Number::AsDouble(value)) => value,
        value => panic!("{value:?}"),
    }
}

#[test]
fn a_collector_is_sent_cumulative_sums_and_at_the_end_those_of_the_report() {
    let machine = Machine::playing();
    let collector = Collector::answering(&["200 OK"]);
    let url = format!("http://{}", collector.address);
    let mut command =
        machine.record(&["--otlp", &url, "--otlp-interval", "0.5", "--", "sh", "-c", "sleep 3; exit 7"]);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-tenant=7");
    let ran = ended(command.output().unwrap());
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(!ran.stderr.contains("collector") && !ran.stderr.contains("metrics"), "{}", ran.stderr);
    let (posts, shown) = (collector.posts(), machine.shown());
    assert!(posts.len() >= 4, "{} posts", posts.len());
    let mut before = 0.0;
    for post in &posts {
        assert!(post.head.starts_with("post /v1/metrics http/1.1\r\n"), "{}", post.head);
        for header in ["content-type: application/x-protobuf", "authorization: bearer abc", "x-tenant: 7"] {
            assert!(post.head.contains(header), "{header} in {}", post.head);
        }
        let resource = format!("{:?}", post.body.resource_metrics[0].resource);
        assert!(resource.contains("service.name") && resource.contains("host.name"), "{resource}");
        let metric = post.metric("jouletree.energy");
        assert!(
            metric.unit == "J" && sum(metric).is_monotonic && sum(metric).aggregation_temporality == 2,
            "{metric:?}"
        );
        let point = &sum(metric).data_points[0];
        assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano <= point.time_unix_nano);
        let energy = joules(metric, "host/cpu:0");
        assert!(energy >= before, "{energy} after {before}");
        before = energy;
    }
    let last = posts.last().unwrap();
    for device in ["host/cpu:0", "host/dram:0"] {
        let answer = number(balance(&shown, device), "energy_j");
        assert_close(joules(last.metric("jouletree.energy"), device), answer, 1e-9, device);
    }
}

#[test]
fn a_collector_that_fails_is_told_of_once_and_harms_nobody() {
    let machine = Machine::playing();
    let collector = Collector::answering(&["503 Service Unavailable", "429 Too Many Requests", "200 OK"]);
    let url = format!("http://{}/", collector.address);
    let ran =
        ended(machine.record(&["--otlp", &url, "--otlp-interval", "0.2", "--", "sleep", "3"]).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("do not reach").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("answers 503") && !ran.stderr.contains("answers 429"), "{}", ran.stderr);
    let posts = collector.posts();
    // Patience grows: 0.2 s, 0.4 s, 0.8 s, and then again every 0.2 s.
    assert!((4..=12).contains(&posts.len()), "{} posts", posts.len());
    let answer = number(balance(&machine.shown(), "host/cpu:0"), "energy_j");
    assert_close(joules(posts.last().unwrap().metric("jouletree.energy"), "host/cpu:0"), answer, 1e-9, "the last");

    // There is no server at all.
    let machine = Machine::playing();
    let unserved = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://user:secret@{unserved}/v1/metrics");
    let ran =
        ended(machine.record(&["--otlp", &url, "--otlp-interval", "0.2", "--", "sleep", "1"]).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("did not reach").count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    machine.shown();
}

#[test]
fn a_collector_that_says_nothing_is_not_waited_for_long() {
    let machine = Machine::playing();
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let began = Instant::now();
    let ran =
        ended(machine.record(&["--otlp", &url, "--otlp-interval", "0.2", "--", "sleep", "1"]).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("reach").count(), 1, "{}", ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    machine.shown();
}

#[test]
fn a_run_is_watched_as_a_recording_is() {
    let machine = Machine::playing();
    let mut command = machine.command("run");
    command.arg("-o").arg(machine.run()).args([
        "--level",
        "process",
        "--prometheus",
        ":0",
        "--prometheus-linger",
        "60",
    ]);
    command.args(["--", "sleep", "2"]);
    let mut running = Running::start(command);
    let (address, mut last) = (running.address(), None);
    while running.child.try_wait().unwrap().is_none() {
        last = scrape(address).or(last);
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, said) = running.end();
    assert_eq!(code, 0, "{said}");
    let (last, manifest) = (last.unwrap(), read_json(&machine.run().join("manifest.json")));
    assert_conserved(&last);
    let mut rows = list(&manifest["recording"], "balance").iter();
    let row = rows.find(|row| row["device"] == "host/cpu:0" && row["domain"].is_null()).unwrap();
    let scraped = value(&last, "jouletree_energy_joules_total", &[("device", "host/cpu:0")]);
    assert_close(scraped, number(row, "energy_j"), 1e-9, "the processor");
}

#[test]
fn an_output_that_cannot_be_is_said_before_anything_runs() {
    let machine = Machine::playing();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let trace = machine.folder.path().join("it-ran");
    let touch = ["--", "touch", trace.to_str().unwrap()];
    for (verb, arguments, code, message) in [
        ("record", vec!["--prometheus", &port], 1, "choose another port"),
        ("run", vec!["--prometheus", &port], 1, "choose another port"),
        ("run", vec!["--prometheus", ":99999"], 2, ":9108"),
        ("record", vec!["--prometheus", "example.org:9108"], 2, ":9108"),
        ("record", vec!["--prometheus-aliases", "codecarbon"], 2, "--prometheus <ADDR>"),
        ("run", vec!["--otlp", "localhost:4318"], 2, "http://localhost:4318"),
        ("run", vec!["--otlp", "http://localhost:4318", "--otlp-interval", "0"], 2, "0.1"),
    ] {
        let mut command = machine.command(verb);
        command.arg("-o").arg(machine.run()).args(&arguments).args(touch);
        let ran = ended(command.output().unwrap());
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
        assert!(!trace.exists() && !machine.run().exists(), "{arguments:?}");
    }
    let mut command = machine.record(&["--otlp", "http://localhost:4318"]);
    command.args(touch).env("OTEL_EXPORTER_OTLP_HEADERS", "hidden");
    let ran = ended(command.output().unwrap());
    assert!(ran.code == 1 && ran.stderr.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("hidden") && !trace.exists(), "{}", ran.stderr);
}

#[test]
fn an_address_that_others_reach_is_said_to_be_one() {
    let machine = Machine::playing();
    let ran = ended(machine.record(&["-q", "--prometheus", "0.0.0.0:0", "--", "true"]).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: other machines can read"), "{}", ran.stderr);
}

#[test]
fn the_daemon_shows_devices_and_nobody() {
    let machine = Machine::playing();
    let socket = machine.folder.path().join("daemon/daemon.sock");
    let daemon = |arguments: &[&str]| {
        let mut command = machine.command("daemon");
        command.arg("--socket").arg(&socket).args(arguments);
        command
    };
    let refused = ended(daemon(&["--prometheus", "0.0.0.0:0"]).output().unwrap());
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("--prometheus-insecure") && !socket.exists(), "{}", refused.stderr);

    let collector = Collector::answering(&["200 OK"]);
    let url = format!("http://{}", collector.address);
    let mut running = Running::start(daemon(&["--prometheus", ":0", "--otlp", &url, "--otlp-interval", "0.5"]));
    let address = running.address();
    let energy = |samples: &[Sample]| value(samples, "jouletree_energy_joules_total", &[("device", "host/cpu:0")]);
    let (began, mut energies) = (Instant::now(), Vec::new());
    while began.elapsed() < Duration::from_secs(6) {
        if let Some(samples) = scrape(address) {
            let personal = ["jouletree_share_joules_total", "jouletree_monitor_joules_total"];
            assert!(!samples.iter().any(|sample| personal.contains(&sample.name.as_str())), "{samples:?}");
            assert!(!samples.iter().any(|sample| sample.label("part").is_some() || sample.label("pid").is_some()));
            energies.push((Instant::now(), energy(&samples)));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(energies.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{energies:?}");
    let changes: Vec<&(Instant, f64)> =
        energies.windows(2).filter(|pair| pair[0].1 < pair[1].1).map(|pair| &pair[1]).collect();
    assert!(changes.len() >= 2, "{energies:?}");
    for pair in changes.windows(2) {
        assert!(pair[1].0 - pair[0].0 > Duration::from_millis(800), "nothing is new within a second: {changes:?}");
    }
    let (first, last) = (changes[0], changes[changes.len() - 1]);
    let watts = (last.1 - first.1) / (last.0 - first.0).as_secs_f64();
    assert!((watts / 60.0 - 1.0).abs() < 0.3, "{watts} W: {changes:?}");
    kill_process(Pid::from_child(&running.child), Signal::TERM).unwrap();
    let (code, said) = running.end();
    assert!(code == 0 && said.contains("the daemon has ended"), "{said}");
    let posts = collector.posts();
    assert!(posts.len() >= 3, "{} posts", posts.len());
    assert!(joules(posts.last().unwrap().metric("jouletree.energy"), "host/cpu:0") >= last.1);
    assert!(!format!("{posts:?}").contains("jouletree.share"));
}
