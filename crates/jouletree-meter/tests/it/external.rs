//! Meters of the user's own, each through the place that its lines really come from.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use jouletree_host::Now;
use jouletree_meter::external::{ExternalMeter, MeterAddress};
use jouletree_meter::{ReadError, Reading, Sensor};
use jouletree_model::sampling::Anchor;
use jouletree_model::{Kind, PowerUnit};

fn meter(place: &str) -> ExternalMeter {
    ExternalMeter::of_machine(place.parse().unwrap())
}

fn opened(meter: &ExternalMeter) -> Box<dyn Sensor> {
    meter.find().sensor.unwrap_or_else(|unusable| panic!("{unusable:?}"))
}

/// Lines of so many watts, one for each tenth of a second up to now.
fn lines(watts: &[f64]) -> String {
    let now = Anchor::now().wall.0;
    let stamp = |i: usize| now - (watts.len() - 1 - i) as i64 * 100_000_000;
    watts.iter().enumerate().map(|(i, watts)| format!("{},{watts}\n", stamp(i))).collect()
}

/// Reads until it is as wanted.
fn until(
    sensor: &mut dyn Sensor,
    wanted: impl Fn(&Result<Reading, ReadError>) -> bool,
) -> Result<Reading, ReadError> {
    let begin = Instant::now();
    loop {
        let said = sensor.reading();
        if wanted(&said) {
            return said;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{said:?}, {:?}", sensor.remarks());
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn until_count(sensor: &mut dyn Sensor, microjoules: u64) {
    until(sensor, |said| said.as_ref().is_ok_and(|reading| reading.microjoules == microjoules)).unwrap();
}

/// Five tenths of a second at 100, 100, 200, 200, 300 W: 10 + 15 + 20 + 25 J.
const WATTS: [f64; 5] = [100.0, 100.0, 200.0, 200.0, 300.0];
const MICROJOULES: u64 = 70_000_000;

#[test]
fn a_file_that_grows_counts_from_now_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("power.csv");
    // What was there before does not count; its last line is not finished yet.
    let old = lines(&[1e4, 1e4, 1e4]);
    let (old, cut) = old.split_at(old.len() - 4);
    std::fs::write(&path, format!("epoch_ns,watts\n{old}")).unwrap();
    let mut sensor = opened(&meter(path.to_str().unwrap()));
    assert_eq!(sensor.info().device.to_string(), "host/machine:0");
    assert!(matches!(sensor.read(), Err(ReadError::Late(_))));
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(cut.as_bytes()).unwrap();
    until_count(sensor.as_mut(), 0);
    std::thread::sleep(Duration::from_millis(500));
    file.write_all(lines(&WATTS).as_bytes()).unwrap();
    let reading =
        until(sensor.as_mut(), |said| said.as_ref().is_ok_and(|reading| reading.microjoules > 0)).unwrap();
    // From the line that was cut to the first of the others there are 0.1 s or more, at 5050 W.
    assert!(reading.microjoules > MICROJOULES + 505_000_000, "{reading:?}");
    assert_eq!((sensor.info().kind, sensor.remarks()), (Kind::Derived, Vec::<String>::new()));
}

#[test]
fn a_file_that_is_replaced_is_read_from_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("power.csv");
    std::fs::write(&path, "time,watts\n").unwrap();
    let mut sensor = opened(&meter(path.to_str().unwrap()));
    let next = folder.path().join("next.csv");
    std::fs::write(&next, format!("watts,epoch_ns,note\n{}", swapped(&lines(&WATTS)))).unwrap();
    std::fs::rename(&next, &path).unwrap();
    until_count(sensor.as_mut(), MICROJOULES);
}

fn swapped(lines: &str) -> String {
    lines
        .lines()
        .filter_map(|line| line.split_once(','))
        .map(|(time, watts)| format!("{watts},{time},x\n"))
        .collect()
}

#[test]
fn a_pipe_outlives_its_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // Opening does not wait for a writer.
    let mut sensor = opened(&meter(path.to_str().unwrap()));
    let all = lines(&WATTS);
    let middle = all.match_indices('\n').nth(1).unwrap().0 + 1;
    for part in [&all[..middle], &all[middle..]] {
        File::options().write(true).open(&path).unwrap().write_all(part.as_bytes()).unwrap();
    }
    until_count(sensor.as_mut(), MICROJOULES);
}

