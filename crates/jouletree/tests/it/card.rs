//! `jouletree card` from outside: what it says of one run, of a study, and what it does not say.

use crate::common;

use std::fs;
use std::process::Command;

use common::*;
use serde_json::Value;

/// The command where no file and no variable says anything about a place.
fn alone(files: &Files) -> Command {
    let mut command = jouletree();
    for variable in ["HOME", "XDG_CONFIG_HOME", "JOULETREE_CLOUD_METADATA"] {
        command.env(variable, files.path("nothing"));
    }
    command
}

fn card(files: &Files, arguments: &[&str]) -> Ran {
    ended(
        alone(files).arg("card").args(arguments).current_dir(files.path("")).output().expect("the command starts"),
    )
}

fn json(files: &Files, arguments: &[&str]) -> Value {
    card(files, &[arguments, &["--format", "json"]].concat()).json()
}

/// A run of the sample: one step of TensorFlow with its power.
fn sampled(files: &Files, name: &str) -> String {
    let folder = files.path(name);
    run(["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", &folder]).ok();
    folder
}

/// A run with steps: one that trains and one that predicts.
fn stepped(files: &Files, name: &str, learning_rate: &str) -> String {
    let folder = files.path(name);
    let program = "import time\nfrom jouletree import _session\nsession = _session.current()\n\
                   for number, phase in enumerate(['train', 'predict']):\n    t = time.time_ns()\n    \
                   time.sleep(0.15)\n    session.ran_step(number, t, time.time_ns(), phase, True, 8)\n";
    let words = ["run", "-q", "--no-daemon", "-o", &folder, "--", "python3", "-c", program, "--lr", learning_rate];
    ended(jouletree().args(words).output().expect("the command starts")).ok();
    folder
}

/// The block at the head of a card, as its lines.
fn block(markdown: &str) -> Vec<&str> {
    let inside = markdown.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a block").0;
    inside.lines().collect()
}

#[test]
fn one_run_as_a_model_card() {
    let files = Files::new();
    let folder = sampled(&files, "run");
    let found = json(&files, &[&folder, "--country", "ITA", "--pue", "1.5", "--training-type", "fine-tuning"]);
    // Every figure is that of `carbon`.
    let answer = ended(
        alone(&files)
            .args(["carbon", &folder, "--country", "ITA", "--pue", "1.5", "--format", "json"])
            .output()
            .expect("it starts"),
    )
    .json();
    assert_close(number(&found["energy_j"], "total"), number(&answer, "it_energy_j"), 1e-12, "energy");
    assert_close(number(&found["carbon"], "carbon_g"), number(&answer, "carbon_g"), 1e-12, "carbon");
    assert_eq!(found["carbon"]["intensity"], answer["intensity"]);
    assert_eq!(found["kind"], answer["kind"]);
    let emissions = &found["co2_eq_emissions"];
    assert_close(number(emissions, "emissions"), number(&answer, "carbon_g"), 1e-12, "grams");
    assert_eq!(
        (text(emissions, "training_type"), text(emissions, "geographical_location")),
        ("fine-tuning", "Italy")
    );
    assert!(text(emissions, "source").starts_with("jouletree "), "{emissions}");
    // Layers are parts that do not overlap.
    let shares: f64 = list(&found, "layers").iter().map(|layer| number(layer, "share")).sum();
    assert_close(shares, 1.0, 1e-9, "all layers");
    let tree = run(["show", &folder, "--by", "layer", "--format", "json"]).json();
    let energy: f64 = list(&found, "layers").iter().map(|layer| number(layer, "energy_j")).sum();
    assert_close(energy, number(&tree, "energy_j"), 1e-9, "the tree");
    let markdown = card(&files, &[&folder, "--country", "ITA", "--training-type", "fine-tuning"]).ok();
    let block = block(&markdown);
    assert_eq!(block[0], "co2_eq_emissions:");
    let grams =
        block[1].strip_prefix("  emissions: ").and_then(|grams| grams.parse::<f64>().ok()).expect("a number");
    assert_close(grams, number(&answer, "carbon_g") / 1.5, 5e-3, "grams in the block, to three digits");
    assert!(
        block.contains(&"  training_type: \"fine-tuning\"")
            && block.contains(&"  geographical_location: \"Italy\"")
    );
    assert!(markdown.contains("### Energy by layer") && markdown.contains("how good the model is"), "{markdown}");
}

#[test]
fn without_a_place_there_is_no_block() {
    let files = Files::new();
    let folder = sampled(&files, "run");
    let ran = card(&files, &[&folder]);
    assert!(ran.stderr.contains("--country"), "{}", ran.stderr);
    let markdown = ran.ok();
    assert!(markdown.starts_with("## Energy and carbon of") && markdown.contains("unknown"), "{markdown}");
    assert!(json(&files, &[&folder])["co2_eq_emissions"].is_null());
}

