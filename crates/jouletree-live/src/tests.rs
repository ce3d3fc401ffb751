//! Metrics of made-up batches, as text and as messages.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use jouletree_model::{Device, DeviceClass, GramsPerKwh, Joules, Kind as Provenance, Nanos, Watts};
use jouletree_series::ongoing::DeviceTotal;
use jouletree_series::share::Split;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use proptest::prelude::*;
use prost::Message;

use super::*;

fn total(class: DeviceClass, joules: [f64; 4]) -> DeviceTotal {
    let [ours, others, idle, unknown] = joules.map(Joules);
    let parts = Split { ours, others, idle, unknown, own: Joules(others.0 / 8.0) };
    DeviceTotal {
        device: Device::new(class, 0),
        kind: Provenance::Measured,
        source: "powercap \"intel-rapl:0\" \\ two\nlines".into(),
        energy: parts.total(),
        parts,
        known: Nanos(9_500_000_000),
        unknown: Nanos(500_000_000),
        power: Some(Watts(12.5)),
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        began: Nanos(1_700_000_000_000_000_000),
        at: Nanos(1_700_000_010_000_000_000),
        duration: Duration::from_secs(10),
        devices: vec![
            total(DeviceClass::Cpu, [3e6, 1e6, 2e6, 1.2e6]),
            total(DeviceClass::Dram, [0.5, 0.25, 0.125, 0.0]),
            total(DeviceClass::Machine, [0.0, 0.0, 0.0, 9e6]),
        ],
        has_parts: true,
        lost_samples: 3,
        own_time: Nanos(20_000_000),
        intensity: None,
    }
}

fn known() -> CarbonIntensity {
    CarbonIntensity { value: GramsPerKwh(331.0), source: "given by the user".to_owned() }
}

/// The values of a metric, with their labels as they are written.
fn values(page: &str, name: &str) -> Vec<(String, f64)> {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let (found, labels) = series.split_once('{').unwrap_or((series, ""));
        (found == name).then(|| (labels.trim_end_matches('}').to_owned(), value.parse().unwrap()))
    });
    samples.collect()
}

#[test]
fn a_page_is_open_metrics_or_what_was_before_it() {
    let page = exposition(families(&snapshot(), None), Exposition::OpenMetrics).unwrap();
    let energy = r#"# HELP jouletree_energy_joules The energy of a device since counting began; that of class machine holds the others
# TYPE jouletree_energy_joules counter
# UNIT jouletree_energy_joules joules
jouletree_energy_joules_total{device="host/cpu:0",class="cpu",kind="measured",source="powercap \"intel-rapl:0\" \\ two\nlines"} 7200000.0
"#;
    assert!(page.starts_with(energy), "{page}");
    assert!(page.contains("\njouletree_lost_samples_total 3.0\n"), "{page}");
    assert!(page.contains("\n# TYPE jouletree_power_watts gauge\n# UNIT jouletree_power_watts watts\n"), "{page}");
    assert!(page.contains("# TYPE jouletree_build info\njouletree_build_info{version=\""), "{page}");
    assert!(page.ends_with("# EOF\n"));
    let plain = exposition(families(&snapshot(), None), Exposition::Plain).unwrap();
    assert!(
        plain.contains("# TYPE jouletree_energy_joules_total counter\njouletree_energy_joules_total{"),
        "{plain}"
    );
    assert!(plain.contains("# TYPE jouletree_build_info gauge\n"), "{plain}");
    assert!(!plain.contains("UNIT") && !plain.contains("EOF"), "{plain}");
    // The same samples in the same order.
    let samples =
        |page: &str| page.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(samples(&page), samples(&plain));
}

#[test]
fn nothing_is_invented() {
    let names = |snapshot: &Snapshot, aliases| {
        let families = families(snapshot, aliases);
        families.iter().map(|family| format!("{}_{}", family.prefix, family.name)).collect::<Vec<_>>()
    };
    let mut snapshot = snapshot();
    snapshot.has_parts = false;
    snapshot.devices.truncate(1);
    snapshot.devices[0].power = None;
    let shown = names(&snapshot, Some(Aliases::CodeCarbon));
    for absent in [
        "jouletree_share",
        "jouletree_monitor",
        "jouletree_power",
        "jouletree_carbon",
        "jouletree_carbon_intensity",
        "codecarbon_emissions",
        "codecarbon_emissions_rate",
        "codecarbon_cpu_power",
        "codecarbon_gpu_energy",
        "codecarbon_ram_energy",
    ] {
        assert!(!shown.iter().any(|name| name == absent), "{absent} in {shown:?}");
    }
    assert!(shown.iter().any(|name| name == "codecarbon_cpu_energy"), "{shown:?}");
    snapshot.intensity = Some(known());
    let shown = names(&snapshot, None);
    assert!(
        shown.contains(&"jouletree_carbon".to_owned()) && !shown.join(" ").contains("codecarbon"),
        "{shown:?}"
    );
}

