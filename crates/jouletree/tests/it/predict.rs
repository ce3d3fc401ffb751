//! `train` and `predict` from outside, on calibrations of a made-up machine whose energies are known.

use crate::calibrated;
use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use calibrated::{GLUE, calibration, tree};
use common::*;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a calibration and the profile that was trained on it.
struct Trained {
    folder: TempDir,
}

impl Trained {
    fn new() -> Trained {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("calibration.json"), calibration().to_string()).expect("a file");
        let trained = Trained { folder };
        let answer = run(["train", &trained.path("."), "-o", &trained.path("profile.json")]);
        assert!(answer.stderr.contains("it rained"), "{}", answer.stderr);
        let text = answer.ok();
        assert!(text.contains("narrow") && text.contains("7.500 W at standby"), "{text}");
        trained
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A tree that is not among the calibrated ones.
    fn unseen(&self) -> (String, f64) {
        let unseen = tree("unseen", 6, 320);
        let energy = |node: &Value| node["energy_j"].as_f64().expect("a number");
        let root = unseen["nodes"].as_array().and_then(|nodes| nodes.last()).map(energy).expect("a root");
        let path = self.path("tree.json");
        fs::write(&path, unseen["tree"].to_string()).expect("a file");
        (path, root)
    }

    fn predict(&self, more: &[&str]) -> Ran {
        let (tree, _) = self.unseen();
        let profile = self.path("profile.json");
        run(["predict", &tree, "--profile", &profile].into_iter().chain(more.iter().copied()))
    }
}

#[test]
fn an_unseen_model_is_predicted_and_its_interval_holds_it() {
    let trained = Trained::new();
    let result = trained.predict(&["--format", "json"]).json();
    let (_, truth) = trained.unseen();
    let energy = result["energy_j"].as_f64().expect("a number");
    assert!((energy / truth - 1.0).abs() < 0.02, "{energy} instead of {truth}");
    let bounds: Vec<f64> = list(&result, "interval_j").iter().filter_map(Value::as_f64).collect();
    assert!(bounds[0] <= truth && truth <= bounds[1], "{bounds:?} for {truth}");
    assert_eq!(result["kind"], "predicted");
    assert_eq!(result["profile"]["trained_on_kind"], "derived");
    let nodes = list(&result["passes"][0], "nodes");
    assert_eq!(nodes[0]["path"], "");
    let blocks = nodes.iter().filter(|node| node["kind"] == "Block");
    assert!(blocks.clone().all(|block| (block["glue_j"].as_f64().expect("a number") / GLUE - 1.0).abs() < 0.05));
    assert_eq!(blocks.count(), 2);
}