#[test]
fn sockets_give_lines_and_may_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let unix = UnixListener::bind(&path).unwrap();
    let mut sensor = opened(&meter(path.to_str().unwrap()));
    unix.accept().unwrap().0.write_all(lines(&WATTS).as_bytes()).unwrap();
    until_count(sensor.as_mut(), MICROJOULES);

    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sensor = opened(&meter(&tcp.local_addr().unwrap().to_string()));
    let (mut client, _) = tcp.accept().unwrap();
    client.write_all(lines(&WATTS).as_bytes()).unwrap();
    until_count(sensor.as_mut(), MICROJOULES);
    drop(client);
    until(sensor.as_mut(), Result::is_err).unwrap_err();
    assert!(sensor.remarks()[0].contains("cannot be reached"), "{:?}", sensor.remarks());
    let (mut client, _) = tcp.accept().unwrap();
    client.write_all(lines(&WATTS).as_bytes()).unwrap();
    // What happened in between is a gap, and adds nothing.
    until_count(sensor.as_mut(), 2 * MICROJOULES);
    assert_eq!(sensor.remarks(), Vec::<String>::new());
}

#[test]
fn energy_is_taken_as_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("energy");
    std::fs::write(&path, "").unwrap();
    let given = ExternalMeter { unit: Some(PowerUnit::Joules), ..meter(path.to_str().unwrap()) };
    let mut sensor = opened(&given);
    assert_eq!(sensor.info().kind, Kind::Measured);
    append(&path, &lines(&[5000.0, 5001.5, 5004.25]));
    until_count(sensor.as_mut(), 4_250_000);
}

#[test]
fn silence_is_late_and_then_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("power");
    std::fs::write(&path, "").unwrap();
    let mut sensor = opened(&meter(path.to_str().unwrap()));
    append(&path, &lines(&WATTS));
    until_count(sensor.as_mut(), MICROJOULES);
    assert_eq!(sensor.info().period.0, 100_000_000);
    // Five of its periods without a word.
    let late = until(sensor.as_mut(), Result::is_err).unwrap_err();
    assert!(matches!(late, ReadError::Late(time) if time.0 > 500_000_000), "{late}");
    std::thread::sleep(Duration::from_millis(500));
    append(&path, &lines(&WATTS));
    let gap = until(sensor.as_mut(), |said| !matches!(said, Err(ReadError::Late(_))));
    assert!(matches!(gap, Err(ReadError::Unwatched(_))), "{gap:?}");
    until_count(sensor.as_mut(), 2 * MICROJOULES);
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn nonsense_is_counted_and_never_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("power");
    std::fs::write(&path, "").unwrap();
    let mut sensor = opened(&meter(path.to_str().unwrap()));
    append(&path, &format!("\0\u{7}\n{}\n3,4,5,6\n", "x".repeat(10_000)));
    append(&path, &lines(&WATTS));
    until_count(sensor.as_mut(), MICROJOULES);
    let remarks = sensor.remarks();
    assert!(remarks[0].starts_with("3 of 8 lines"), "{remarks:?}");
}

#[test]
fn a_place_that_is_not_there_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let found = meter(missing.to_str().unwrap()).find();
    let unusable = found.sensor.err().unwrap();
    assert!(unusable.reason.contains("missing") && unusable.remedy.unwrap().contains("logger"));
    assert!(meter(folder.path().to_str().unwrap()).find().sensor.is_err());
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = ExternalMeter::of_machine(MeterAddress::Tcp(port.to_string())).find();
    assert!(refused.sensor.err().unwrap().remedy.unwrap().contains("listens"));
}
