//! Exported files read back by code that shares nothing with the code that wrote them, each strictly by its format.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

/// Folded stacks as flamegraph.pl and inferno read them: what follows the last space is the count, and a frame that
/// ends in a space and a number would be a second one.
pub fn folded(text: &str) -> BTreeMap<Vec<String>, u64> {
    assert!(text.ends_with('\n'), "the last line is not ended");
    let mut stacks = BTreeMap::new();
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no count: {line}"));
        assert!(!stack.contains(char::is_whitespace), "{stack}");
        let frames: Vec<String> = stack.split(';').map(str::to_owned).collect();
        assert!(frames.iter().all(|frame| !frame.is_empty()), "{line}");
        assert!(stacks.insert(frames, count.parse().expect("a whole number")).is_none(), "twice: {line}");
    }
    stacks
}

/// A sample of a pprof profile.
#[derive(Debug)]
pub struct Sample {
    /// The outermost first.
    pub frames: Vec<String>,
    pub values: Vec<i64>,
    pub labels: BTreeMap<String, String>,
}

/// A pprof profile: what its values are, and its samples. The only mapping is what every location is in.
pub fn pprof(packed: &[u8]) -> (Vec<(String, String)>, Vec<Sample>) {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("gzip");
    let profile = fields(&bytes);
    let texts: Vec<String> =
        messages(&profile, 6).map(|text| String::from_utf8(text.to_vec()).expect("UTF-8")).collect();
    assert_eq!(texts[0], "", "the first text is empty");
    let text = |message: &[u8], tag: u64| texts[one(&fields(message), tag) as usize].clone();
    let types = messages(&profile, 1).map(|kind| (text(kind, 1), text(kind, 2))).collect();
    let functions: BTreeMap<u64, String> =
        messages(&profile, 5).map(|function| (one(&fields(function), 1), text(function, 2))).collect();
    let mappings: Vec<&[u8]> = messages(&profile, 3).collect();
    assert_eq!(mappings.len(), 1);
    assert!(!text(mappings[0], 5).is_empty(), "the program has a name");
    let mapping = one(&fields(mappings[0]), 1);
    let locations: BTreeMap<u64, String> = messages(&profile, 4)
        .map(|location| {
            let location = fields(location);
            let lines: Vec<&[u8]> = messages(&location, 4).collect();
            assert_eq!(lines.len(), 1);
            assert_eq!(one(&location, 2), mapping, "the location is in the program");
            (one(&location, 1), functions[&one(&fields(lines[0]), 1)].clone())
        })
        .collect();
    assert!(!locations.contains_key(&0), "zero is no number of a location");
    let samples = messages(&profile, 2).map(|sample| {
        let sample = fields(sample);
        let mut frames: Vec<String> = numbers(&sample, 1).iter().map(|id| locations[id].clone()).collect();
        frames.reverse();
        let values = numbers(&sample, 2).into_iter().map(|value| value as i64).collect();
        Sample {
            frames,
            values,
            labels: messages(&sample, 3).map(|label| (text(label, 1), text(label, 2))).collect(),
        }
    });
    (types, samples.collect())
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a protocol-buffer message.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(content)
            }
            kind => panic!("wire type {kind}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return value;
        }
    }
    panic!("a number without an end")
}

