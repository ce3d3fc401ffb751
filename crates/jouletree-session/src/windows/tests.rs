//! What programs send, whatever it is.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use jouletree_host::Now;
use jouletree_meter::station::{FeedError, Next};
use jouletree_model::sampling::{Anchor, Ending, Flags, Mono, Quality, Sample, SensorInfo};
use jouletree_model::{Device, DeviceClass, Kind, Microjoules, Watts};
use proptest::prelude::*;
use serde_json::Value;

use super::lines::{LONGEST, Line, Lines};
use super::protocol::Request;
use super::*;

/// A feed of one processor that sends nothing by itself.
struct Silent;

impl Feed for Silent {
    fn sensors(&self) -> Vec<SensorInfo> {
        vec![SensorInfo {
            device: Device::new(DeviceClass::Cpu, 0),
            domain: None,
            source: "a test".into(),
            kind: Kind::Measured,
            range: None,
            step: Microjoules(1.0),
            period: Nanos(1_000_000),
            most: Watts(1000.0),
            is_slow: false,
            quality: Quality::default(),
        }]
    }

    fn next(&mut self, _: Duration) -> Result<Next, FeedError> {
        Ok(Next::NothingYet)
    }

    fn stop(&mut self) {}

    fn is_over(&self) -> bool {
        false
    }

    fn ending(&self) -> Ending {
        Ending::default()
    }
}

/// A second of a processor at 40 W, which ends now.
fn second() -> (Batch, i64) {
    let now = Anchor::now();
    let sample = |ms: i64| Sample {
        sensor: 0,
        flags: Flags::default(),
        at: Mono(now.mono.0 - 1_000_000_000 + ms * 1_000_000),
        count: ms.unsigned_abs() * 40_000,
    };
    let batch = Batch { samples: (0..=1000).map(sample).collect(), anchors: vec![now], ..Batch::default() };
    (batch, now.wall.0)
}

