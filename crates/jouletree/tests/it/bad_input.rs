//! Input that is cut, damaged, of another kind or plainly wrong: each case ends with the exit code that is documented
//! and a message that names the file and the place. Nothing panics, and an error leaves standard output empty.

use crate::common;

use std::io::Read;

use common::*;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

/// When the small traces of this file begin, in microseconds.
const BEGIN: i64 = 1_772_442_000_000_000;

/// An operation of a TensorFlow timeline, `start` microseconds after the beginning.
fn op(start: i64, duration: i64, name: &str) -> Value {
    let args = json!({"name": name, "op": "MatMul"});
    json!({"ph": "X", "cat": "Op", "name": "MatMul", "pid": 1, "tid": 0, "ts": BEGIN + start, "dur": duration, "args": args})
}

fn timeline_of(ops: &[Value]) -> String {
    let process = "/job:localhost/replica:0/task:0/device:CPU:0 Compute";
    let mut events = vec![json!({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}})];
    events.extend_from_slice(ops);
    json!({"traceEvents": events}).to_string()
}

fn good_timeline() -> String {
    timeline_of(&[op(1_000, 5_000, "bert/MatMul")])
}

/// A Kineto trace of these events, which are JSON already.
fn kineto(events: &str) -> String {
    format!(r#"{{"schemaVersion":1,"traceEvents":[{events}]}}"#)
}

/// An operator with these times, written as they are.
fn operator(start: &str, duration: &str) -> String {
    format!(r#"{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":{start},"dur":{duration}}}"#)
}

fn at(start: i64) -> String {
    (BEGIN + start).to_string()
}

/// Power of 20 W from the beginning on, every millisecond for 20 ms.
fn good_power() -> String {
    readings("epoch_us,device,watts", "cpu:0", "20")
}

fn readings(header: &str, device: &str, watts: &str) -> String {
    let rows = (0..=20).map(|row| format!("{},{device},{watts}\n", BEGIN + 1_000 * row));
    format!("{header}\n{}", rows.collect::<String>())
}

fn good_power_and(rows: &[(i64, &str)]) -> String {
    good_power() + &rows.iter().map(|(time, rest)| format!("{},{rest}\n", BEGIN + time)).collect::<String>()
}

/// What is expected of an input.
enum End {
    /// It cannot be used.
    Refused,
    /// It is used, with a warning, for so many operations.
    Warned(u64),
    /// There is nothing to say about it, and it has so many operations.
    Fine(u64),
}
use End::{Fine, Refused, Warned};

struct Case {
    what: &'static str,
    trace: Vec<u8>,
    power: String,
    end: End,
    /// What the message says.
    says: &'static [&'static str],
}

fn trace(what: &'static str, content: impl Into<Vec<u8>>, end: End, says: &'static [&'static str]) -> Case {
    Case { what, trace: content.into(), power: good_power(), end, says }
}

fn power(what: &'static str, power: String, end: End, says: &'static [&'static str]) -> Case {
    Case { what, trace: good_timeline().into(), power, end, says }
}

fn check(cases: Vec<Case>) {
    let files = Files::new();
    for Case { what, trace, power, end, says } in cases {
        let trace = files.write("trace.json", trace);
        let power = files.write("power.csv", power);
        let arguments = ["account", &trace, "--power", &power, "--format", "json"];
        let ran = run(arguments);
        for part in says {
            assert!(ran.stderr.contains(part), "{what}: `{part}` is missing in: {}", ran.stderr);
        }
        let strict = run(arguments.into_iter().chain(["--strict"]));
        assert_eq!((&strict.stdout, &strict.stderr), (&ran.stdout, &ran.stderr), "{what}");
        let (code, under_strict, operations) = match end {
            Refused => (1, 1, None),
            Warned(operations) => (0, 3, Some(operations)),
            Fine(operations) => (0, 0, Some(operations)),
        };
        assert_eq!((ran.code, strict.code), (code, under_strict), "{what}: {}", ran.stderr);
        let beginning = if code == 1 { "error: " } else { "warning: " };
        assert_eq!(ran.stderr.is_empty(), matches!(end, Fine(_)), "{what}: {}", ran.stderr);
        assert!(ran.stderr.lines().all(|line| line.starts_with(beginning)), "{what}: {}", ran.stderr);
        match operations {
            None => assert_eq!(ran.stdout, "", "{what}"),
            Some(operations) => {
                let result = ran.json();
                assert_conserved(&result);
                assert_eq!(operations_in(&result), operations, "{what}");
            }
        }
    }
}

fn operations_in(result: &Value) -> u64 {
    list(result, "ops").iter().map(|op| op["count"].as_u64().expect("a count")).sum()
}

#[test]
fn what_is_no_trace_is_refused_and_what_is_another_tools_is_told() {
    const KNOWN: &str = "it reads onnxruntime, pytorch-kineto, tensorflow-timeline";
    check(vec![
        trace("empty", "", Refused, &["trace.json", "it is empty", KNOWN]),
        trace("words", "hello world", Refused, &["trace.json", "it begins with `hello world`", KNOWN]),
        trace("a picture", &b"\x89PNG\r\n\x1a\n\0\0"[..], Refused, &["trace.json", r"\x89PNG", KNOWN]),
        trace("every byte", (0..=255).collect::<Vec<u8>>(), Refused, &["trace.json", KNOWN]),
        trace("a number", "42 ", Refused, &["trace.json", KNOWN]),
        trace("a lone string", r#""events""#, Refused, &["trace.json", KNOWN]),
        trace("an object", r#"{"a":1,"b":[2]}"#, Refused, &["trace.json", "without trace events (keys: a, b)"]),
        trace("an empty object", "{}", Refused, &["trace.json", "without trace events", KNOWN]),
        trace("an empty list", "[]", Refused, &["trace.json", "without trace events", KNOWN]),
        trace("no events", r#"{"traceEvents":[]}"#, Refused, &["trace.json", "without trace events", KNOWN]),
        trace("gzip of nothing", packed(b""), Refused, &["trace.json"]),
        trace("gzip of words", packed(b"hello world"), Refused, &["trace.json", "hello world", KNOWN]),
        trace("the head of a gzip", &b"\x1f\x8b"[..], Refused, &["trace.json", "cannot be read"]),
        trace("no gzip after all", &b"\x1f\x8bnonsense"[..], Refused, &["trace.json", "cannot be read"]),
        trace(
            "a trace of another tool",
            json!([{"ph": "X", "cat": "blink", "name": "paint", "ts": BEGIN, "dur": 1, "pid": 1, "tid": 1}])
                .to_string(),
            Warned(1),
            &["trace.json", "a Chrome trace of an unknown program"],
        ),
        trace(
            "UTF-16",
            good_timeline().encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            Refused,
            &["trace.json", KNOWN],
        ),
        trace("lists in lists", "[".repeat(100_000), Refused, &["trace.json", KNOWN]),
        trace("objects in objects", r#"{"a":"#.repeat(100_000), Refused, &["trace.json", KNOWN]),
    ]);
}

#[test]
fn events_that_make_no_sense_are_left_out_and_told() {
    let without_start =
        json!({"ph": "X", "cat": "Op", "name": "x", "pid": 1, "tid": 0, "args": {"name": "a", "op": "b"}});
    let unnamed = json!({"ph": "X", "cat": "Op", "name": "x", "pid": 1, "tid": 0, "ts": BEGIN, "dur": 4});
    let stray = json!({"ph": "X", "cat": "Op", "name": "x", "pid": 9, "tid": 0, "ts": BEGIN, "dur": 4, "args": {"name": "a", "op": "b"}});
    check(vec![
        trace(
            "a negative duration",
            timeline_of(&[op(1_000, -5, "a"), op(2_000, 5, "b"), op(3_000, -1, "c")]),
            Warned(1),
            &["trace.json: byte 1", "2 events with a negative duration are left out; the first is here"],
        ),
        trace(
            "negative durations only",
            timeline_of(&[op(1_000, -5, "a")]),
            Refused,
            &["trace.json", "no operation", "byte 1", "1 events with a negative duration"],
        ),
        trace(
            "no start",
            timeline_of(&[op(1_000, 5, "a"), without_start]),
            Warned(1),
            &["trace.json: byte ", "1 events without a readable start and duration are left out"],
        ),
        trace(
            "no name",
            timeline_of(&[op(1_000, 5, "a"), unnamed]),
            Warned(1),
            &["trace.json: byte ", "1 events without the name of an operation are left out"],
        ),
        trace(
            "a process that is no device",
            timeline_of(&[op(1_000, 5, "a"), stray]),
            Warned(1),
            &["trace.json: byte ", "1 events of processes that are no device are left out"],
        ),
        trace(
            "overlap in a lane",
            timeline_of(&[op(1_000, 500, "a"), op(1_200, 800, "b"), op(5_000, 10, "c")]),
            Warned(3),
            &["trace.json: byte ", "1 events overlap another in the same lane", "began last counts as active"],
        ),
        trace(
            "an unknown category",
            kineto(&format!("{},{}", operator(&at(5), "1"), operator(&at(5), "1").replace("cpu_op", "mystery"))),
            Warned(1),
            &["trace.json", "1 events of the unknown category `mystery` are left out"],
        ),
        trace(
            "a kernel without launch on a device without power",
            kineto(&format!("{},{}", operator(&at(5), "1"), operator(&at(5), "1").replace("cpu_op", "kernel"))),
            Warned(2),
            &["host/gpu:7: 1 events and no power: their energy is not known", "gathered under `unlaunched`"],
        ),
        trace("no time at all", kineto(&operator("null", "[]")), Refused, &["trace.json", "no operation"]),
        trace(
            "events are null",
            r#"{"schemaVersion":1,"traceEvents":null}"#,
            Refused,
            &["trace.json", "no operation"],
        ),
    ]);
}

#[test]
fn odd_but_possible_traces_are_read() {
    let operator_at = |start: i64| operator(&at(start), "5");
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let long = "n".repeat(1_000_000);
    let mut not_utf8 = kineto(&operator_at(5).replace("aten::mm", "aten::?")).into_bytes();
    let place = not_utf8.iter().position(|byte| *byte == b'?').expect("the mark");
    not_utf8[place] = 0xff;
    check(vec![
        trace(
            "digits without end",
            kineto(&format!("{},{}", operator(&"9".repeat(60), "1"), operator_at(5))),
            Warned(1),
            &["trace.json: byte 34", "1 events without a readable start"],
        ),
        trace("an exponent", kineto(&operator("1.772442000001e15", "2E2")), Fine(1), &[]),
        trace(
            "a huge exponent",
            kineto(&format!("{},{}", operator("1e400", "1"), operator_at(5))),
            Warned(1),
            &["trace.json: byte 34"],
        ),
        trace(
            "the end of time",
            kineto(&format!("{},{}", operator("9223372036854775", "9"), operator_at(5))),
            Warned(2),
            &["while no power is known"],
        ),
        trace(
            "a duration of centuries",
            kineto(&operator(&at(5), "9223372036854775")),
            Warned(1),
            &["while no power is known"],
        ),
        trace(
            "numbers in strings",
            kineto(&operator(&format!("\"{}\"", at(5)), "\"7.5\"").replace("\"tid\":7", "\"tid\":\"main\"")),
            Fine(1),
            &[],
        ),
        trace("no process", kineto(&operator_at(5).replace("\"pid\":7", "\"pid\":null")), Fine(1), &[]),
        trace(
            "deep arguments",
            kineto(&operator_at(5).replace("\"pid\"", &format!("\"args\":{{\"x\":{deep}}},\"pid\""))),
            Fine(1),
            &[],
        ),
        trace("not UTF-8", not_utf8, Fine(1), &[]),
        trace("keys twice", kineto(&operator_at(5).replace("\"ts\":", "\"ts\":1,\"ts\":")), Fine(1), &[]),
        trace(
            "lists of events twice",
            kineto(&operator_at(5)).replace("]}", &format!("],\"traceEvents\":[{}]}}", operator_at(50))),
            Fine(2),
            &[],
        ),
        trace("a long name", kineto(&operator_at(5).replace("aten::mm", &long)), Fine(1), &[]),
        trace(
            "things that are no events",
            kineto(&format!("1,null,\"x\",[{{}}],{{}},{}", operator_at(5))),
            Fine(1),
            &[],
        ),
        trace("a byte order mark", format!("\u{feff}{}", good_timeline()), Fine(1), &[]),
        trace("something after the end", good_timeline() + "\ntail", Fine(1), &[]),
        trace(
            "gzip in two members",
            [packed(&good_timeline().as_bytes()[..50]), packed(&good_timeline().as_bytes()[50..])].concat(),
            Fine(1),
            &[],
        ),
        trace(
            "a gap of 10⁹ seconds",
            timeline_of(&[op(1_000, 500, "a"), op(1_000_000_000_000_000, 500, "b")]),
            Warned(2),
            &["host/cpu:0", "500 µs", "while no power is known"],
        ),
        trace(
            "times from the start of the trace",
            r#"[{"name":"aten::mm","ph":"X","ts":113,"dur":7,"tid":1,"pid":"CPU functions","args":{}}]"#,
            Refused,
            &["cover different times", "from epoch_ns 113000 to 120000", "counts time from its own start"],
        ),
    ]);
}

#[test]
fn a_damaged_trace_is_used_up_to_the_damage() {
    let ops: Vec<Value> = (0..100).map(|number| op(100 * number, 50, &format!("layer/{number}"))).collect();
    let whole = timeline_of(&ops);
    let middle = whole.find("layer/50").expect("an operation");
    let mut damaged = whole.clone().into_bytes();
    damaged[middle - 8] = b'?';
    let mut flipped = packed(whole.as_bytes());
    let half = flipped.len() / 2;
    flipped[half] ^= 0xff;
    let files = Files::new();
    let (trace_file, power_file) = (files.write("trace.json", flipped), files.write("power.csv", good_power()));
    let ran = run(["account", &trace_file, "--power", &power_file, "--format", "json"]);
    assert!(ran.stderr.contains("trace.json: byte "), "{}", ran.stderr);
    assert!((1..100).contains(&operations_in(&ran.json())));
    check(vec![trace(
        "a wrong byte",
        damaged,
        Warned(50),
        &["trace.json: byte ", "the file is damaged here: expected ", "the 51 events before are used"],
    )]);
}

/// How many operations of `whole` are complete before its byte `cut`.
fn complete_before(whole: &str, ops: usize, cut: usize) -> usize {
    let mut from = 0;
    (0..ops)
        .take_while(|number| {
            let at = from + whole[from..].find(&format!("layer/{number}\"")).expect("an operation");
            // The event ends with the second brace after its name.
            let end = at + whole[at..].match_indices('}').nth(1).expect("its end").0 + 1;
            from = end;
            end <= cut
        })
        .count()
}

#[test]
fn a_cut_trace_yields_every_event_before_the_cut() {
    const OPS: usize = 60;
    let ops = (0..OPS).map(|number| {
        let mut event = op(100 * number as i64, 50, "");
        event["args"] = json!({"name": format!("layer/{number}")});
        // Written explicitly, so that the name is last.
        let head = format!(r#"{{"ph":"X","cat":"Op","name":"Mul","pid":1,"tid":0,"ts":{},"dur":50"#, event["ts"]);
        format!(r#"{head},"args":{{"op":"Mul","name":"layer/{number}"}}}}"#)
    });
    let process = r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"/host:CPU Compute"}}"#;
    let whole = format!(r#"{{"traceEvents":[{process},{}]}}"#, ops.collect::<Vec<_>>().join(","));
    let packed_whole = packed(whole.as_bytes());
    let first_event = whole.find("layer/0\"}}").expect("an operation") + 10;

    let files = Files::new();
    let power = files.write("power.csv", good_power());
    let cuts = (1..whole.len()).step_by(whole.len() / 40).chain([first_event - 1, first_event, whole.len() - 1]);
    for cut in cuts {
        let trace = files.write("cut.json", &whole[..cut]);
        let ran = run(["account", &trace, "--power", &power, "--format", "json"]);
        let complete = complete_before(&whole, OPS, cut);
        if complete == 0 {
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "cut at {cut}");
            assert!(ran.stderr.contains("cut.json"), "cut at {cut}: {}", ran.stderr);
            continue;
        }
        let message = format!("cut.json: byte {cut}: the file is cut short here; the {} events", complete + 1);
        assert!(ran.stderr.contains(&message), "cut at {cut}: {}", ran.stderr);
        let result = ran.json();
        assert_eq!(operations_in(&result), complete as u64, "cut at {cut}");
        assert_conserved(&result);
    }
    for cut in (0..packed_whole.len()).step_by(packed_whole.len() / 12) {
        let trace = files.write("cut.json.gz", &packed_whole[..cut]);
        let ran = run(["account", &trace, "--power", &power, "--format", "json"]);
        let mut inflated = Vec::new();
        let _ = GzDecoder::new(&packed_whole[..cut]).read_to_end(&mut inflated);
        let complete = complete_before(&whole, OPS, inflated.len());
        if complete == 0 {
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "cut at {cut}");
        } else if inflated.len() < whole.len() {
            let message = format!("cut.json.gz: byte {}: the file is cut short here", inflated.len());
            assert!(ran.stderr.contains(&message), "cut at {cut}: {}", ran.stderr);
            assert_eq!(operations_in(&ran.json()), complete as u64, "cut at {cut}");
        }
    }
}

#[test]
fn a_cut_of_the_sample_yields_what_was_before() {
    let mut whole = Vec::new();
    let sample_bytes = std::fs::read(sample("rank0.json.gz")).expect("the sample");
    GzDecoder::new(sample_bytes.as_slice()).read_to_end(&mut whole).expect("the sample is whole");
    let files = Files::new();
    let mut before = 0;
    for tenth in 3..=9 {
        let cut = whole.len() * tenth / 10;
        let trace = files.write("rank0.json", &whole[..cut]);
        let result = account([&trace, "--power", &sample("power-ranks.csv")]);
        let messages = warnings(&result);
        assert!(messages.iter().any(|message| message.contains("cut short")), "{messages:?}");
        // One event is on one line.
        let complete =
            whole[..cut].split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"  {\"ph\": \"X\""));
        let complete = complete.filter(|line| line.ends_with(b"},") || line.ends_with(b"}")).count() as u64;
        let read: u64 = list(&list(&result, "traces")[0], "counts")
            .iter()
            .map(|row| row["events"].as_u64().expect("a count"))
            .sum();
        assert_eq!(read, complete, "cut at {cut}");
        assert!(read > before);
        before = read;
    }
}

#[test]
fn power_in_another_unit_is_refused_with_the_remedy() {
    let other = |header| readings(header, "cpu:0", "20");
    check(vec![
        power(
            "microseconds as milliseconds",
            other("epoch_ms,device,watts"),
            Refused,
            &["power.csv: line 2", "between the years 2000 and 2100", "name the column epoch_us"],
        ),
        power(
            "microseconds as nanoseconds",
            other("epoch_ns,device,watts"),
            Refused,
            &["power.csv: line 2", "name the column epoch_us"],
        ),
        power("microseconds as a date", other("time,device,watts"), Refused, &["power.csv: line 2", "epoch_us"]),
        power(
            "milliseconds as microseconds",
            "epoch_us,device,watts\n1772442000000,cpu:0,20\n".into(),
            Refused,
            &["power.csv: line 2", "name the column epoch_ms"],
        ),
        power(
            "seconds",
            "epoch_ms,device,watts\n1772442000,cpu:0,20\n".into(),
            Refused,
            &["power.csv: line 2", "multiply by 1000"],
        ),
        power(
            "a column of milliwatts",
            other("epoch_us,device,mW"),
            Refused,
            &["power.csv: line 1", "column `mw`", "convert to watts"],
        ),
        power("power_mw", other("epoch_us,device,power_mw"), Refused, &["power.csv: line 1", "convert to watts"]),
        power(
            "milliwatts as watts",
            readings("epoch_us,device,watts", "cpu:0", "250000"),
            Warned(1),
            &["power.csv: line 2", "readings above 100 kW: 21; are these milliwatts?"],
        ),
        power(
            "no time",
            other("when,device,watts"),
            Refused,
            &["power.csv: line 1", "epoch_ns, epoch_us, epoch_ms or time", "the columns are when, device, watts"],
        ),
        power("no device", other("epoch_us,thing,watts"), Refused, &["power.csv: line 1", "no column device"]),
        power(
            "no header",
            good_power().lines().skip(1).map(|line| format!("{line}\n")).collect(),
            Refused,
            &["power.csv", "the first line must name the columns"],
        ),
        power(
            "an unknown device",
            readings("epoch_us,device,watts", "processor", "20"),
            Refused,
            &["power.csv: line 2", "`processor` is not a device; write cpu:0"],
        ),
    ]);
}

#[test]
fn readings_that_cannot_be_are_refused_where_they_stand() {
    let bad = |value: &str| good_power_and(&[(30_000, &format!("cpu:0,{value}")), (31_000, "cpu:0,20")]);
    check(vec![
        power("not a number", bad("NaN"), Refused, &["power.csv: line 23", "not finite"]),
        power("infinite", bad("inf"), Refused, &["power.csv: line 23", "not finite"]),
        power("negative", bad("-3"), Refused, &["power.csv: line 23", "is negative"]),
        power("a word", bad("high"), Refused, &["power.csv: line 23", "is not a number"]),
        power("a comma", bad("1,5"), Refused, &["power.csv: line 23", "write 1.5 rather than 1,5"]),
        power("nothing", String::new(), Refused, &["power.csv", "the first line must name the columns"]),
        power(
            "a header only",
            "epoch_us,device,watts\n".into(),
            Refused,
            &["power.csv", "no readings below the header"],
        ),
        power(
            "one reading",
            good_power().lines().take(2).map(|line| format!("{line}\n")).collect(),
            Refused,
            &["covers no time: host/cpu:0", "--hold"],
        ),
        power(
            "a counter that falls",
            format!(
                "epoch_us,device,joules\n{BEGIN},cpu:0,5\n{},cpu:0,6\n{},cpu:0,2\n{},cpu:0,3\n",
                BEGIN + 1_000,
                BEGIN + 2_000,
                BEGIN + 3_000
            ),
            Refused,
            &["power.csv: line 4", "the counter of host/cpu:0 falls from 6 J to 2 J", "unwrap it first"],
        ),
        power("too much", readings("epoch_us,device,watts", "cpu:0", "1e308"), Warned(1), &["power.csv: line 2"]),
    ]);
}

#[test]
fn odd_power_is_mended_and_told() {
    let shuffled = {
        let good = good_power();
        let mut lines: Vec<&str> = good.lines().collect();
        lines[3..10].reverse();
        lines.iter().map(|line| format!("{line}\n")).collect()
    };
    let far = 1_000_000_000_000_000;
    check(vec![
        power(
            "out of order",
            shuffled,
            Warned(1),
            &["power.csv: line 5", "readings out of time order: 6; they were sorted"],
        ),
        power(
            "twice",
            good_power_and(&[(20_000, "cpu:0,20")]),
            Warned(1),
            &["power.csv: line 23", "duplicate readings: 1"],
        ),
        power(
            "contradiction",
            good_power_and(&[(20_000, "cpu:0,25")]),
            Warned(1),
            &["power.csv: line 23", "the later line was kept"],
        ),
        power("cut", good_power() + "17724420000", Warned(1), &["power.csv: line 23", "the last line is cut off"]),
        power(
            "a column more",
            good_power().replace("watts", "watts,note").replace(",20\n", ",20,x\n"),
            Warned(1),
            &["power.csv: line 1", "ignored: note"],
        ),
        power(
            "a gap of 10⁹ seconds",
            good_power_and(&[(far, "cpu:0,20"), (far + 1_000, "cpu:0,20")]),
            Warned(1),
            &[
                "power.csv: host/cpu:0 reading 21 (epoch_ns 1772442000020000000)",
                "no reading for 1.00 Gs",
                "counts as unknown",
            ],
        ),
        power(
            "a counter with a gap of 10⁹ seconds",
            format!(
                "epoch_us,device,joules\n{BEGIN},cpu:0,5\n{},cpu:0,6\n{},cpu:0,7\n{},cpu:0,8\n",
                BEGIN + 1_000,
                BEGIN + far,
                BEGIN + far + 1_000
            ),
            Warned(1),
            &["power.csv: host/cpu:0 reading 3", "did not change for 1.00 Gs", "spread evenly"],
        ),
        power(
            "power and no events",
            good_power_and(&[(0, "gpu:3,20"), (1_000, "gpu:3,20")]),
            Warned(1),
            &["host/gpu:3: power and no events: all of its 20.0 mJ is unattributed"],
        ),
        power(
            "another device",
            readings("epoch_us,device,watts", "gpu:0", "20"),
            Refused,
            &["operations ran on host/cpu:0, power is known for host/gpu:0", "name the devices"],
        ),
        power(
            "another time",
            good_power().replace("1772442", "1872442"),
            Refused,
            &["cover different times", "1772442000001000000", "1872442000000000000", "check the unit"],
        ),
    ]);
}

#[test]
fn files_that_are_not_there_are_named() {
    let files = Files::new();
    let (trace, power) = (files.write("trace.json", good_timeline()), files.write("power.csv", good_power()));
    let folder = files.path("folder");
    std::fs::create_dir(&folder).expect("a folder");
    let missing = files.path("missing");
    let below_a_file = format!("{trace}/run");
    let table: [(&[&str], &[&str]); 9] = [
        (&["account", &missing, "--power", &power], &["missing: cannot be read"]),
        (&["account", &trace, "--power", &missing], &["missing: cannot read the file"]),
        (
            &["account", &folder, "--power", &power],
            &["folder: not a trace jouletree knows: it is a folder in which no file is a trace"],
        ),
        (&["account", &trace, "--power", &folder], &["not a run folder: no manifest.json in "]),
        (
            &["account", &trace, "--power", &power, "--power", &power],
            &["power.csv: host/cpu:0 has power from another file already"],
        ),
        (&["account", &trace, "--power", &power, "-o", &below_a_file], &["cannot create the folder"]),
        (&["show", &missing], &["there is no folder", "missing"]),
        (&["show", &folder], &["not a run folder", "folder"]),
        (&["show", &trace], &["not a run folder", "trace.json"]),
    ];
    for (arguments, says) in table {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{arguments:?}: {}", ran.stderr);
        for part in says {
            assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
        }
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn a_damaged_run_is_refused() {
    let files = Files::new();
    let (trace, power, folder) =
        (files.write("trace.json", good_timeline()), files.write("power.csv", good_power()), files.path("run"));
    run(["account", &trace, "--power", &power, "-o", &folder]).ok();
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let file = entry.expect("an entry").path();
        let whole = std::fs::read(&file).expect("a file");
        for cut in [0, whole.len() / 2, whole.len() - 2] {
            std::fs::write(&file, &whole[..cut]).expect("the file is written");
            let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
            // Each command reads its own part of a run.
            let ends = [run(["account", &folder]), run(["show", &folder])];
            assert!(
                name == "tree.json" || ends.iter().any(|ran| ran.code == 1),
                "{name} cut at {cut} was believed"
            );
            for ran in ends.iter().filter(|ran| ran.code != 0) {
                assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{name} cut at {cut}");
                assert!(ran.stderr.contains(name), "{name} cut at {cut}: {}", ran.stderr);
            }
        }
        std::fs::write(&file, &whole).expect("the file is written");
    }
}

/// A pipe in the place of a file would be waited for without end.
#[test]
fn a_pipe_in_a_run_is_refused() {
    use std::process::Command;
    let files = Files::new();
    let (trace, power, folder) =
        (files.write("trace.json", good_timeline()), files.write("power.csv", good_power()), files.path("run"));
    run(["account", &trace, "--power", &power, "-o", &folder]).ok();
    for name in ["manifest.json", "ops.parquet", "power.parquet", "tree.json", "footprint.parquet"] {
        let file = format!("{folder}/{name}");
        let whole = std::fs::read(&file).expect("a file");
        std::fs::remove_file(&file).expect("a file");
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
        let verbs = ["show", "account"].map(|verb| {
            let mut command = Command::new("timeout");
            command.args(["60", env!("CARGO_BIN_EXE_jouletree"), verb, &folder]);
            ended(command.output().expect("the command starts"))
        });
        assert!(verbs.iter().all(|ran| ran.code <= 1), "{name}: {verbs:?}");
        assert!(verbs.iter().any(|ran| ran.code == 1), "{name}: {verbs:?}");
        std::fs::remove_file(&file).expect("a pipe");
        std::fs::write(&file, &whole).expect("the file is written");
    }
    let pipe = files.path("page.html");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_jouletree"), "report", &folder, "-o", &pipe]);
    let ran = ended(command.output().expect("the command starts"));
    assert!(ran.code == 1 && ran.stderr.contains("is no report"), "{}", ran.stderr);
}

#[test]
fn a_hundred_thousand_lanes_of_nothing_and_of_ages_are_accounted() {
    const LANES: u64 = 100_000;
    let files = Files::new();
    let durations = [0, 1, 50, 1_000_000_000_000_u64];
    let mut document = String::from(r#"{"schemaVersion": 1, "traceEvents": ["#);
    for lane in 0..LANES {
        let (start, duration) = (BEGIN as u64 + lane % 5000, durations[lane as usize % durations.len()]);
        let comma = if lane == 0 { "" } else { "," };
        document += &format!(
            r#"{comma}{{"ph":"X","cat":"cpu_op","name":"aten::add","pid":"worker {}","tid":{lane},"ts":{start},"dur":{duration}}}"#,
            lane % 7
        );
    }
    document += "]}";
    let trace = files.write("trace.json", document);
    let start = BEGIN * 1000;
    let power = files.write("power.csv", power_over(start, start + 20_000_000, &["cpu:0"]));
    let result = account([&trace, "--power", &power]);
    assert_conserved(&result);
    assert_eq!(operations_in(&result), LANES);
    let inspection = run(["inspect", &trace, "--format", "json"]).json();
    assert_eq!(inspection["devices"][0]["lanes"], LANES);
}

/// A trace that names thousands of GPUs, each with an operation of its own: memory goes with their sum and not with their
/// product, which would be a gigabyte here.
#[test]
fn thousands_of_gpus_are_accounted_in_little_memory() {
    const GPUS: u64 = 6_500;
    let files = Files::new();
    let kernel = |gpu: u64| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"k{gpu}","pid":{gpu},"tid":7,"ts":{},"dur":80,"args":{{"device":{gpu},"stream":7}}}}"#,
            BEGIN as u64 + 100 + gpu % 7
        )
    };
    let trace = files.write("trace.json", kineto(&(0..GPUS).map(kernel).collect::<Vec<_>>().join(",")));
    let power = files.write("power.csv", readings("epoch_us,device,watts", "gpu:3", "50"));
    let limited = |arguments: &[&str]| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -v 900000; exec \"$@\"", "sh"]).arg(jouletree().get_program()).args(arguments);
        ended(
            shell.env("RAYON_NUM_THREADS", "2").env("MALLOC_ARENA_MAX", "2").output().expect("the command starts"),
        )
    };
    let result = limited(&["account", &trace, "--power", &power, "--format", "json"]).json();
    assert_conserved(&result);
    assert_eq!(operations_in(&result), GPUS);
    let inspection = limited(&["inspect", &trace, "--format", "json"]).json();
    assert_eq!(list(&inspection, "devices").len() as u64, GPUS);
    // Kernels that no reader uses are missing, and said to be.
    let range =
        r#"{"ph":"X","cat":"cuda_profiler_range","name":"gemm","pid":0,"tid":7,"ts":1772442000000200,"dur":9}"#;
    let ranges = files.write("ranges.json", kineto(&format!("{},{range}", operator(&at(100), "80"))));
    let text = run(["inspect", &ranges]).ok();
    assert!(text.contains("kernels of CUPTI's range profiler (`cuda_profiler_range`, 1)"), "{text}");
}
