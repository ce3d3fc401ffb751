//! Figures from outside: every one in every form, nothing cut off, nothing on top of something else, whatever the names.

use crate::called;
use crate::common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::*;
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Group, Node, Options, Rect, Tree};

/// One column and both, in pixels at 96 to an inch.
const WIDTHS: [f32; 2] = [320.0, 672.0];
/// The smallest text, likewise.
const SMALLEST: f32 = 6.5 * 96.0 / 72.0;
/// When the made-up runs begin.
const BEGIN: i64 = 1_772_442_000_000_000_000;

fn tree(file: &Path) -> Tree {
    let mut fonts = Database::new();
    let font = root().join("crates/jouletree-report/fonts/DejaVuSansCondensed.ttf");
    fonts.load_font_data(fs::read(font).expect("the font"));
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let svg = fs::read_to_string(file).expect("a figure");
    Tree::from_str(&svg, &options).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every text with its box and its size.
fn texts(group: &Group, found: &mut Vec<(String, Rect, f32)>) {
    for node in group.children() {
        match node {
            Node::Group(group) => texts(group, found),
            Node::Text(text) => {
                let words: String = text.chunks().iter().map(|chunk| chunk.text()).collect();
                let size = text.chunks()[0].spans()[0].font_size().get() * text.abs_transform().get_scale().0;
                found.push((words, text.abs_bounding_box(), size));
            }
            _ => {}
        }
    }
}

#[track_caller]
fn assert_legible(file: &Path) -> Vec<String> {
    let tree = tree(file);
    let (width, height) = (tree.size().width(), tree.size().height());
    let name = file.display();
    assert!(WIDTHS.iter().any(|column| (width - column).abs() < 0.1), "{name} is {width} wide");
    assert!(height < 900.0, "{name} is {height} high");
    let mut found = Vec::new();
    texts(tree.root(), &mut found);
    assert!(!found.is_empty(), "{name}: no text");
    for (number, (words, area, size)) in found.iter().enumerate() {
        assert!(*size >= SMALLEST - 0.01, "{name}: `{words}` is too small: {size}");
        let inside = area.left() >= -0.1 && area.right() <= width + 0.1;
        assert!(
            inside && area.top() >= -0.6 && area.bottom() <= height + 0.6,
            "{name}: `{words}` leaves {area:?}"
        );
        for (others, other, _) in &found[number + 1..] {
            let wide = area.right().min(other.right()) - area.left().max(other.left());
            let high = area.bottom().min(other.bottom()) - area.top().max(other.top());
            // A box of text has room above and below its letters.
            assert!(wide < 0.3 || high < 1.5, "{name}: `{words}` {area:?} lies on `{others}` {other:?}");
        }
    }
    found.into_iter().map(|(words, ..)| words).collect()
}

/// Every file of a kind.
fn names(folder: &str, extension: &str) -> Vec<String> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let files = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    let mut names: Vec<String> = files.filter_map(|name| Some(name.strip_suffix(extension)?.to_owned())).collect();
    names.sort();
    names
}

#[track_caller]
fn all_legible(folder: &str) -> Vec<String> {
    let names = names(folder, ".svg");
    names.iter().flat_map(|name| assert_legible(&Path::new(folder).join(format!("{name}.svg")))).collect()
}

fn sample_run(files: &Files) -> String {
    let run_folder = files.path("run");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &run_folder]).ok();
    run_folder
}

fn events_run(files: &Files, rows: &str) -> String {
    let power = power_over(BEGIN, BEGIN + 1_000_000_000, &["cpu:0"]);
    events_run_with(files, rows, &power)
}

fn events_run_with(files: &Files, rows: &str, power: &str) -> String {
    let trace = files.write("events.csv", format!("start_ns,end_ns,device,lane,op,pass\n{rows}"));
    let power = files.write("power.csv", power);
    let run_folder = files.path("events-run");
    run(["account", &trace, "--power", &power, "-o", &run_folder]).ok();
    run_folder
}

