//! The readers on random documents: they find exactly what was written, however it was written and wherever the
//! pieces are cut in which the file is read.

use crate::documents;

use std::collections::BTreeMap;
use std::io::Write;

use documents::{Document, Expected, Random, Style, kineto, timeline};
use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_model::Trace;
use jouletree_trace::{Progress, ReadOptions, read_trace, read_trace_bytes};
use proptest::prelude::*;

type Generator = fn(u64, usize, Style) -> Document;

const GENERATORS: [Generator; 2] = [kineto::document, timeline::document];

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// The runs of operations in a trace, in order; lanes by their label.
fn runs(trace: &Trace) -> Vec<Expected> {
    let mut runs = Vec::new();
    for lane in &trace.lanes {
        for event in lane.events() {
            runs.push(Expected {
                device: trace.devices[lane.device()].to_string(),
                start_ns: event.start.0,
                end_ns: event.end.0,
                name: trace.ops.get(event.op).expect("a known operation").name.to_string(),
                lane: lane.label().to_owned(),
            });
        }
    }
    runs.sort();
    runs
}

/// The runs without their lanes, which every format labels in its way.
fn unlabelled(runs: &[Expected]) -> Vec<Expected> {
    let mut runs: Vec<Expected> = runs.iter().map(|run| Expected { lane: String::new(), ..run.clone() }).collect();
    runs.sort();
    runs
}

/// How many lanes each device has.
fn lanes(runs: &[Expected]) -> BTreeMap<&str, usize> {
    let mut lanes: Vec<(&str, &str)> = runs.iter().map(|run| (run.device.as_str(), run.lane.as_str())).collect();
    lanes.sort();
    lanes.dedup();
    let mut counts = BTreeMap::new();
    for (device, _) in lanes {
        *counts.entry(device).or_default() += 1;
    }
    counts
}

fn counts(trace: &Trace) -> BTreeMap<(String, String), u64> {
    let counts = trace.sources.iter().flat_map(|source| &source.counts);
    counts.map(|count| ((count.device.to_string(), count.category.clone()), count.events)).collect()
}

/// Fails unless `trace` is what was written before byte `cut`.
fn assert_read(trace: &Trace, document: &Document, cut: usize) {
    let (found, wanted) = (runs(trace), document.runs_before(cut));
    assert_eq!(unlabelled(&found), unlabelled(&wanted));
    assert_eq!(lanes(&found), lanes(&wanted));
    let mut counted: BTreeMap<(String, String), u64> = BTreeMap::new();
    for event in document.events.iter().filter(|event| event.end <= cut) {
        if let Some(place) = &event.counted {
            *counted.entry(place.clone()).or_default() += 1;
        }
    }
    assert_eq!(counts(trace), counted);
}

/// Reads a prefix, plain or packed, and checks that it yields exactly the events that are whole in it.
fn check_prefix(document: &Document, cut: usize, bytes: &[u8]) {
    let whole = cut == document.text.len();
    match read_trace_bytes("trace.json", bytes, &ReadOptions::default()) {
        Ok(trace) => {
            assert_read(&trace, document, cut);
            let warned = trace.warnings.iter().find(|warning| warning.message.contains("cut short"));
            assert_eq!(warned.is_none(), whole, "{:?}", trace.warnings);
            if let Some(warning) = warned {
                assert_eq!(warning.position.as_deref(), Some(format!("byte {cut}").as_str()));
            }
        }
        Err(error) => assert!(document.runs_before(cut).is_empty(), "{error}"),
    }
}

fn style() -> impl Strategy<Value = Style> {
    (any::<bool>(), any::<bool>(), 0..300_u64, any::<bool>())
        .prop_map(|(pretty, shuffled, padding, header_first)| Style { pretty, shuffled, padding, header_first })
}