#[test]
fn the_runs_of_a_study() {
    let files = Files::new();
    let runs = [("a", "0.1"), ("b", "0.1"), ("c", "0.5")].map(|(name, rate)| stepped(&files, name, rate));
    let names: Vec<&str> = runs.iter().map(String::as_str).collect();
    let found = json(&files, &[&names[..], &["--intensity", "100"]].concat());
    let energies: Vec<f64> = list(&found, "runs").iter().map(|run| number(run, "energy_j")).collect();
    let (total, mean) = (energies.iter().sum::<f64>(), energies.iter().sum::<f64>() / 3.0);
    let summary = &found["energy_j"];
    assert_close(number(summary, "mean"), mean, 1e-12, "mean");
    assert_close(number(summary, "total"), total, 1e-12, "total");
    let squares: f64 = energies.iter().map(|energy| (energy - mean).powi(2)).sum();
    assert_close(number(summary, "deviation"), (squares / 2.0).sqrt(), 1e-9, "deviation");
    assert_close(
        number(&found["co2_eq_emissions"], "emissions"),
        total / 3.6e6 * 100.0,
        1e-9,
        "all runs together",
    );
    // Only the learning rate differs.
    let values: Vec<(&str, &str, u64)> = list(&found, "sensitivity")
        .iter()
        .map(|row| (text(row, "argument"), text(row, "value"), row["runs"].as_u64().expect("a number")))
        .collect();
    assert_eq!(values, [("--lr", "0.1", 2), ("--lr", "0.5", 1)]);
    let phases: Vec<(&str, u64)> = list(&found, "phases")
        .iter()
        .map(|row| (text(row, "phase"), row["steps"].as_u64().expect("steps")))
        .collect();
    assert_eq!(phases, [("train", 3), ("predict", 3)]);
    assert!(found["software"]["python"].is_string() && found["hardware"]["threads"].is_u64(), "{found}");
    let markdown = card(&files, &[&names[..], &["--intensity", "100"]].concat()).ok();
    for section in ["Training and inference", "Sensitivity over the runs", "Hardware and software", "`--lr`"] {
        assert!(markdown.contains(section), "{section}: {markdown}");
    }
    let twice = card(&files, &[names[0], names[0]]);
    assert_eq!(twice.code, 1);
    assert!(twice.stderr.contains("given twice"), "{}", twice.stderr);
}

#[test]
fn a_file_is_never_replaced() {
    let files = Files::new();
    let folder = sampled(&files, "run");
    let output = files.path("CARD.md");
    assert_eq!(card(&files, &[&folder, "-o", &output]).ok(), "");
    let written = fs::read_to_string(&output).expect("the card");
    assert!(written.starts_with("## Energy and carbon"), "{written}");
    let again = card(&files, &[&folder, "-o", &output, "--country", "ITA"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("exists"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&output).expect("the card"), written);
    let nowhere = card(&files, &[&folder, "-o", &files.path("no/such/folder/CARD.md")]);
    assert_eq!(nowhere.code, 1);
    let typo = card(&files, &[&folder, "--country", "Itly"]);
    assert!(typo.code == 1 && typo.stderr.contains("ITA (Italy)"), "{}", typo.stderr);
}

/// Hugging Face's reader finds in a card what was written; skipped where it cannot be installed.
#[test]
fn hugging_face_reads_it() {
    let made = Command::new("python3").arg(root().join("tools/environment.py")).arg("cards").output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        println!("skipped: huggingface_hub cannot be installed; it needs Python and its package index");
        return;
    };
    let files = Files::new();
    let (folder, output) = (sampled(&files, "run"), files.path("CARD.md"));
    let place = ["--provider", "gcp", "--region", "europe-west1", "--training-type", "pre-training"];
    card(&files, &[&[folder.as_str(), "-o", &output], &place[..]].concat()).ok();
    let script = root().join("crates/jouletree/tests/it/readers/card.py");
    let python = String::from_utf8(made.stdout).expect("UTF-8");
    let mut reader = Command::new(python.trim_end());
    let read =
        ended(reader.arg(script).arg(&output).env("HF_HUB_OFFLINE", "1").output().expect("it starts")).json();
    let wanted = &json(&files, &[&[folder.as_str()], &place[..]].concat())["co2_eq_emissions"];
    assert_close(number(&read["emissions"], "emissions"), number(wanted, "emissions"), 5e-3, "grams");
    for field in ["source", "training_type", "geographical_location"] {
        assert_eq!(read["emissions"][field], wanted[field], "{field}");
    }
    assert!(text(&read, "text").contains("## Energy and carbon of"), "{read}");
}