fn messages<'a>(fields: &'a [(u64, Field<'a>)], tag: u64) -> impl Iterator<Item = &'a [u8]> {
    fields.iter().filter(move |(found, _)| *found == tag).map(|(_, field)| match field {
        Field::Bytes(bytes) => *bytes,
        Field::Number(number) => panic!("{number} is no message"),
    })
}

/// A field that is zero where it is not there.
fn one(fields: &[(u64, Field<'_>)], tag: u64) -> u64 {
    numbers(fields, tag).into_iter().next().unwrap_or(0)
}

fn numbers(fields: &[(u64, Field<'_>)], tag: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    for (_, field) in fields.iter().filter(|(found, _)| *found == tag) {
        match field {
            Field::Number(number) => numbers.push(*number),
            Field::Bytes(packed) => {
                let mut packed = *packed;
                while !packed.is_empty() {
                    numbers.push(varint(&mut packed));
                }
            }
        }
    }
    numbers
}

/// A complete event of a trace.
#[derive(Debug)]
pub struct Slice {
    pub name: String,
    pub process: String,
    pub thread: String,
    pub start_us: f64,
    pub duration_us: f64,
    pub args: Value,
}

/// The rows of a timeline: process and thread, with the slices of what the program noted or of layers that ran: start, end and
/// depth.
pub type Rows = BTreeMap<(String, String), Vec<(String, f64, f64, usize)>>;

/// The rows of a trace of Chrome's events that show no operations.
pub fn chrome_rows(bytes: &[u8]) -> Rows {
    let document: Value = serde_json::from_slice(bytes).expect("JSON");
    let events = document["traceEvents"].as_array().expect("a list of events");
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap_or_else(|| panic!("no {key}: {event}"));
    let place = |event: &Value| (number(event, "pid") as i64, number(event, "tid") as i64);
    let named = |kind: &str| -> BTreeMap<(i64, i64), String> {
        let named = events.iter().filter(|event| event["name"] == kind);
        named.map(|event| (place(event), event["args"]["name"].as_str().expect("a name").to_owned())).collect()
    };
    let processes: BTreeMap<i64, String> =
        named("process_name").into_iter().map(|((process, _), name)| (process, name)).collect();
    let threads = named("thread_name");
    let name = |event: &Value| event["name"].as_str().expect("a name").to_owned();
    let mut rows = Rows::new();
    let mut open: BTreeMap<(i64, i64), Vec<(String, f64)>> = BTreeMap::new();
    for event in events {
        let slice = match event["ph"].as_str() {
            Some("B") => {
                open.entry(place(event)).or_default().push((name(event), number(event, "ts")));
                continue;
            }
            Some("E") => {
                let open = open.get_mut(&place(event)).expect("something is open");
                let (name, start) = open.pop().expect("something is open");
                (name, start, number(event, "ts"), open.len())
            }
            Some("X") if event["args"].get("op").is_none() => {
                let start = number(event, "ts");
                (name(event), start, start + number(event, "dur"), 0)
            }
            _ => continue,
        };
        let row = (processes[&place(event).0].clone(), threads[&place(event)].clone());
        rows.entry(row).or_default().push(slice);
    }
    assert!(open.values().all(Vec::is_empty), "everything that begins ends");
    rows
}

/// The time in microseconds and the watts of each point of a counter, by process.
pub type Watts = BTreeMap<String, Vec<(f64, f64)>>;

/// A trace of Chrome's events: its slices, and the watts of each process over time.
pub fn chrome(bytes: &[u8]) -> (Vec<Slice>, Watts) {
    let document: Value = serde_json::from_slice(bytes).expect("JSON");
    let events = document["traceEvents"].as_array().expect("a list of events");
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap_or_else(|| panic!("no {key}: {event}"));
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    let (mut processes, mut threads) = (BTreeMap::new(), BTreeMap::new());
    for event in events.iter().filter(|event| event["ph"] == "M") {
        let place = (number(event, "pid") as i64, number(event, "tid") as i64);
        match event["name"].as_str() {
            Some("process_name") => drop(processes.insert(place.0, text(&event["args"]["name"]))),
            Some("thread_name") => drop(threads.insert(place, text(&event["args"]["name"]))),
            Some("process_sort_index" | "thread_sort_index") => drop(number(&event["args"], "sort_index")),
            other => panic!("{other:?}"),
        }
    }
    let (mut slices, mut power) = (Vec::new(), Watts::new());
    for event in events {
        let process = || processes[&(number(event, "pid") as i64)].clone();
        match event["ph"].as_str() {
            Some("M") => {}
            Some("C") => {
                let point = (number(event, "ts"), number(&event["args"], "watts"));
                power.entry(process()).or_default().push(point);
            }
            // What the program noted, and layers.
            Some("X") if event["args"].get("op").is_none() => {}
            Some("B" | "E") => {}
            Some("X") => slices.push(Slice {
                name: text(&event["name"]),
                process: process(),
                thread: threads[&(number(event, "pid") as i64, number(event, "tid") as i64)].clone(),
                start_us: number(event, "ts"),
                duration_us: number(event, "dur"),
                args: event["args"].clone(),
            }),
            other => panic!("phase {other:?}"),
        }
    }
    assert!(slices.iter().all(|event| event.start_us >= 0.0 && event.duration_us >= 0.0));
    assert_nested(&slices);
    (slices, power)
}

/// Slices of a thread nest, or Perfetto moves the end of some.
fn assert_nested(slices: &[Slice]) {
    let mut threads: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for slice in slices {
        let times = (slice.start_us, slice.start_us + slice.duration_us);
        threads.entry((&slice.process, &slice.thread)).or_default().push(times);
    }
    for (thread, mut times) in threads {
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut open: Vec<f64> = Vec::new();
        for (start, end) in times {
            // Times are in nanoseconds.
            open.retain(|open| *open > start + 5e-4);
            assert!(
                open.last().is_none_or(|open| end <= open + 5e-4),
                "{thread:?}: {start} … {end} does not nest"
            );
            open.push(end);
        }
    }
}

/// A thread of a Firefox profile: the stack and the weight of each sample, the outermost frame first.
#[derive(Debug)]
pub struct Thread {
    pub process: String,
    pub name: String,
    /// The markers, by name and text.
    pub markers: Vec<(String, String)>,
    pub samples: Vec<(Vec<String>, f64)>,
}

/// A Firefox profile: what it is called, its threads, and the energy in picowatt-hours of each counter of power.
pub fn firefox(bytes: &[u8]) -> (String, Vec<Thread>, BTreeMap<String, f64>) {
    let profile: Value = serde_json::from_slice(bytes).expect("JSON");
    let product = profile["meta"]["product"].as_str().expect("a product").to_owned();
    let threads = profile["threads"].as_array().expect("threads");
    let counters = profile["counters"].as_array().expect("counters");
    let power = counters.iter().map(|counter| {
        assert_eq!(counter["category"], "power");
        let main = counter["mainThreadIndex"].as_u64().expect("a thread") as usize;
        assert_eq!(threads[main]["pid"], counter["pid"], "the main thread is of the same process");
        let samples = &counter["samples"];
        column(samples, "timeDeltas")
            .iter()
            .for_each(|delta| assert!(delta.as_f64() >= Some(0.0), "time runs on"));
        let energy = column(samples, "count").iter().filter_map(Value::as_f64).sum();
        (counter["name"].as_str().expect("a name").to_owned(), energy)
    });
    let power = power.collect();
    let threads = threads.iter().map(|thread| decoded_thread(thread, &profile)).collect();
    (product, threads, power)
}

fn decoded_thread(thread: &Value, profile: &Value) -> Thread {
    let texts =
        profile["shared"]["stringArray"].as_array().or_else(|| thread["stringArray"].as_array()).expect("texts");
    let (stacks, frames, functions) = (&thread["stackTable"], &thread["frameTable"], &thread["funcTable"]);
    let at = |table: &Value, key: &str, row: u64| table[key][row as usize].clone();
    let name = |stack: u64| {
        let frame = at(stacks, "frame", stack).as_u64().expect("a frame");
        let function = at(frames, "func", frame).as_u64().expect("a function");
        let text = at(functions, "name", function).as_u64().expect("a name") as usize;
        texts[text].as_str().expect("text").to_owned()
    };
    let samples = &thread["samples"];
    assert_eq!(samples["weightType"], "samples");
    column(samples, "timeDeltas").iter().for_each(|delta| assert!(delta.as_f64() >= Some(0.0), "time runs on"));
    let rows = column(samples, "stack").iter().zip(column(samples, "weight")).map(|(stack, weight)| {
        let mut frames = Vec::new();
        let mut above = stack.as_u64();
        while let Some(stack) = above {
            frames.push(name(stack));
            above = at(stacks, "prefix", stack).as_u64();
        }
        frames.reverse();
        (frames, weight.as_f64().expect("a weight"))
    });
    let words = |value: &Value| match value.as_u64() {
        Some(number) => texts[number as usize].as_str().expect("text").to_owned(),
        None => value.as_str().expect("text").to_owned(),
    };
    let markers = column(&thread["markers"], "name").iter().zip(column(&thread["markers"], "data"));
    Thread {
        process: thread["processName"].as_str().expect("a process").to_owned(),
        name: thread["name"].as_str().expect("a name").to_owned(),
        markers: markers.map(|(name, data)| (words(name), words(&data["text"]))).collect(),
        samples: rows.collect(),
    }
}

/// A column of a table, which is as long as the table says.
fn column<'a>(table: &'a Value, key: &str) -> &'a [Value] {
    let column = table[key].as_array().unwrap_or_else(|| panic!("no column {key}"));
    assert_eq!(Some(column.len() as u64), table["length"].as_u64(), "{key}");
    column
}