#[test]
fn aliases_are_in_the_units_of_codecarbon() {
    let snapshot = Snapshot { intensity: Some(known()), ..snapshot() };
    let page = exposition(families(&snapshot, Some(Aliases::CodeCarbon)), Exposition::Plain).unwrap();
    let only = |name: &str| {
        let found = values(&page, name);
        assert_eq!(found.len(), 1, "{name}: {page}");
        found[0].1
    };
    let close = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-12, "{found} {wanted}");
    close(only("codecarbon_duration"), 10.0);
    close(only("codecarbon_cpu_energy"), 2.0);
    close(only("codecarbon_cpu_power"), 12.5);
    close(only("codecarbon_ram_energy"), 0.875 / 3.6e6);
    // The machine's meter is not added to those of its devices.
    close(only("codecarbon_energy_consumed"), 2.0 + 0.875 / 3.6e6);
    close(only("codecarbon_energy_total"), 2.0 + 0.875 / 3.6e6);
    assert!(page.contains("# TYPE codecarbon_energy_total counter"), "{page}");
    close(only("codecarbon_emissions"), (2.0 + 0.875 / 3.6e6) * 0.331);
    close(only("codecarbon_emissions_rate"), (2.0 + 0.875 / 3.6e6) * 0.0331);
    assert!(values(&page, "codecarbon_gpu_energy").is_empty());
    close(values(&page, "jouletree_carbon_grams_total")[0].1, 662.0);
    close(only("jouletree_carbon_intensity_grams_per_joule"), 331.0 / 3.6e6);
}

#[test]
fn messages_have_the_same_with_their_units_and_times() {
    let sender = otlp::Sender { host: "node7".into(), instance: "1".into() };
    let sent = otlp::request(&snapshot(), &sender).encode_to_vec();
    let request = ExportMetricsServiceRequest::decode(sent.as_slice()).unwrap();
    assert_eq!(request.encode_to_vec(), sent, "OpenTelemetry's own messages are the same bytes");
    let resource = &request.resource_metrics[0];
    let attributes = format!("{:?}", resource.resource);
    assert!(attributes.contains("service.name") && attributes.contains("node7"), "{attributes}");
    let metrics = &resource.scope_metrics[0].metrics;
    let energy = metrics.iter().find(|metric| metric.name == "jouletree.energy").unwrap();
    assert_eq!(energy.unit, "J");
    let Some(Data::Sum(sum)) = &energy.data else { panic!("{energy:?}") };
    assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{sum:?}");
    let point = &sum.data_points[0];
    assert_eq!(point.value, Some(Value::AsDouble(7.2e6)));
    assert_eq!(point.start_time_unix_nano, 1_700_000_000_000_000_000);
    assert_eq!(point.time_unix_nano, 1_700_000_010_000_000_000);
    assert!(metrics.iter().all(|metric| metric.name != "jouletree.build"));
    let power = metrics.iter().find(|metric| metric.name == "jouletree.power").unwrap();
    assert!(matches!(power.data, Some(Data::Gauge(_))) && power.unit == "W", "{power:?}");
}