fn pick_generator() -> impl Strategy<Value = Generator> {
    prop::sample::select(&GENERATORS[..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(generate in pick_generator(), seed: u64, events in 1..80_usize, style in style()) {
        let document = generate(seed, events, style);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&document.text).is_ok(), "the document is JSON");
        check_prefix(&document, document.text.len(), document.text.as_bytes());
        check_prefix(&document, document.text.len(), &packed(document.text.as_bytes()));
    }

    #[test]
    fn any_prefix_yields_what_is_whole_in_it(
        generate in pick_generator(), seed: u64, events in 1..25_usize, style in style()
    ) {
        // What is recorded after the events cannot be known before.
        let document = generate(seed, events, Style { header_first: true, ..style });
        let mut random = Random(seed);
        for _ in 0..10 {
            let mut cut = random.below(document.text.len() as u64) as usize;
            if random.once_in(3) {
                // Just before, at or just after the end of an event.
                let end = document.events[random.below(document.events.len() as u64) as usize].end + random.below(3) as usize;
                cut = (end - 1).min(document.text.len());
            }
            check_prefix(&document, cut, &document.text.as_bytes()[..cut]);
            if random.once_in(8) {
                check_prefix(&document, cut, &packed(&document.text.as_bytes()[..cut]));
            }
        }
    }

    #[test]
    fn a_header_after_the_events_is_no_trap(
        generate in pick_generator(), seed: u64, events in 1..25_usize, style in style(), part in 0.0..1.0_f64
    ) {
        let document = generate(seed, events, Style { header_first: false, ..style });
        let cut = (document.text.len() as f64 * part) as usize;
        if let Ok(trace) = read_trace_bytes("trace.json", &document.text.as_bytes()[..cut], &ReadOptions::default()) {
            prop_assert!(runs(&trace).len() <= document.runs_before(cut).len());
            prop_assert!(!trace.warnings.is_empty());
        }
    }

    #[test]
    fn damage_is_survived(generate in pick_generator(), seed: u64, events in 1..25_usize, style in style()) {
        let document = generate(seed, events, style);
        let mut random = Random(seed);
        for _ in 0..5 {
            let mut bytes = document.text.clone().into_bytes();
            for _ in 0..=random.below(3) {
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] = random.pick(b"{}[]\",:\\0-\xffx");
            }
            // Whatever comes of it, it comes.
            let _ = read_trace_bytes("trace.json", &bytes, &ReadOptions::default());
        }
    }
}

/// Large enough that the pieces in which a file is read end inside of events.
#[test]
fn pieces_may_end_anywhere() {
    for (number, generate) in GENERATORS.iter().enumerate() {
        let style = Style { pretty: number == 0, shuffled: true, padding: 4_000, header_first: number == 1 };
        let document = generate(7 + number as u64, 1_600, style);
        assert!(document.text.len() > 5 << 19, "{} bytes", document.text.len());
        assert!(document.runs_before(usize::MAX).len() > 500);
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in [
            ("trace.json", document.text.clone().into_bytes()),
            ("trace.json.gz", packed(document.text.as_bytes())),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("the file is written");
            let trace = read_trace(&path, &ReadOptions::default(), &Progress::default()).expect("a trace");
            assert_read(&trace, &document, document.text.len());
        }
    }
}

/// Pieces are a mebibyte long: an event is moved over the border byte by byte.
#[test]
fn the_border_of_a_piece_may_fall_on_any_byte() {
    const PIECE: usize = 1 << 20;
    let style = Style { pretty: true, shuffled: false, padding: 0, header_first: true };
    let document = kineto::document(3, 6, style);
    let text = &document.text[1..];
    let span = document.events[2].end - document.events[1].end;
    for offset in 0..span {
        // The border falls `offset` bytes after the second event.
        let lead = format!(
            "{{\"pad\":\"{}\",",
            "p".repeat(PIECE - "{\"pad\":\"\",".len() + 1 - document.events[1].end - offset)
        );
        assert_eq!(lead.len() - 1 + document.events[1].end + offset, PIECE);
        let trace =
            read_trace_bytes("trace.json", (lead + text).as_bytes(), &ReadOptions::default()).expect("a trace");
        assert_eq!(unlabelled(&runs(&trace)), unlabelled(&document.runs_before(usize::MAX)));
    }
}