/// One event.
const ONE_OPERATION: &str = "1772442000100000000,1772442000200000000,cpu:0,main,only,forward\n";

#[test]
fn figures_can_be_chosen_and_have_their_numbers_beside_them() {
    let files = Files::new();
    let (run_folder, folder) = (sample_run(&files), files.path("figures"));
    let words = ["report", &run_folder, "--figures", &folder, "--format", "svg,csv"];
    run([&words[..], &["--only", "top-energy,icicle,diagram"]].concat()).ok();
    let drawn = names(&folder, ".svg");
    let is_chosen = |name: &String| name.starts_with("diagram-") || ["icicle", "top-energy"].contains(&&**name);
    assert!(drawn.len() > 4 && drawn.iter().all(is_chosen), "{drawn:?}");
    assert_eq!(names(&folder, ".csv"), drawn);
    let rows = |name: &str| -> Vec<csv::StringRecord> {
        let table = csv::Reader::from_path(Path::new(&folder).join(format!("{name}.csv"))).expect("a table");
        table.into_records().collect::<Result<_, _>>().expect("rows")
    };
    let joules = |row: &csv::StringRecord, column: usize| row[column].parse::<f64>().expect("joules");
    let tree = run(["show", &run_folder, "--by", "layer", "--format", "json"]).json();
    let layers = rows("icicle");
    assert_close(joules(&layers[0], 2), number(&tree, "energy_j"), 1e-12, "the root");
    assert!(layers.iter().any(|row| &row[0] == "bert/encoder/layer_0" && &row[1] == "3"));
    let top = rows("top-energy");
    assert!(top.len() == 10 && top.is_sorted_by(|a, b| joules(a, 4) >= joules(b, 4)), "{top:?}");
    let encoder = rows("diagram-bert-encoder-forward");
    assert!(
        encoder.iter().any(|row| (&row[0], &row[1], &row[2]) == ("arrow", "layer_0", "layer_1")),
        "{encoder:?}"
    );
    // Only these.
    let few = files.path("few");
    run(["report", &run_folder, "--figures", &few, "--only", "stages,power-step", "--format", "csv"]).ok();
    assert_eq!(names(&few, ".csv"), ["power-step", "stages"]);
    assert_eq!(run(["report", &run_folder, "--figures", &few, "--only", "nothing"]).code, 2);
}

