//! `jouletree serve` from outside, by requests over a socket: its answers are those of the command line, and other pages
//! are kept out.

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::*;
use serde_json::Value;
use tempfile::TempDir;

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer of the server.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// The command where no file and no variable says anything about a place.
fn alone(folder: &TempDir) -> Command {
    let mut command = jouletree();
    command.current_dir(folder.path());
    for variable in ["HOME", "XDG_CONFIG_HOME", "JOULETREE_CLOUD_METADATA"] {
        command.env(variable, folder.path());
    }
    command
}

fn serve(arguments: &[&str]) -> Server {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = alone(&folder);
    command.args(["serve", "--port", "0"]).args(arguments).stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().expect("the command starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut line).expect("a line");
    let address = line.strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect("an address");
    Server { address: address.to_owned(), child, _folder: folder }
}

impl Server {
    fn ask(&self, path: &str) -> Answer {
        self.ask_as("localhost", path)
    }

    fn ask_as(&self, host: &str, path: &str) -> Answer {
        let port = self.address.rsplit(':').next().expect("a port");
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time limit");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn json(&self, query: &str) -> (u16, Value) {
        let answer = self.ask(&format!("/estimate?{query}"));
        (answer.status, serde_json::from_str(&answer.body).expect("JSON"))
    }
}

/// The same words to both give the same bytes.
#[test]
fn it_answers_what_the_command_line_answers() {
    let server = serve(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    for (query, flags) in [
        (
            "gpu=A100&hours=100&provider=gcp&cloud_region=europe-west1&compare=provider",
            &[
                "--gpu",
                "A100",
                "--hours",
                "100",
                "--provider",
                "gcp",
                "--cloud-region",
                "europe-west1",
                "--compare",
            ][..],
        ),
        (
            "watts=350.5&gpus=4&hours=12.25&utilization=0.8&cpu_watts=100&country=USA&region=california&pue=1.2&wue=0.3\
             &embodied=server&tariff=8-20%3D0.3%2C20-8%3D0.1&currency=USD",
            &[
                "--watts",
                "350.5",
                "--gpus",
                "4",
                "--hours",
                "12.25",
                "--utilization",
                "0.8",
                "--cpu-watts",
                "100",
                "--country",
                "USA",
                "--region",
                "california",
                "--pue",
                "1.2",
                "--wue",
                "0.3",
                "--embodied",
                "server",
                "--tariff",
                "8-20=0.3,20-8=0.1",
                "--currency",
                "USD",
            ],
        ),
        ("gpu=T4&hours=1&compare=all", &["--gpu", "T4", "--hours", "1", "--compare", "all"]),
        (
            "gpu=T4&hours=1&watts=&allow_world_average=true",
            &["--gpu", "T4", "--hours", "1", "--allow-world-average"],
        ),
    ] {
        let answer = server.ask(&format!("/estimate?{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        let mut command = alone(&folder);
        let words = command.args(["estimate", "impact", "--format", "json"]).args(flags).output();
        assert_eq!(answer.body, ended(words.expect("the command starts")).ok(), "{query}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_field() {
    let server = serve(&[]);
    let (status, answer) = server.json("gpu=A100&hours=many&pue=0.5&hour=1");
    assert_eq!(status, 400);
    let fields: Vec<&Value> = list(&answer, "errors").iter().map(|error| &error["field"]).collect();
    assert_eq!(fields, [&Value::Null, &"hours".into(), &"pue".into()]);
    // The page shows the same beside its fields, and nothing that was typed becomes a part of it.
    let page = server.ask("/?gpu=%3Cscript%3Ealert(1)%3C%2Fscript%3E&hours=1");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("id=\"gpu-error\" data-live>`&lt;script&gt;"), "{}", page.body);
    assert!(!page.body.contains("<script>alert"));
    // What is not UTF-8, or not a query at all, is no reason to fall over.
    assert_eq!(server.json("gpu=%FF%FE&hours=1").0, 400);
    assert_eq!(server.ask("/estimate?%%%&&&==").status, 400);
    assert_eq!(server.ask("/nowhere").status, 404);
}

#[test]
fn foreign_names_are_refused() {
    let server = serve(&[]);
    let port = server.address.rsplit(':').next().expect("a port");
    for host in ["localhost", &format!("localhost:{port}"), &server.address, "[::1]"] {
        assert_eq!(server.ask_as(host, "/").status, 200, "{host}");
    }
    for host in ["attacker.example", "localhost.attacker.example", "10.0.0.1", ""] {
        for path in ["/", "/estimate?gpu=A100&hours=1", "/page.js"] {
            let answer = server.ask_as(host, path);
            assert_eq!(answer.status, 421, "{host} {path}");
            assert!(!answer.body.contains("carbon"), "{}", answer.body);
        }
    }
}

#[test]
fn every_answer_forbids_what_it_does_not_need() {
    let server = serve(&[]);
    for path in ["/", "/estimate?gpu=A100&hours=1", "/page.css", "/page.js", "/nowhere"] {
        let head = server.ask(path).head;
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{path}: {head}");
        for header in
            ["x-content-type-options: nosniff", "cache-control: no-store", "referrer-policy: no-referrer"]
        {
            assert!(head.contains(header), "{path}: {head}");
        }
        assert!(!head.contains("access-control-allow-origin"), "{path}: {head}");
    }
    // The policy forbids scripts and styles inside of the page; there must be none.
    let page = server.ask("/").body;
    assert!(!page.contains(" style=") && !page.contains("<style") && !page.contains(" onclick"));
}

#[test]
fn it_begins_with_what_settings_say_and_the_address_alone_counts_later() {
    let server = serve(&["--country", "ITA", "--tariff", "0.25"]);
    let first = server.ask("/").body;
    assert!(first.contains("value=\"ITA\"") && first.contains("6.25 EUR"), "{first}");
    assert!(server.json("gpu=A100&hours=1").1["carbon_g"].is_null());
}

#[test]
fn a_port_that_is_taken_is_told() {
    let server = serve(&[]);
    let port = server.address.rsplit(':').next().expect("a port");
    let ran = run(["serve", "--port", port]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("--port"), "{}", ran.stderr);
}

#[test]
fn who_wants_a_service_asked_is_told_that_the_page_does_not() {
    let ran = run(["serve", "--port", "0", "--online"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("--online"), "{}", ran.stderr);
}

/// Requests that never end do not lock out others: the oldest of too many is closed.
#[test]
fn half_a_request_does_not_last() {
    let server = serve(&[]);
    let half = |_| {
        let mut stream = TcpStream::connect(&server.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n").expect("half a request");
        stream
    };
    let mut requests: Vec<TcpStream> = (0..40).map(half).collect();
    assert_eq!(server.ask("/").status, 200);
    let mut answer = Vec::new();
    let closed = requests[0].read_to_end(&mut answer);
    let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
    assert!(closed.map(|_| true).unwrap_or_else(is_reset), "the first goes on");
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
}

#[test]
fn a_signal_ends_it_even_while_somebody_is_connected() {
    let mut server = serve(&[]);
    let _idle = TcpStream::connect(&server.address).expect("a connection");
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let begin = Instant::now();
    let status = loop {
        match server.child.try_wait().expect("its state") {
            Some(status) => break status,
            None => assert!(begin.elapsed() < Duration::from_secs(20), "it does not end"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success(), "{status}");
}
