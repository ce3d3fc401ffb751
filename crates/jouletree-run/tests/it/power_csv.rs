//! Power files as people write them, and what is said about those that cannot be used.

use jouletree_model::{Kind, Nanos, PowerSample, PowerUnit};
use jouletree_run::{PowerFile, read_power_csv};
use proptest::prelude::*;

const T: &str = "1794770717476000";

fn read(text: &str) -> Result<PowerFile, String> {
    read_power_csv("power.csv", text.as_bytes()).map_err(|error| error.to_string())
}

fn sample(time: i64, value: f64) -> PowerSample {
    PowerSample { time: Nanos(time), value }
}

#[test]
fn a_record_for_each_device_and_domain_in_order_of_appearance() {
    let file = read(
        "\u{feff} Epoch_US , DEVICE ,domain,kind,Joules,note\r\n\
         1794770717476000.125, gpu:0,,,1.5,x\r\n\
         1794770717476001,cpu:0,core,estimated,2,\r\n\
         1794770717476002,GPU:0,,measured,3,\r\n",
    )
    .unwrap();
    let names: Vec<_> = file.records.iter().map(|r| (r.device.to_string(), r.domain.clone(), r.kind)).collect();
    assert_eq!(
        names,
        [
            ("host/gpu:0".to_owned(), None, Kind::Measured),
            ("host/cpu:0".to_owned(), Some("core".to_owned()), Kind::Estimated)
        ]
    );
    assert_eq!(file.records[0].unit, PowerUnit::Joules);
    assert_eq!(
        file.records[0].samples,
        [sample(1_794_770_717_476_000_125, 1.5), sample(1_794_770_717_476_002_000, 3.0)]
    );
    assert_eq!(file.warnings.len(), 1);
    let warning = file.warnings[0].to_string();
    assert_eq!(warning, "power.csv: line 1: columns without meaning here were ignored: note");
}

#[test]
fn times_are_read_in_every_unit() {
    for (column, text) in [
        ("epoch_ns", "1794770717476000125"),
        ("epoch_us", "1794770717476000.125"),
        ("epoch_ms", "1794770717476.000125"),
        ("time", "2026-11-15T19:25:17.476000125Z"),
        ("timestamp", "2026-11-15 20:25:17.476000125+01:00"),
    ] {
        let file = read(&format!("{column},device,watts\n{text},cpu:0,1\n")).unwrap();
        assert_eq!(file.records[0].samples, [sample(1_794_770_717_476_000_125, 1.0)], "{column}");
    }
}

#[test]
fn what_cannot_be_meant_is_an_error_with_its_line_and_a_remedy() {
    let rows = |rows: &str| format!("epoch_us,device,watts\n{rows}\n");
    let counter = |rows: &str| format!("epoch_us,device,joules\n{rows}\n");
    let cases = [
        (String::new(), "power.csv: the first line must name the columns"),
        (format!("{T},cpu:0,1\n"), "line 1: the first line must name the columns"),
        ("device,watts\n".into(), "line 1: there is no column epoch_ns, epoch_us"),
        ("epoch_us,watts\n".into(), "there is no column device; the columns are epoch_us, watts"),
        ("epoch_us,epoch_ns,device,watts\n".into(), "keep one of the columns"),
        ("epoch_us,device,watts,joules\n".into(), "`watts` and `joules` say the same"),
        ("epoch_us,device\n".into(), "no column watts (power) or joules"),
        ("epoch_us,device,mW\n".into(), "column `mw` is in an unknown or another unit; convert to watts"),
        ("epoch_us,device,power.draw [W]\n".into(), "convert to watts"),
        ("epoch_us,device,kwh\n".into(), "joules (a cumulative counter) and name the column so"),
        ("epoch_us,device,watts\n".into(), "power.csv: there are no readings"),
        (rows(&format!("{T},cpu:0,1\n{T},cpu:0,x")), "line 3: `x` in column watts is not a number"),
        (rows(&format!("{T},cpu:0,")), "line 2: `` in column watts is not a number"),
        (rows(&format!("{T},cpu:0,NaN")), "leave out rows without a reading"),
        (rows(&format!("{T},cpu:0,inf")), "leave out rows without a reading"),
        (rows(&format!("{T},cpu:0,-1")), "negative"),
        (counter(&format!("{T},cpu:0,-1")), "negative"),
        (rows(&format!("{T},toaster,1")), "line 2: `toaster` is not a device; write cpu:0"),
        (rows(&format!("{T},cpu:0,12,5")), "the row has 4 fields, the header names 3"),
        (rows(&format!("{T},cpu:0")), "the row has 2 fields"),
        (rows("1794770717476,cpu:0,1"), "wrong unit? name the column epoch_ms"),
        (rows("1794770717,cpu:0,1"), "wrong unit? as epoch_s it would be plausible"),
        (rows("1.79e15,cpu:0,1"), "without exponent"),
        (rows("yesterday,cpu:0,1"), "is not a time"),
        (rows(&format!("{},cpu:0,1", "9".repeat(99))), "wrong unit?"),
        (
            counter(&format!("{T},cpu:0,5\n{T}.5,cpu:0,4")),
            "line 3: the counter of host/cpu:0 falls from 5 J to 4 J: it wrapped or was reset; unwrap it first",
        ),
        (format!("epoch_us,device,watts,kind\n{T},cpu:0,1,guessed\n"), "`guessed` is not a kind of number"),
        (
            format!("epoch_us,device,watts,kind\n{T},cpu:0,1,measured\n{T}.5,cpu:0,1,estimated\n"),
            "line 3: host/cpu:0 is measured above and estimated here",
        ),
        ("time,device,watts\n2026-11-15T20:25:17,cpu:0,1\n".into(), "with the offset"),
        ("time,device,watts\n1794770717476000,cpu:0,1\n".into(), "name the column epoch_us"),
    ];
    for (text, expected) in cases {
        let error = read(&text).unwrap_err();
        assert!(error.starts_with("power.csv: ") && error.contains(expected), "{text:?}: {error}");
    }
    let error = read_power_csv("power.csv", b"epoch_us,device,watts\n\xff,cpu:0,1\n").unwrap_err().to_string();
    assert!(error.starts_with("power.csv: line 2: ") && error.contains("UTF-8"), "{error}");
}