#[test]
fn every_figure_comes_in_every_form() {
    let files = Files::new();
    let (run_folder, folder) = (sample_run(&files), files.path("figures"));
    run(["report", &run_folder, "--figures", &folder, "--format", "svg,pdf,png"]).ok();
    assert!(!Path::new(&run_folder).join("report.html").exists(), "the page was not asked for");
    let drawn = names(&folder, ".svg");
    let wanted = [
        "diagram-all-forward",
        "diagram-bert-forward",
        "diagram-bert-encoder-forward",
        "icicle",
        "power-step",
        "stages",
        "top-energy",
        "top-power",
    ];
    assert!(wanted.iter().all(|name| drawn.iter().any(|drawn| drawn == name)), "{drawn:?}");
    assert_eq!((names(&folder, ".pdf"), names(&folder, ".png")), (drawn.clone(), drawn.clone()));
    let words = all_legible(&folder);
    for wanted in ["forward", "encoder"] {
        assert!(words.iter().any(|words| words == wanted), "no `{wanted}` in {words:?}");
    }
    assert!(words.iter().any(|words| words.starts_with("Energy (") && words.contains("estimated")), "{words:?}");
    for name in drawn {
        let file = |extension: &str| Path::new(&folder).join(format!("{name}.{extension}"));
        let size = tree(&file("svg")).size();
        let pdf = fs::read(file("pdf")).expect("a file");
        assert!(pdf.starts_with(b"%PDF-"));
        let text = String::from_utf8_lossy(&pdf);
        let page = text.split_once("/MediaBox [").expect("a page").1.split_once(']').expect("its size").0;
        let sides: Vec<f64> = page.split_whitespace().map(|side| side.parse().expect("a number")).collect();
        assert_close(sides[2], f64::from(size.width()) * 0.75, 1e-3, "the width of the page");
        assert_close(sides[3], f64::from(size.height()) * 0.75, 1e-3, "the height of the page");
        let png = fs::read(file("png")).expect("a file");
        let side = |at: usize| f64::from(u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes")));
        assert_eq!((&png[1..4], &png[37..41]), (&b"PNG"[..], &b"pHYs"[..]));
        assert_close(side(16), f64::from(size.width()) * 3.125, 0.01, "the width in pixels");
        assert_close(side(20), f64::from(size.height()) * 3.125, 0.01, "the height in pixels");
    }
}

#[test]
fn diagrams_of_other_layers_and_of_one_pass() {
    let files = Files::new();
    let (run_folder, folder) = (sample_run(&files), files.path("figures"));
    let layer = "bert/encoder/layer_1";
    run([
        "report",
        &run_folder,
        "--figures",
        &folder,
        "--layer",
        layer,
        "--pass",
        "backward",
        "--highlight",
        layer,
    ])
    .ok();
    let drawn = names(&folder, ".svg");
    assert!(drawn.contains(&"diagram-bert-encoder-layer_1-backward".to_owned()), "{drawn:?}");
    let words = all_legible(&folder);
    assert!(words.iter().any(|words| words.contains("backward pass")), "{words:?}");
    assert!(words.iter().any(|words| words.starts_with(&format!("{layer}: "))), "{words:?}");

    for option in ["--layer", "--highlight"] {
        let ran = run(["report", &run_folder, "--figures", &folder, option, "bert/nowhere"]);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains("no layer `bert/nowhere`"), "{}", ran.stderr);
    }
    assert_eq!(run(["report", &run_folder, "--format", "pdf"]).code, 2, "a form without figures");
    let wrong = run(["report", &run_folder, "--figures", &folder, "--pass", "sideways"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("optimizer or all"), "{}", wrong.stderr);

    let all = files.path("all");
    run(["report", &run_folder, "--figures", &all, "--pass", "all"]).ok();
    assert!(names(&all, ".svg").contains(&"diagram-bert".to_owned()));
    all_legible(&all);
}

#[test]
fn a_diagram_shows_one_pass_without_small_parts() {
    let files = Files::new();
    let (run_folder, folder) = (sample_run(&files), files.path("figures"));
    run(["report", &run_folder, "--figures", &folder]).ok();
    let words = |name: &str| assert_legible(&Path::new(&folder).join(format!("{name}.svg")));
    let root = words("diagram-all-forward");
    assert!(root.iter().any(|words| words.contains("forward pass")), "{root:?}");
    assert!(["bert", "cls"].iter().all(|layer| root.iter().any(|words| words == layer)), "{root:?}");
    // The optimizer took no part in it, and none has a box for less than a percent.
    assert!(!root.iter().any(|words| words == "optimizer"), "{root:?}");
    let share = |words: &String| words.strip_suffix(" %").and_then(|share| share.parse::<f64>().ok());
    let small: Vec<f64> = root.iter().filter_map(share).filter(|share| *share < 1.0).collect();
    assert!(small.len() <= 1, "only the others may have less: {root:?}");
    let encoder = words("diagram-bert-encoder-forward");
    let layers: Vec<&String> = encoder.iter().filter(|words| words.starts_with("layer_")).collect();
    assert_eq!(layers.len(), 4, "{encoder:?}");
    let file = Path::new(&folder).join("diagram-bert-encoder-forward.svg");
    let heights: Vec<f32> = (0..4)
        .map(|number| {
            let mut found = Vec::new();
            texts(tree(&file).root(), &mut found);
            let name = format!("layer_{number}");
            found.into_iter().find(|(words, ..)| *words == name).expect("the layer").1.top()
        })
        .collect();
    assert!(heights.is_sorted_by(|above, below| above < below), "layers are in their order: {heights:?}");
}

#[test]
fn several_runs_have_whiskers() {
    let files = Files::new();
    let first = sample_run(&files);
    let second = files.path("second");
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &second]).ok();
    let folder = files.path("figures");
    run(["report", &first, &second, "--figures", &folder]).ok();
    all_legible(&folder);
    let lines = |folder: &str| {
        fs::read_to_string(Path::new(folder).join("top-energy.svg")).expect("a figure").matches("<line").count()
    };
    let one = files.path("one");
    run(["report", &first, "--figures", &one]).ok();
    assert!(lines(&folder) >= lines(&one) + 30, "three lines for each of ten whiskers");
}

