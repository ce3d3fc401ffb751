//! Prometheus itself, found or got by `tools/prometheus.py`, and scrapes as it makes them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder with `prometheus` and `promtool`; `None` with a message where there is none.
pub fn programs() -> Option<PathBuf> {
    let found = Command::new("python3").arg(workspace().join("tools/prometheus.py")).output();
    let found = found.unwrap_or_else(|error| panic!("python3 does not start: {error}"));
    let printed = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    match found.status.code() {
        Some(0) => Some(PathBuf::from(printed)),
        Some(69) => {
            println!("skipped: {printed}");
            None
        }
        _ => panic!("tools/prometheus.py failed: {}", String::from_utf8_lossy(&found.stderr)),
    }
}

/// What `promtool check metrics` has to say about a page; nothing if all is well.
pub fn complaints(programs: &Path, page: &str) -> String {
    let mut child = Command::new(programs.join("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    child.stdin.take().expect("a pipe").write_all(page.as_bytes()).expect("promtool reads");
    let ended = child.wait_with_output().expect("promtool ends");
    let printed = [ended.stdout, ended.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert_eq!(ended.status.success(), printed.is_empty(), "{printed}");
    printed
}

/// The body of what is answered to a GET; an error where no server answers.
pub fn get(address: SocketAddr, path: &str, accept: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: {accept}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let is_answered = [" 200 ", " 503 "].iter().any(|status| head.contains(status));
    assert!(is_answered || !path.starts_with("/metrics"), "{head}");
    Ok(body.to_owned())
}

/// One sample of a page in the plain format.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: String,
    pub value: f64,
}

impl Sample {
    /// The value of a label that holds no quotes.
    pub fn label(&self, name: &str) -> Option<&str> {
        let rest = self.labels.split_once(&format!("{name}=\""))?.1;
        rest.split('"').next()
    }
}

/// All samples of a page.
pub fn samples(page: &str) -> Vec<Sample> {
    let lines = page.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let read = lines.map(|line| {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
        Sample { name: name.to_owned(), labels: labels.trim_end_matches('}').to_owned(), value }
    });
    read.collect()
}

/// The queries of the dashboard, with its variables filled in.
pub fn dashboard_queries() -> Vec<String> {
    let file = workspace().join("packaging/grafana/jouletree.json");
    let text = std::fs::read_to_string(file).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let queries = targets.map(|target| {
        let query = target["expr"].as_str().expect("a query");
        let query = query.replace("$__rate_interval", "1m").replace("$__range", "1h");
        let query = query.replace("$job", ".*").replace("$instance", ".*");
        assert!(!query.contains('$'), "{query}: a variable without a value");
        query
    });
    queries.collect()
}