/// What a server answers to this request.
fn answered(endpoint: &Endpoint, request: &str) -> String {
    let mut stream = TcpStream::connect(endpoint.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn opened(board: &Board) -> Endpoint {
    Endpoint::open(":0".parse().unwrap(), board.clone(), None, &[]).unwrap()
}

#[test]
fn scrapes_are_answered_in_the_format_that_is_asked_for() {
    let board = Board::default();
    let endpoint = opened(&board);
    let get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert!(answered(&endpoint, get).starts_with("HTTP/1.1 503"));
    board.pin(snapshot());
    let plain = answered(&endpoint, get);
    assert!(plain.starts_with("HTTP/1.1 200") && plain.contains("text/plain; version=0.0.4"), "{plain}");
    let open = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n\r\n";
    let open = answered(&endpoint, open);
    assert!(open.contains("application/openmetrics-text; version=1.0.0") && open.ends_with("# EOF\n"), "{open}");
    board.pin(Snapshot { lost_samples: 17, ..snapshot() });
    assert!(answered(&endpoint, get).contains("lost_samples_total 17"));
    assert!(answered(&endpoint, "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(answered(&endpoint, "GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(answered(&endpoint, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("/metrics"));
    assert!(answered(&endpoint, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert!(
        Endpoint::open(ListenAddress(endpoint.address()), board, None, &[])
            .unwrap_err()
            .to_string()
            .contains("port")
    );
}

/// A page of another site whose name points here reads nothing; scrapers ask by an address or a name that is known.
#[test]
fn foreign_names_are_not_answered_to() {
    let board = Board::default();
    board.pin(snapshot());
    let hosts = ["gpu7.example.org".to_owned()];
    let endpoint = Endpoint::open(":0".parse().unwrap(), board, None, &hosts).unwrap();
    let asked =
        |path: &str, host: &str| answered(&endpoint, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    for host in ["localhost", "127.0.0.1:9108", "192.0.2.7:9108", "gpu7.example.org:9108"] {
        assert!(asked("/metrics", host).starts_with("HTTP/1.1 200"), "{host}");
    }
    for host in ["attacker.example", "localhost.attacker.example:9108", ""] {
        for path in ["/metrics", "/", "/other"] {
            let answer = asked(path, host);
            assert!(answer.starts_with("HTTP/1.1 421") && !answer.contains("joules"), "{host} {path}: {answer}");
        }
    }
    assert!(asked("http://attacker.example/metrics", "localhost").starts_with("HTTP/1.1 421"));
    // Old clients send no name, and browsers always do.
    assert!(answered(&endpoint, "GET /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200"));
}

#[test]
fn who_says_nothing_keeps_nobody_out_for_long() {
    let board = Board::default();
    board.pin(snapshot());
    let endpoint = opened(&board);
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(endpoint.address()).unwrap()).collect();
    let began = Instant::now();
    // Beyond sixteen connections are refused, until silent ones time out.
    let mut tries = 0;
    loop {
        let mut stream = TcpStream::connect(endpoint.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = String::new();
        let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200") {
            break;
        }
        tries += 1;
        assert!(began.elapsed() < Duration::from_secs(30), "no connection is accepted any more");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(tries > 0, "everybody was let in");
    drop(silent);
    let began = Instant::now();
    drop(endpoint);
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[test]
fn the_last_page_is_waited_for_until_somebody_has_it() {
    let board = Board::default();
    board.pin(snapshot());
    let endpoint = opened(&board);
    let get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    answered(&endpoint, get);
    board.pin_last(snapshot());
    let began = Instant::now();
    assert!(!board.wait_for_last(Duration::from_millis(200)) && began.elapsed() >= Duration::from_millis(200));
    answered(&endpoint, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(!board.wait_for_last(Duration::from_millis(50)));
    let waiting = board.clone();
    let waiter = std::thread::spawn(move || waiting.wait_for_last(Duration::from_secs(20)));
    answered(&endpoint, get);
    assert!(waiter.join().unwrap());
}

#[test]
fn a_daemon_is_closed_unless_that_is_meant() {
    let open = |at: &str, meant| Endpoint::open_guarded(at.parse().unwrap(), Board::default(), meant, &[]);
    let refused = open("0.0.0.0:0", false).unwrap_err().to_string();
    assert!(refused.contains("--prometheus-insecure"), "{refused}");
    assert!(open("0.0.0.0:0", true).is_ok() && open(":0", false).is_ok());
}

#[test]
fn a_label_is_no_sentence() {
    let mut snapshot = snapshot();
    snapshot.devices[0].source =
        "this VM's share (2 CPUs) of the wall power of a typical server with EPYC, 3rd generation, processors"
            .to_owned();
    let page = exposition(families(&snapshot, None), Exposition::OpenMetrics).unwrap();
    assert!(
        page.contains("source=\"this VM's share (2 CPUs) of the wall power of a typical server with EPYC\"}"),
        "{page}"
    );
}

proptest! {
    /// The parts of every device make its counter, as they are written.
    #[test]
    fn what_is_written_is_conserved(parts in prop::collection::vec(prop::array::uniform4(0.0_f64..1e12), 1..4)) {
        let classes = [DeviceClass::Cpu, DeviceClass::Dram, DeviceClass::Gpu];
        let devices = parts.iter().zip(classes).map(|(joules, class)| total(class, *joules)).collect();
        let page = exposition(families(&Snapshot { devices, ..snapshot() }, None), Exposition::OpenMetrics).unwrap();
        let (whole, shares) = (values(&page, "jouletree_energy_joules_total"), values(&page, "jouletree_share_joules_total"));
        prop_assert_eq!(shares.len(), 4 * whole.len());
        for ((_, whole), shares) in whole.iter().zip(shares.chunks(4)) {
            let sum: f64 = shares.iter().map(|(_, share)| share).sum();
            prop_assert!((sum - whole).abs() <= 1e-9 * whole.abs());
        }
    }

    /// Whatever a meter is called, a page has one line for each sample.
    #[test]
    fn labels_cannot_break_a_page(source in "\\PC*|[\"\\\\\n{}]*") {
        let mut snapshot = snapshot();
        snapshot.devices.truncate(1);
        snapshot.devices[0].source = source;
        let page = exposition(families(&snapshot, None), Exposition::OpenMetrics).unwrap();
        let energy: Vec<&str> = page.split('\n').filter(|line| line.starts_with("jouletree_energy_joules_total{")).collect();
        prop_assert_eq!(energy.len(), 1);
        let is_whole = energy[0].ends_with("\"} 7200000.0");
        prop_assert!(is_whole);
    }
}
