//! Tables of events: the same table in every form, units, wrong rows, damage.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMicrosecondArray, UInt64Array,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_model::{BaseOrigin, Nanos, Pass, TimeBase, Trace};
use jouletree_trace::{Progress, ReadOptions, TraceError, read_trace, read_trace_bytes};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression as PageCompression;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

const EPOCH: i64 = 1_794_771_668_117_931_424;

fn census() -> ReadOptions {
    ReadOptions { census: true, ..ReadOptions::default() }
}

fn attempt(bytes: impl AsRef<[u8]>) -> Result<Trace, TraceError> {
    read_trace_bytes("events", bytes.as_ref(), &census())
}

fn read(bytes: impl AsRef<[u8]>) -> Trace {
    attempt(bytes).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(bytes: impl AsRef<[u8]>) -> String {
    attempt(bytes).expect_err("no trace").to_string()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn parquet(columns: Vec<(&str, ArrayRef)>, compression: PageCompression) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
            .expect("columns");
    let mut file = Vec::new();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    file
}

/// One line for each event: device, lane, path, type, name, pass, step, start and end.
fn shown(trace: &Trace) -> Vec<String> {
    let mut shown = Vec::new();
    for lane in &trace.lanes {
        for event in lane.events() {
            let op = trace.ops.get(event.op).expect("an operation");
            shown.push(format!(
                "{} {} {} {} {} {} {:?} {} {}",
                trace.devices[lane.device()],
                lane.label(),
                op.path,
                op.op_type,
                op.name,
                op.pass,
                event.step.number(),
                event.start.0,
                event.end.0
            ));
        }
    }
    shown.sort();
    shown
}

fn messages(trace: &Trace) -> String {
    trace.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

const TABLE: &str = "start_ns,end_ns,device,lane,op,type,pass,step,name,host,colour
1794771668117931424,1794771668117931524,gpu:1,7,bert/encoder/layer_0/MatMul,MatMul,forward,3,sgemm,node7,red
1794771668117931600,1794771668117931700,gpu:1,7,bert/encoder/layer_0/MatMul,MatMul,Backward,3,sgemm,node7,
1794771668117931424,1794771668117931500,cpu,,/loss/,,,,,,
";

#[test]
fn a_table_says_what_ran_where_and_when() {
    let trace = read(TABLE);
    assert_eq!(trace.sources[0].format, "generic-csv");
    let expected = [
        "host/cpu:0 0 loss loss loss forward None 1794771668117931424 1794771668117931500",
        "node7/gpu:1 7 bert/encoder/layer_0/MatMul MatMul sgemm backward Some(3) 1794771668117931600 1794771668117931700",
        "node7/gpu:1 7 bert/encoder/layer_0/MatMul MatMul sgemm forward Some(3) 1794771668117931424 1794771668117931524",
    ];
    assert_eq!(shown(&trace), expected);
    assert_eq!(messages(&trace), "");
    let TimeBase::Epoch { base, origin, .. } = trace.sources[0].time_base else { panic!("no base") };
    assert_eq!((base, origin), (Nanos(0), BaseOrigin::File));
    let holdings: Vec<_> =
        trace.census.categories().map(|(_, category, holding)| (category, holding.events)).collect();
    assert_eq!(holdings, [("event", 1), ("event", 2)]);
}

#[test]
fn every_way_of_writing_the_table_gives_the_same_trace() {
    let csv = read(TABLE);
    let semicolons = TABLE.replace(',', ";");
    let tabs = TABLE.replace(',', "\t").replace('\n', "\r\n");
    let quoted = format!("\u{feff}{}", TABLE.replacen("start_ns,end_ns", "\"start_ns\",\"end_ns\"", 1));
    for text in [semicolons, tabs, quoted] {
        assert_eq!(shown(&read(&text)), shown(&csv));
        assert_eq!(shown(&read(packed(text.as_bytes()))), shown(&csv));
    }
    let lines = r#"{"start_ns": 1794771668117931424, "end_ns": "1794771668117931524", "device": "gpu:1", "lane": 7, "op": "bert/encoder/layer_0/MatMul", "type": "MatMul", "pass": "forward", "step": 3, "name": "sgemm", "host": "node7", "nested": {"op": [1]}}

{"op": "bert\/encoder\/layer_0\/MatMul", "start_ns": 1794771668117931600, "end_ns": 1794771668117931700, "device": "gpu:1", "lane": "7", "type": "MatMul", "pass": "backward", "step": 3, "name": "sgemm", "host": "node7"}
{"op": "loss", "start_ns": 1794771668117931424, "end_ns": 1794771668117931500, "device": "cpu:0", "step": null}"#;
    let jsonl = read(lines);
    assert_eq!((jsonl.sources[0].format.as_str(), shown(&jsonl)), ("generic-jsonl", shown(&csv)));
    assert_eq!(shown(&read(packed(lines.as_bytes()))), shown(&csv));
    let nothing = |text: &'static str| StringArray::from(vec![Some(text), Some(text), None]);
    let columns = || -> Vec<(&str, ArrayRef)> {
        let mut devices = StringDictionaryBuilder::<Int32Type>::new();
        devices.extend(["gpu:1", "gpu:1", "cpu:0"].map(Some));
        vec![
            (
                "nobody needs this",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([(); 3].map(|()| Some([Some(1)])))),
            ),
            ("start_ns", Arc::new(Int64Array::from(vec![EPOCH, EPOCH + 176, EPOCH]))),
            (
                "end_ns",
                Arc::new(UInt64Array::from([EPOCH + 100, EPOCH + 276, EPOCH + 76].map(|at| at as u64).to_vec())),
            ),
            ("device", Arc::new(devices.finish())),
            ("lane", Arc::new(Int32Array::from(vec![Some(7), Some(7), None]))),
            (
                "op",
                Arc::new(StringArray::from(vec![
                    "bert/encoder/layer_0/MatMul",
                    "bert/encoder/layer_0/MatMul",
                    "loss",
                ])),
            ),
            ("type", Arc::new(nothing("MatMul"))),
            ("pass", Arc::new(StringArray::from(vec![None, Some("backward"), None]))),
            ("step", Arc::new(Float64Array::from(vec![Some(3.0), Some(3.0), None]))),
            ("name", Arc::new(nothing("sgemm"))),
            ("host", Arc::new(nothing("node7"))),
        ]
    };
    for compression in
        [PageCompression::UNCOMPRESSED, PageCompression::SNAPPY, PageCompression::GZIP(Default::default())]
    {
        let bytes = parquet(columns(), compression);
        let trace = read(&bytes);
        assert_eq!((trace.sources[0].format.as_str(), shown(&trace)), ("generic-parquet", shown(&csv)));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events.bin");
        for bytes in [bytes.clone(), packed(&bytes)] {
            std::fs::write(&path, bytes).expect("written");
            let trace = read_trace(&path, &census(), &Progress::default()).expect("a trace");
            assert_eq!(shown(&trace), shown(&csv));
        }
    }
}

#[test]
fn times_are_exact_in_every_unit() {
    let expected = "host/cpu:0 0 a a a forward None 1794771668117931424 1794771668117931425";
    for table in [
        "start_us,dur_us,device,op\n1794771668117931.424,0.001,cpu:0,a\n",
        "begin_ms;stop_ms;device;op\n1794771668117.931424;1794771668117.931425;cpu:0;a\n",
        "ts_s,duration_ns,device,op\n1794771668.117931424,1,cpu:0,a\n",
        "start,end,device,op\n1794771668117931424,1794771668117931425,cpu:0,a\n",
        "start,dur,device,op\n1794771668117931424,1,cpu:0,a\n",
        "start,end,device,op\n2026-11-15T19:41:08.117931424Z,2026-11-15T20:41:08.117931425+01:00,cpu:0,a\n",
        "start_time,dur_us,device,op\n2026-11-15T19:41:08.117931424Z,0.001,cpu:0,a\n",
        "{\"start_s\": 1794771668.117931424, \"dur_s\": 1e-9, \"device\": \"cpu:0\", \"op\": \"a\"}\n",
    ] {
        assert_eq!(shown(&read(table)), [expected], "{table}");
    }
}

#[test]
fn time_stamps_of_parquet_say_their_unit() {
    let at = |micros: i64| TimestampMicrosecondArray::from(vec![EPOCH / 1000 + micros]);
    let columns = |start: ArrayRef, end: ArrayRef| {
        vec![("start", start), ("end", end), ("op", Arc::new(StringArray::from(vec!["a"])) as ArrayRef)]
    };
    let utc = parquet(
        columns(Arc::new(at(0).with_timezone("UTC")), Arc::new(at(5).with_timezone("UTC"))),
        PageCompression::UNCOMPRESSED,
    );
    let trace = read(utc);
    assert_eq!(shown(&trace), ["host/cpu:0 0 a a a forward None 1794771668117931000 1794771668117936000"]);
    assert!(!messages(&trace).contains("time zone"), "{}", messages(&trace));
    let naive = read(parquet(columns(Arc::new(at(0)), Arc::new(at(5))), PageCompression::UNCOMPRESSED));
    assert_eq!(shown(&naive), shown(&trace));
    assert!(messages(&naive).contains("`start` has no time zone"), "{}", messages(&naive));
    let seconds = |at: f64| Arc::new(Float64Array::from(vec![at])) as ArrayRef;
    let mut floats = columns(seconds(1_794_771_668.25), seconds(1_794_771_668.5));
    (floats[0].0, floats[1].0) = ("start_s", "end_s");
    let trace = read(parquet(floats, PageCompression::UNCOMPRESSED));
    assert_eq!(shown(&trace), ["host/cpu:0 0 a a a forward None 1794771668250000000 1794771668500000000"]);
    assert!(messages(&trace).contains("floating-point"), "{}", messages(&trace));
}

#[test]
fn times_that_count_from_elsewhere_need_a_base() {
    let table = "start_us,dur_us,device,op\n5,1,cpu:0,a\n";
    assert_eq!(read(table).sources[0].time_base, TimeBase::Relative);
    let options = ReadOptions { base: Some(Nanos(EPOCH)), ..census() };
    let trace = read_trace_bytes("events", table.as_bytes(), &options).expect("a trace");
    assert_eq!(trace.extent().map(|extent| extent.start), Some(Nanos(EPOCH + 5_000)));
    let marked = format!("{table}7,1,cpu:0,MARK wall_ns={EPOCH}\n");
    assert_eq!(read(marked).extent().map(|extent| extent.start), Some(Nanos(EPOCH - 2_000)));
}

#[test]
fn what_cannot_be_known_is_an_error_that_says_what_to_write() {
    for (table, part) in [
        ("start,end,op\n5,6,a\n", "`start` (`5`) does not say its unit: name it start_ns"),
        ("ts,dur,name\n1794771668117,6,a\n", "name it ts_ns, ts_us, ts_ms or ts_s"),
        ("start_us,dur,op\n5,6,a\n", "name it dur_ns"),
        ("start_ns,op\n5,a\n", "no column says when events end"),
        ("start_ns,start_us,end_ns,op\n5,5,6,a\n", "leave one out"),
        ("start_ns,end_ns,op\n", "the table holds no event"),
        ("start_ns,end_ns,op\nx,y,a\n", "line 2: 1 rows without a readable start"),
        ("{\"ts\": 5, \"dur\": 6, \"name\": \"a\", \"ph\": \"X\"}\n", "name it ts_ns"),
        ("{\"start_ns\": 5, \"op\": \"a\"}\n", "no column says when events end"),
    ] {
        let error = problem(table);
        assert!(error.contains(part), "{table}: {error}");
        assert!(
            error.contains("start_ns,end_ns,device,lane,op")
                || error.contains("line")
                || error.contains("no event"),
            "{error}"
        );
    }
}

#[test]
fn other_text_and_other_tables_are_not_ours() {
    let watts = parquet(vec![("epoch_ns", Arc::new(Int64Array::from(vec![1])))], PageCompression::UNCOMPRESSED);
    for bytes in [
        b"epoch_ns,device,watts\n1,cpu:0,5\n".to_vec(),
        b"Dear reader,\nstart here, end there.\n".to_vec(),
        b"start\nend\nop\n".to_vec(),
        b"{\"power\": 5}\n".to_vec(),
        vec![0xff; 300],
        watts,
    ] {
        match attempt(&bytes) {
            Err(TraceError::Unrecognised { known, .. }) => assert!(known.contains("generic-csv"), "{known}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_events_of_a_run_folder_are_not_enough() {
    let number = |number| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let columns = vec![
        ("start_ns", number(EPOCH)),
        ("end_ns", number(EPOCH + 1)),
        ("device", text("host/cpu:0")),
        ("lane", number(0)),
        ("op_id", number(0)),
        ("pass", text("forward")),
        ("step", number(0)),
    ];
    let error = problem(parquet(columns, PageCompression::UNCOMPRESSED));
    assert!(error.contains("ops.parquet") && error.contains("give the folder"), "{error}");
}

#[test]
fn wrong_rows_are_left_out_and_told() {
    let trace = read(
        "start_ns,end_ns,device,lane,op,pass,step\n\
         10,20,cpu:0,1,good,,\n\
         x,20,cpu:0,1,a,,\n\
         10,,cpu:0,1,a,,\n\
         20,10,cpu:0,1,a,,\n\
         10,20,toaster,1,a,,\n\
         10,20,cpu:0,1,,,\n\
         10,20,cpu:0,1,a,sideways,\n\
         10,20,cpu:0,1,a,,first\n\
         10\n\
         \n\
         30,30,cpu:0,1,good,,,,,\n\
         y,20,cpu:0,1,a,,\n",
    );
    assert_eq!(trace.event_count(), 2);
    assert_eq!(trace.sources[0].counts[0].events, 2);
    let messages = messages(&trace);
    for part in [
        "line 3: 2 rows without a readable start are left out; the first is here: `x`",
        "line 4: 2 rows without a readable end",
        "line 5: 1 rows that end before they start",
        "line 6: 1 rows whose device is not like cpu:0, gpu:1 or node7/gpu:0 are left out; the first is here: `toaster`",
        "line 7: 1 rows without an operation",
        "line 8: 1 rows whose pass is not forward, backward or optimizer",
        "line 9: 1 rows whose step is not a whole number",
    ] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    let trace = read(
        "{\"start_ns\": 1, \"end_ns\": 2, \"op\": \"a\"}\nnonsense\n[1]\n{\"start_ns\": 1, \"end_ns\": 2, \"op\": \"a\"\n",
    );
    assert!(messages_of(&trace, "line 2: 3 rows that are not JSON objects"), "{:?}", trace.warnings);
}

fn messages_of(trace: &Trace, part: &str) -> bool {
    messages(trace).contains(part)
}

#[test]
fn missing_devices_and_overlapping_lanes_are_told() {
    let trace = read("start_ns,end_ns,op\n0,10,a\n2,5,b\n8,12,c\n");
    assert!(messages_of(&trace, "no column says on which device"), "{:?}", trace.warnings);
    assert!(messages_of(&trace, "1 events begin while another"), "{:?}", trace.warnings);
    let trace = read("start_ns,end_ns,device,op\n0,10,cpu:0,a\n2,5,cpu:0,b\n10,12,cpu:0,c\n");
    assert_eq!((messages(&trace).as_str(), trace.lanes[0].label()), ("", "0"));
}

#[test]
fn a_cut_gzip_gives_its_whole_rows() {
    let mut text = String::from("start_ns,end_ns,device,op\n");
    for row in 0..20_000_i64 {
        text.push_str(&format!("{},{},cpu:0,op{}\n", EPOCH + row * 10, EPOCH + row * 10 + 7, row * row % 977));
    }
    let whole = read(&text);
    let mut bytes = packed(text.as_bytes());
    bytes.truncate(bytes.len() / 2);
    let trace = read(&bytes);
    assert!(trace.event_count() > 1000 && trace.event_count() < whole.event_count());
    assert!(messages_of(&trace, "cut short"), "{:?}", trace.warnings);
    let whole = shown(&whole);
    assert!(shown(&trace).iter().all(|event| whole.contains(event)), "nothing is made up");
}

/// Start, duration, device, lane, operation, pass and step.
type Row = (i64, i64, u8, u8, u8, u8, Option<u32>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0..1_000_000_i64, 0..5_000_i64, 0..3_u8, 0..3_u8, 0..20_u8, 0..3_u8, prop::option::of(0..9_u32));
    prop::collection::vec(row, 1..60)
}

const NAMES: [&str; 4] = ["a/b", "a \"quoted\", name", "größe;µ\t", "x"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_same_rows_are_the_same_trace(rows in rows()) {
        let op = |number: u8| NAMES[usize::from(number) % 4];
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["op", "start_ns", "dur_us", "device", "lane", "pass", "step"]).expect("written");
        let mut lines = String::new();
        for (start, duration, device, lane, operation, pass, step) in &rows {
            let micros = format!("{}.{:03}", duration / 1000, duration % 1000);
            let pass = Pass::ALL[usize::from(*pass)].as_str();
            let device = format!("gpu:{device}");
            let written = step.map(|step| step.to_string()).unwrap_or_default();
            csv.write_record([op(*operation), &(EPOCH + start).to_string(), &micros, &device, &lane.to_string(), pass, &written]).expect("written");
            lines += &format!(
                "{{\"start_ns\":{},\"dur_us\":{micros},\"device\":\"{device}\",\"lane\":{lane},\"op\":{},\"pass\":\"{pass}\",\"step\":{}}}\n",
                EPOCH + start,
                serde_json::Value::from(op(*operation)),
                step.map_or("null".to_owned(), |step| step.to_string()),
            );
        }
        let csv = csv.into_inner().expect("written");
        let column = |value: &dyn Fn(&Row) -> i64| {
            Arc::new(Int64Array::from(rows.iter().map(value).collect::<Vec<_>>())) as ArrayRef
        };
        let texts = |value: &dyn Fn(&Row) -> String| {
            Arc::new(StringArray::from(rows.iter().map(value).collect::<Vec<_>>())) as ArrayRef
        };
        let table = parquet(
            vec![
                ("start_ns", column(&|row| EPOCH + row.0)),
                ("end_ns", column(&|row| EPOCH + row.0 + row.1)),
                ("device", texts(&|row| format!("gpu:{}", row.2))),
                ("lane", column(&|row| row.3.into())),
                ("op", texts(&|row| op(row.4).to_owned())),
                ("pass", texts(&|row| Pass::ALL[usize::from(row.5)].to_string())),
                ("step", Arc::new(Int64Array::from(rows.iter().map(|row| row.6.map(i64::from)).collect::<Vec<_>>()))),
            ],
            PageCompression::SNAPPY,
        );
        let from_csv = read(&csv);
        prop_assert_eq!(from_csv.event_count(), rows.len());
        prop_assert_eq!(shown(&from_csv), shown(&read(&lines)));
        prop_assert_eq!(shown(&from_csv), shown(&read(&table)));
        let spans: i64 = rows.iter().map(|row| row.1).sum();
        let counted: i64 = from_csv.census.categories().map(|(.., holding)| holding.duration.0).sum();
        prop_assert_eq!(spans, counted);
    }

    #[test]
    fn cut_and_damaged_tables_do_no_harm(part in 0.0..1.0_f64, place in 0.0..1.0_f64, byte: u8, form in 0..3_u8) {
        let bytes = match form {
            0 => TABLE.as_bytes().to_vec(),
            1 => (0..9).map(|row| format!("{{\"start_ns\":{row},\"end_ns\":{},\"op\":\"a\\u00b5\",\"x\":[{{}}]}}\n", row + 5)).collect::<String>().into_bytes(),
            _ => parquet(
                vec![
                    ("start_ns", Arc::new(Int64Array::from((0..500).collect::<Vec<i64>>()))),
                    ("end_ns", Arc::new(Int64Array::from((0..500).map(|row| row + 5).collect::<Vec<i64>>()))),
                    ("op", Arc::new(StringArray::from((0..500).map(|row| NAMES[row % 4]).collect::<Vec<_>>()))),
                ],
                PageCompression::SNAPPY,
            ),
        };
        let whole = read(&bytes).event_count();
        let cut = (bytes.len() as f64 * part) as usize;
        if let Ok(trace) = attempt(&bytes[..cut]) {
            prop_assert!(trace.event_count() <= whole);
        }
        let mut damaged = bytes;
        let place = (damaged.len() as f64 * place) as usize;
        damaged[place] = byte;
        let _ = attempt(&damaged);
    }
}