#[test]
fn tables_fold_equal_blocks_and_say_what_they_rest_on() {
    let trained = Trained::new();
    let text = trained.predict(&["--per-million-queries", "--tariff", "0.1319"]).ok();
    for part in ["block.0 … block.1", "Block × 2", "predicted", "derived", "by primitive", "(glue)", "which cost"]
    {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let markdown = trained.predict(&["--format", "markdown"]).ok();
    assert!(markdown.contains("| node |") || markdown.contains("| --- |"), "{markdown}");
    let csv = trained.predict(&["--format", "csv"]).ok();
    assert_eq!(csv.lines().count(), 1 + 1 + 2 * 4, "{csv}");
}

#[test]
fn a_kept_prediction_is_a_run() {
    let trained = Trained::new();
    let kept = trained.path("PREDICTED");
    let result = trained.predict(&["--format", "json", "-o", &kept]).json();
    let shown = run(["show", &kept, "--by", "device", "--format", "json"]).json();
    assert_eq!(shown[0]["kind"], "predicted");
    let (attributed, energy) = (shown[0]["attributed_j"].as_f64(), result["energy_j"].as_f64());
    assert!((attributed.expect("a number") / energy.expect("a number") - 1.0).abs() < 1e-9);
    let page = fs::read_to_string(Path::new(&kept).join("report.html")).expect("a page");
    assert!(page.contains("predicted"));
    let again = trained.path("again.html");
    run(["report", &kept, "-o", &again]).ok();
    assert!(page == fs::read_to_string(&again).expect("a page"), "from the folder the page is the same");
    run(["export", &kept, "--to", "collapsed", "-o", &trained.path("stacks.txt")]).ok();
    kept_intervals(&kept, &result);
    let again = trained.predict(&["-o", &kept]);
    assert!(again.code == 1 && again.stderr.contains("exists"), "{}", again.stderr);
}

/// A kept prediction has the intervals that were printed, at their own level.
fn kept_intervals(kept: &str, predicted: &Value) {
    let show = |by: &str| run(["show", kept, "--by", by, "--format", "json"]).json();
    let tree = show("layer");
    let nodes: Vec<&Value> = list(&predicted["passes"][0], "nodes").iter().collect();
    let interval = |path: &str| {
        let node = nodes.iter().find(|node| node["path"] == path).expect("a node");
        [number(&node["interval_j"], "low"), number(&node["interval_j"], "high")]
    };
    let ends = |row: &Value| [number(row, "low_90_j"), number(row, "high_90_j")];
    assert_eq!(ends(&tree), interval(""));
    let block = list(&tree, "children").iter().find(|child| child["path"] == "block.0").expect("a block");
    assert_eq!(ends(block), interval("block.0"));
    assert!(block["low_j"].is_null(), "95 % is not known: {block}");
    let ops = show("op");
    let dense =
        ops.as_array().and_then(|ops| ops.iter().find(|op| op["path"] == "block.1/dense")).expect("a layer");
    assert_eq!(ends(dense), interval("block.1/dense"));
    let glue = ops.as_array().and_then(|ops| ops.iter().find(|op| op["path"] == "block.1/(glue)")).expect("glue");
    assert!(glue["low_90_j"].is_null() && glue.get("low_90_j").is_some(), "{glue}");
    assert_eq!(ends(&show("device")[0]), interval(""));
    for by in ["layer", "op", "device"] {
        let table = run(["show", kept, "--by", by]).ok();
        assert!(table.contains("90 %") && !table.contains("95 %") && table.contains(" … "), "{table}");
        let csv = run(["show", kept, "--by", by, "--format", "csv"]).ok();
        assert!(csv.lines().next().is_some_and(|head| head.contains("low_90_j,high_90_j")), "{csv}");
    }
    let forward = run(["show", kept, "--pass", "backward", "--format", "json"]).json();
    assert!(forward.get("low_90_j").is_none(), "{forward}");
}

#[test]
fn models_that_are_built_in_are_predicted_too() {
    let trained = Trained::new();
    let profile = trained.path("profile.json");
    let answer = run(["predict", "bert", "--batch", "2", "--seq", "16", "--layers", "2", "--profile", &profile]);
    assert!(answer.stderr.contains("`embedding` was never measured"), "{}", answer.stderr);
    assert!(answer.ok().contains("layer.0 … layer.1"));
}

#[test]
fn what_cannot_be_done_is_said_with_a_remedy() {
    let trained = Trained::new();
    let profile = trained.path("profile.json");
    let broken = |name: &str, text: &str| -> PathBuf {
        let folder = trained.folder.path().join(name);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("calibration.json"), text).expect("a file");
        folder
    };
    let mut negative = calibration();
    negative["trees"][0]["nodes"][0]["energy_j"] = json!(-1.0);
    let mut future = calibration();
    future["version"] = json!(9);
    let mut empty = calibration();
    empty["trees"] = json!([]);
    for (name, text, answer) in [
        ("nothing", String::new(), "calibrate again"),
        ("negative", negative.to_string(), "block.0/dense"),
        ("future", future.to_string(), "version 9"),
        ("empty", empty.to_string(), "holds no model"),
    ] {
        let folder = broken(name, &text);
        let ran = run(["train".as_ref(), folder.as_os_str(), "-o".as_ref(), trained.path("new.json").as_ref()]);
        assert!(ran.code == 1 && ran.stderr.contains(answer), "{name}: {}", ran.stderr);
        assert!(!Path::new(&trained.path("new.json")).exists());
    }
    let precious = trained.path("thesis.json");
    fs::write(&precious, "{\"precious\": true}").expect("a file");
    let refused = run(["train", &trained.path("."), "-o", &precious]);
    assert!(refused.code == 1 && refused.stderr.contains("is no profile"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&precious).expect("a file"), "{\"precious\": true}");

    let training = trained.predict(&["--training"]);
    assert!(training.code == 1 && training.stderr.contains("backward"), "{}", training.stderr);
    let fixed = trained.predict(&["--batch", "3"]);
    assert!(fixed.code == 1 && fixed.stderr.contains("shapes are fixed"), "{}", fixed.stderr);
    let unknown = run(["predict", "no-such-model", "--profile", &profile]);
    assert!(unknown.code == 1 && unknown.stderr.contains("gpt2"), "{}", unknown.stderr);
    let no_profile = run(["predict", "bert", "--profile", &precious]);
    assert!(no_profile.code == 1 && no_profile.stderr.contains("jouletree train"), "{}", no_profile.stderr);
    let no_run = run(["train", &trained.path("nowhere")]);
    assert!(no_run.code == 1 && no_run.stderr.contains("nowhere"), "{}", no_run.stderr);
}