fn served() -> (Windows, UnixStream, BufReader<UnixStream>) {
    let socket = WindowSocket::make().unwrap();
    let stream = UnixStream::connect(socket.path()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let reader = BufReader::new(stream.try_clone().unwrap());
    (Windows::at(socket, &Silent, Nanos(4_000_000)).unwrap(), stream, reader)
}

fn heard(reader: &mut impl BufRead) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

#[test]
fn a_window_is_answered_at_its_socket() {
    let (windows, mut stream, mut reader) = served();
    let (batch, now) = second();
    let (start, end) = (now - 600_000_000, now - 100_000_000);
    writeln!(stream, "{{\"now\": true}}\n\n{{\"open\": 5, \"at_ns\": {start}}}").unwrap();
    let status = heard(&mut reader);
    assert_eq!((status["version"].as_u64(), status["period_ms"].as_f64()), (Some(1), Some(4.0)), "{status}");
    assert_eq!(status["devices"][0]["kind"], "measured");
    windows.take(&batch);
    // In pieces, and with the end that was forgotten.
    let close = format!("{{\"close\": 5, \"at_ns\": {end}}}");
    stream.write_all(&close.as_bytes()[..9]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    stream.write_all(&close.as_bytes()[9..]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let answer = heard(&mut reader);
    assert_eq!((answer["window"].as_u64(), answer["complete"].as_bool()), (Some(5), Some(true)), "{answer}");
    let device = &answer["devices"][0];
    assert!((device["energy_j"].as_f64().unwrap() - 20.0).abs() < 0.2, "{answer}");
    // No share was reported.
    assert!((device["unknown_j"].as_f64().unwrap() - device["energy_j"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(reader.read_line(&mut String::new()).unwrap(), 0);
}

#[test]
fn mistakes_are_answered_and_forgiven() {
    let (_windows, mut stream, mut reader) = served();
    for (line, message) in [
        ("hello", "this is no request"),
        ("[1]", "this is no request"),
        ("{}", "one of `open`"),
        ("{\"open\": 1, \"close\": 2, \"at_ns\": 1}", "one of `open`"),
        ("{\"open\": 1}", "`at_ns` is missing"),
        ("{\"open\": -1, \"at_ns\": 1}", "this is no request"),
        ("{\"close\": 1, \"at_ns\": 1}", "there is no such window"),
        ("{\"open\": 1, \"at_ns\": 9223372036854775807}", "in the future"),
        ("{\"now\": true, \"version\": 2}", "version 1"),
    ] {
        writeln!(stream, "{line}").unwrap();
        let error = heard(&mut reader);
        assert!(error["error"].as_str().unwrap().contains(message), "{line}: {error}");
    }
    writeln!(stream, "{{\"open\": 1, \"at_ns\": 5}}\n{{\"open\": 1, \"at_ns\": 5}}").unwrap();
    assert!(heard(&mut reader)["error"].as_str().unwrap().contains("open already"));
    let long = vec![b'x'; 3 * LONGEST];
    stream.write_all(&long).unwrap();
    writeln!(stream, "\n{{\"now\": true}}").unwrap();
    assert!(heard(&mut reader)["error"].as_str().unwrap().contains("65536 bytes"));
    assert!(heard(&mut reader)["now_ns"].is_i64());
}

#[test]
fn limits_hold_and_what_is_closed_makes_room() {
    let (windows, mut stream, mut reader) = served();
    let text: String = (0..65_537).map(|id| format!("{{\"open\":{id},\"at_ns\":1}}\n")).collect();
    let writer = std::thread::spawn(move || {
        stream.write_all(text.as_bytes()).unwrap();
        stream
    });
    let refused = heard(&mut reader);
    assert_eq!(refused["window"].as_u64(), Some(65_536), "{refused}");
    drop((writer.join().unwrap(), reader));
    // Another one fits as soon as it is noticed that the first has gone.
    let path = windows._place.as_ref().unwrap().path().to_owned();
    let mut others: Vec<UnixStream> = (0..256).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let mut reader = BufReader::new(others[0].try_clone().unwrap());
    writeln!(others[0], "{{\"open\": 1, \"at_ns\": 1}}\n{{\"now\": true}}").unwrap();
    assert!(heard(&mut reader)["now_ns"].is_i64());
    let mut late = BufReader::new(UnixStream::connect(&path).unwrap());
    let refused = heard(&mut late);
    assert!(refused["error"].as_str().unwrap().contains("256 programs"), "{refused}");
}

#[test]
fn the_socket_is_private_and_goes_with_its_recorder() {
    let (windows, stream, mut reader) = served();
    let path = windows._place.as_ref().unwrap().path().to_owned();
    let folder = path.parent().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    // What was asked is answered at the very end, with what is known.
    let mut writer = stream;
    writeln!(writer, "{{\"open\": 1, \"at_ns\": 5}}\n{{\"close\": 1, \"at_ns\": 6}}\n{{\"now\": true}}").unwrap();
    assert!(heard(&mut reader)["now_ns"].is_i64());
    drop(windows);
    let answer = heard(&mut reader);
    assert_eq!((answer["window"].as_u64(), answer["complete"].as_bool()), (Some(1), Some(false)), "{answer}");
    assert!(!folder.exists());
}

proptest! {
    /// Lines do not depend on the pieces in which they come, and none is longer than the limit.
    #[test]
    fn bytes_become_the_same_lines_in_any_pieces(
        texts in prop::collection::vec(prop_oneof![
            "[ -~]{0,40}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..40),
            (LONGEST - 2..LONGEST + 3).prop_map(|length| vec![b'z'; length]),
        ], 0..8),
        piece in 1_usize..70_000,
    ) {
        let bytes = texts.join(&b'\n');
        let (mut whole, mut pieces) = (Lines::default(), Lines::default());
        let mut at_once = whole.take(&bytes);
        at_once.extend(whole.end());
        let mut one_by_one: Vec<Line> = bytes.chunks(piece).flat_map(|piece| pieces.take(piece)).collect();
        one_by_one.extend(pieces.end());
        prop_assert_eq!(&at_once, &one_by_one);
        for line in at_once {
            if let Line::Whole(line) = line {
                prop_assert!(line.len() <= LONGEST && !line.contains(&b'\n'));
                let _ = Request::read(&line);
            }
        }
    }

    /// Anything that looks like a request is one or is refused; a desk survives all of them.
    #[test]
    fn requests_of_any_kind_do_no_harm(
        requests in prop::collection::vec((any::<bool>(), 0_u64..4, any::<i64>(), "[{}\":a-z0-9, ]{0,30}"), 0..40),
    ) {
        let service = WindowService::new(&Silent, Nanos(4_000_000), None).unwrap();
        for (opens, id, at, nonsense) in requests {
            let verb = if opens { "open" } else { "close" };
            let line = format!("{{\"{verb}\": {id}, \"at_ns\": {at}}}");
            let request = Request::read(line.as_bytes()).unwrap();
            let _ = service.ask(id % 2, request);
            let _ = Request::read(nonsense.as_bytes());
            service.take(&second().0);
            let _ = service.answers();
        }
        service.forget(0, true);
        service.finish();
        for (connection, _) in service.answers() {
            prop_assert_eq!(connection, 1);
        }
    }
}