#[test]
fn what_can_be_mended_is_mended_and_told_once_a_record() {
    let file = read(
        "epoch_us,device,watts\n\
         1794770717476005,cpu:0,5\n\
         1794770717476003,cpu:0,3\n\
         1794770717476004,cpu:0,4\n\
         1794770717476001,cpu:0,1\n\
         1794770717476001,cpu:0,1\n\
         1794770717476004,cpu:0,400000\n",
    )
    .unwrap();
    let values: Vec<f64> = file.records[0].samples.iter().map(|sample| sample.value).collect();
    assert_eq!(values, [1.0, 3.0, 400_000.0, 5.0]);
    let warnings: Vec<String> = file.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "power.csv: line 3: host/cpu:0: readings out of time order: 2; they were sorted",
            "power.csv: line 6: host/cpu:0: duplicate readings: 1; one of each was kept",
            "power.csv: line 7: host/cpu:0: readings that contradict another of the same instant: 1; the later line was kept",
            "power.csv: line 7: host/cpu:0: readings above 100 kW: 1; are these milliwatts?",
        ]
    );
}

#[test]
fn a_last_line_cut_anywhere_costs_that_line_only() {
    let whole = "epoch_us,device,joules\n1794770717476000,cpu:0,100\n1794770717476001,cpu:0,101\n1794770717476002,cpu:0,102\n";
    let last = whole.rfind("1794770717476002").unwrap();
    for end in last + 1..whole.len() - 1 {
        let file = read(&whole[..end]).unwrap();
        // `1` and `10` are numbers, too, but a counter does not fall.
        assert_eq!(file.records[0].samples.len(), 2, "{}", &whole[..end]);
        assert!(file.warnings[0].to_string().starts_with("power.csv: line 4: the last line is cut off"));
    }
    assert_eq!(read(&whole[..whole.len() - 1]).unwrap().records[0].samples.len(), 3);
    let mut cut_in_a_character = whole.as_bytes()[..last].to_vec();
    cut_in_a_character.extend("1794770717476002,ü".as_bytes().iter().take(18));
    assert_eq!(read_power_csv("f", &cut_in_a_character).unwrap().records[0].samples.len(), 2);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_power_csv("f", &bytes);
    }

    #[test]
    fn no_fields_make_it_panic(rows in proptest::collection::vec("[0-9eE+.:T,\" Za-z-]{0,40}", 0..6)) {
        for header in ["epoch_ns,device,watts", "time,device,joules,kind,domain"] {
            let _ = read_power_csv("f", format!("{header}\n{}", rows.join("\n")).as_bytes());
        }
    }

    #[test]
    fn readings_come_back_as_they_were_written(
        times in proptest::collection::btree_map(946_684_800_000_000_000i64..4_000_000_000_000_000_000, 0.0f64..1e5, 1..50),
    ) {
        let rows: String = times.iter().map(|(time, watts)| {
            format!("{}.{:06},cpu:0,{watts}\n", time / 1_000_000, time % 1_000_000)
        }).collect();
        let file = read(&format!("epoch_ms,device,watts\n{rows}")).unwrap();
        let expected: Vec<PowerSample> = times.iter().map(|(time, watts)| sample(*time, *watts)).collect();
        prop_assert_eq!(&file.records[0].samples, &expected);
        prop_assert!(file.warnings.is_empty());
    }
}