#[test]
fn whatever_the_names_the_figures_are_legible() {
    let files = Files::new();
    let long = "long_name_".repeat(400);
    let nasty =
        ["<script>alert(1)</script>", "\"\"quoted\"\" & 'more'", "層/注意", "a\u{1b}[31m", "..", &long, "x"];
    let mut rows = String::new();
    for (number, name) in nasty.iter().enumerate() {
        for (place, pass) in ["forward", "backward", "optimizer"].iter().enumerate() {
            let offset = i64::try_from(number * 100_000_000 + place * 20_000_000).expect("a time");
            let start = BEGIN + offset;
            let end = start + 10_000_000 + offset / 100;
            rows.push_str(&format!("{start},{end},cpu:0,main,\"net/{name}/part one/{name}\",{pass}\n"));
        }
    }
    let (run_folder, folder) = (events_run(&files, &rows), files.path("figures"));
    run(["report", &run_folder, "--figures", &folder, "--format", "svg,pdf,png", "--layer", "net"]).ok();
    let words = all_legible(&folder).concat();
    assert!(words.contains("<script>") && words.contains('\u{fffd}') && words.contains('…'), "{words}");
    assert!(names(&folder, ".png").len() >= 6);
}

#[test]
fn one_operation_is_enough() {
    let files = Files::new();
    let run_folder = events_run(&files, ONE_OPERATION);
    let folder = files.path("figures");
    run(["report", &run_folder, "--figures", &folder]).ok();
    let drawn = names(&folder, ".svg");
    // With fewer than three readings in its time an operation has no power of its own.
    assert_eq!(drawn, ["diagram-all-forward", "icicle", "power-step", "stages", "top-energy"]);
    all_legible(&folder);
}

#[test]
fn what_would_show_nothing_is_not_written_and_that_is_said() {
    let files = Files::new();
    let end = BEGIN + 1_000_000_000;
    let nothing = format!("epoch_ns,device,watts\n{BEGIN},cpu:0,0\n{end},cpu:0,0\n");
    let run_folder = events_run_with(&files, ONE_OPERATION, &nothing);
    let folder = files.path("figures");
    let ran = run(["report", &run_folder, "--figures", &folder]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for name in ["stages", "diagram-all-forward", "top-energy", "top-power", "icicle"] {
        assert!(ran.stderr.contains(&format!("{name} is not written: ")), "{}", ran.stderr);
    }
    all_legible(&folder);
}

#[test]
fn power_alone_has_no_figures() {
    let files = Files::new();
    let (run_folder, folder) = (files.path("recorded"), files.path("figures"));
    run(["record", "-o", &run_folder, "--", "sleep", "0.2"]).ok();
    let ran = run(["report", &run_folder, "--figures", &folder]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("is not written: ").count(), 6, "{}", ran.stderr);
    assert!(!Path::new(&folder).exists());
}

#[test]
fn power_over_a_call_is_legible() {
    let files = Files::new();
    let (run_folder, file) = (files.path("called"), files.path("call.svg"));
    called::called_run(Path::new(&run_folder));
    run(["calls", &run_folder, "--figure", &file]).ok();
    let words = assert_legible(Path::new(&file));
    assert!(words.iter().any(|words| words == "tail"), "{words:?}");
}
