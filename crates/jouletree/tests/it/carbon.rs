//! Grams, rows of other trackers, settings and places, by the built command. Energies are from samples and from a fake
//! counter; nothing here comes from hardware, and the service that is asked is a fake on this machine.

use crate::common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::*;
use fake_powercap::{Fake, Layout, Player, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder in which the command works, with a home of its own, far from the settings of the user who runs the tests.
struct Workspace {
    folder: TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        Workspace { folder }
    }

    fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    fn home(&self) -> std::path::PathBuf {
        self.folder.path().join("home")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = jouletree();
        for (name, _) in std::env::vars() {
            if name.to_ascii_uppercase().starts_with("CODECARBON_") || name.starts_with("JOULETREE_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.work()).env("HOME", self.home()).env_remove("XDG_CONFIG_HOME");
        command.env("XDG_CACHE_HOME", self.home().join("cache"));
        command.env("JOULETREE_CLOUD_METADATA", self.home().join("none.json")).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        ended(self.command(arguments).output().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.work().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    /// The rows of a table, by column.
    fn rows(&self, name: &str) -> Vec<std::collections::BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_path(self.work().join(name)).unwrap();
        let header = reader.headers().unwrap().clone();
        let row =
            |row: csv::StringRecord| header.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect();
        reader.records().map(|record| row(record.unwrap())).collect()
    }

    /// The sample's TensorFlow step as a run.
    fn sample_run(&self) -> &'static str {
        let run = ["account", &sample("timeline-5.json.gz"), "--power", &sample("power.csv"), "-o", "RUN"];
        self.run(&run).ok();
        "RUN"
    }

    fn setting(&self, command: &mut Command, name: &str) -> (Value, String) {
        let shown = ended(command.output().unwrap()).json();
        let setting = list(&shown, "settings").iter().find(|setting| setting["name"] == name).unwrap().clone();
        (setting["value"].clone(), text(&setting, "origin").to_owned())
    }
}

fn near(left: f64, right: f64) {
    assert!((left - right).abs() <= 1e-9 * right.abs().max(1e-30), "{left} is not {right}");
}

#[test]
fn the_grams_of_layers_sum_up_to_those_of_the_run() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let answer = workspace
        .run(&["carbon", run, "--country", "ITA", "--pue", "1.3", "--depth", "60", "--format", "json"])
        .json();
    let whole = number(&answer, "carbon_g");
    near(whole, number(&answer, "it_energy_j") / 3.6e6 * 1.3 * 330.718);
    let layers = list(&answer, "layers");
    let at = |depth: u64| layers.iter().filter(move |layer| layer["depth"] == depth);
    near(at(0).map(|layer| number(layer, "carbon_g")).sum(), whole);
    let no_layer = number(layers.last().unwrap(), "carbon_g");
    near(at(1).map(|layer| number(layer, "carbon_g")).sum::<f64>() + no_layer, whole);
    // Every layer holds what is inside of it.
    for layer in layers.iter().filter(|layer| layer["depth"].as_u64().unwrap() > 0) {
        let path = format!("{}/", text(layer, "path"));
        let below = layer["depth"].as_u64().unwrap() + 1;
        let inside = at(below).filter(|other| text(other, "path").starts_with(&path));
        let inside: f64 = inside.map(|other| number(other, "carbon_g")).sum();
        assert!(inside <= number(layer, "carbon_g") * (1.0 + 1e-9), "{layer}");
    }
    let intensity = &answer["intensity"];
    assert_eq!(
        (text(intensity, "zone"), number(intensity, "year"), text(intensity, "kind")),
        ("ITA", 2023.0, "published")
    );
    assert!(text(intensity, "source").contains("Ember"));
}

#[test]
fn each_line_stands_for_itself() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let answer = workspace.run(&[
        "carbon",
        run,
        "--intensity",
        "100",
        "--pue",
        "2",
        "--wue",
        "1.5",
        "--embodied",
        "1000",
        "--units",
        "10",
        "--tariff",
        "0.5",
        "--currency",
        "USD",
        "--format",
        "json",
    ]);
    let answer = answer.json();
    let kwh = number(&answer, "it_energy_j") / 3.6e6;
    near(number(&answer, "it_energy_kwh"), kwh);
    near(number(&answer, "energy_kwh"), 2.0 * kwh);
    near(number(&answer, "carbon_g"), 200.0 * kwh);
    near(number(&answer, "water_l"), 3.0 * kwh);
    near(number(&answer, "cost"), kwh);
    let embodied = 1e6 * number(&answer, "duration_s") / (4.0 * 365.0 * 86400.0);
    near(number(&answer, "embodied_g"), embodied);
    near(number(&answer, "sci_g"), (200.0 * kwh + embodied) / 10.0);
    // The server behind an instance of a cloud; one that is not known is an error, and so are no units.
    let of = |more: &[&str]| workspace.run(&[&["carbon", run, "--format", "json"], more].concat());
    let server = of(&["--embodied", "aws/p3.2xlarge"]).json();
    near(number(&server, "embodied_g"), 3.54379 * embodied);
    let ran = of(&["--embodied", "aws/p3.3xlarge"]);
    assert!(ran.code == 1 && ran.stderr.contains("an instance of a cloud"), "{}", ran.stderr);
    for units in ["0", "-1", "NaN"] {
        assert_eq!(of(&[&format!("--units={units}")]).code, 2);
    }
}

#[test]
fn nobody_invents_a_place() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let ran = workspace.run(&["carbon", run, "--format", "json"]);
    assert!(ran.stderr.contains("its carbon is unknown"), "{}", ran.stderr);
    let answer = ran.json();
    assert_eq!(
        (&answer["carbon_g"], &answer["intensity"], &answer["equivalents"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let answer = workspace.run(&["carbon", run, "--allow-world-average", "--format", "json"]).json();
    assert_eq!(answer["intensity"]["kind"], "world-average");
    for (arguments, words) in [
        (vec!["--country", "Itly"], "did you mean `ITA (Italy)`?"),
        (vec!["--country", "USA", "--region", "Texsa"], "did you mean `Texas`?"),
        (vec!["--provider", "gcp", "--region", "europe-wets1"], "did you mean `europe-west1`?"),
        (vec!["--provider", "gpc"], "no cloud provider"),
        (vec!["--pue", "0.5"], "cannot be"),
        (vec!["--tariff", "cheap"], "no tariff"),
        (vec!["--online"], "a token for Electricity Maps"),
    ] {
        let arguments: Vec<&str> = ["carbon", run].into_iter().chain(arguments).collect();
        let ran = workspace.run(&arguments);
        assert_eq!(ran.code, 1, "{arguments:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn every_setting_says_where_it_comes_from() {
    let workspace = Workspace::new();
    let show = ["config", "show", "--format", "json"];
    let pue = |command: &mut Command| {
        let (value, origin) = workspace.setting(command, "pue");
        (value.as_str().unwrap().to_owned(), origin)
    };
    assert_eq!(pue(&mut workspace.command(&show)), ("1".to_owned(), "default".to_owned()));
    fs::write(
        workspace.home().join(".codecarbon.config"),
        "[codecarbon]\npue = 1.1\nproject_name = x\nwhatever = 3\n",
    )
    .unwrap();
    assert!(pue(&mut workspace.command(&show)).1.ends_with("home/.codecarbon.config"));
    workspace.write(".codecarbon.config", "[codecarbon]\npue = 1.2\ncountry_iso_code = None\n");
    assert_eq!(pue(&mut workspace.command(&show)), ("1.2".to_owned(), "./.codecarbon.config".to_owned()));
    let mut command = workspace.command(&show);
    assert_eq!(
        pue(command.env("codecarbon_pue", "1.3")),
        ("1.3".to_owned(), "variable codecarbon_pue".to_owned())
    );
    fs::create_dir_all(workspace.home().join(".config/jouletree")).unwrap();
    fs::write(workspace.home().join(".config/jouletree/config.toml"), "pue = 1.4\n").unwrap();
    assert_eq!(pue(command.env("CODECARBON_PUE", "1.3")).0, "1.4");
    workspace.write("jouletree.toml", "pue = 1.5\ncountry = \"FRA\"\n");
    assert_eq!(pue(&mut command), ("1.5".to_owned(), "./jouletree.toml".to_owned()));
    assert_eq!(pue(command.env("JOULETREE_PUE", "1.6")), ("1.6".to_owned(), "variable JOULETREE_PUE".to_owned()));
    assert_eq!(pue(command.args(["--pue", "1.7"])), ("1.7".to_owned(), "--pue".to_owned()));
    let ran = workspace.run(&show);
    assert!(ran.stderr.contains("no setting `whatever`"), "{}", ran.stderr);
    // A token must not appear on the screen.
    let mut command = workspace.command(&show);
    let (token, _) =
        workspace.setting(command.env("JOULETREE_ELECTRICITYMAPS_TOKEN", "s3cret"), "electricitymaps_token");
    assert_eq!(token, "(secret)");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    for (name, content) in [
        (".codecarbon.config", "[codecarbon\npue"),
        ("jouletree.toml", "pue = = 1"),
        ("jouletree.toml", "pue = [1]"),
        ("jouletree.toml", "pue = \"much\""),
    ] {
        workspace.write(name, content);
        let ran = workspace.run(&["carbon", run, "--country", "ITA"]);
        assert_eq!(ran.code, 1, "{content}");
        assert!(ran.stderr.contains(name), "{content}: {}", ran.stderr);
        fs::remove_file(workspace.work().join(name)).unwrap();
    }
}

#[test]
fn the_cloud_says_where_it_is_and_a_flag_says_better() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let metadata = workspace.home().join("instance-data.json");
    fs::write(&metadata, r#"{"v1": {"cloud_name": "gce", "region": "europe-west1"}}"#).unwrap();
    let answer = |arguments: &[&str]| {
        let mut command = workspace.command(&["carbon", run, "--format", "json"]);
        let answer =
            ended(command.env("JOULETREE_CLOUD_METADATA", &metadata).args(arguments).output().unwrap()).json();
        (number(&answer["intensity"], "g_per_kwh"), text(&answer["intensity"], "zone").to_owned())
    };
    assert_eq!(answer(&[]), (122.0, "gcp/europe-west1".to_owned()));
    assert_eq!(answer(&["--country", "POL"]), (661.926, "POL".to_owned()));
    assert_eq!(
        answer(&["--provider", "aws", "--region", "eu-west-1"]),
        (290.805, "aws/eu-west-1 in IRL".to_owned())
    );
    // A region without figures is no mistake of the user: there is a warning, and nothing stops.
    fs::write(&metadata, r#"{"v1": {"cloud_name": "aws", "region": "xx-new-1"}}"#).unwrap();
    let mut command = workspace.command(&["carbon", run, "--format", "json"]);
    let ran = ended(command.env("JOULETREE_CLOUD_METADATA", &metadata).output().unwrap());
    assert!(ran.stderr.contains("`xx-new-1` is no region of aws"), "{}", ran.stderr);
    assert_eq!(ran.json()["carbon_g"], Value::Null);
    assert_eq!(answer(&["--country", "POL"]), (661.926, "POL".to_owned()));
}

/// A machine whose counter shows 40 W, and what is monitored on it.
fn machine() -> (TempDir, Player) {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = "package-0: 40W\n".parse().unwrap_or_else(|error| panic!("{error:?}"));
    let fake = Fake::new(folder.path(), Layout::OneSocket, &script).unwrap();
    let player = Player::start(fake);
    (folder, player)
}

#[test]
fn monitor_adds_a_row_and_passes_the_exit_status_on() {
    let workspace = Workspace::new();
    let (sys, _player) = machine();
    let root = sys.path().display().to_string();
    let monitor = |more: &[&str]| {
        let mut arguments = vec!["monitor", "--sys-root", &root, "--no-daemon", "--country", "ITA"];
        arguments.extend(more);
        workspace.run(&arguments)
    };
    let ran =
        monitor(&["--tracking-mode", "machine", "--project-name", "=p", "--", "sh", "-c", "sleep 3; exit 7"]);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(ran.stderr.contains("ITA 2023"), "{}", ran.stderr);
    monitor(&["--offline", "--log-level", "error", "--", "true"]).ok();
    let rows = workspace.rows("emissions.csv");
    assert_eq!(rows.len(), 2);
    let (row, other) = (&rows[0], &rows[1]);
    assert_eq!(row.len(), 38);
    let value = |name: &str| row[name].parse::<f64>().unwrap_or_else(|_| panic!("{name}: {}", row[name]));
    // A spreadsheet would compute a name that begins so.
    assert_eq!((row["project_name"].as_str(), row["country_iso_code"].as_str()), ("'=p", "ITA"));
    // As CodeCarbon has them.
    assert_eq!(
        (row["experiment_id"].as_str(), row["gpu_count"].as_str()),
        ("5b0fa12a-3dd7-45bb-9766-cc326314d9f1", "0")
    );
    assert!(row["os"].starts_with("Linux-") && row["os"].ends_with(std::env::consts::ARCH), "{}", row["os"]);
    assert_eq!((row["tracking_mode"].as_str(), other["tracking_mode"].as_str()), ("machine", "process"));
    // Powers are energy by time; emissions are energy by intensity.
    near(value("cpu_power"), value("cpu_energy") * 3.6e6 / value("duration"));
    near(value("energy_consumed"), value("cpu_energy") + value("ram_energy") + value("gpu_energy"));
    near(value("emissions"), value("energy_consumed") * 0.330718);
    near(value("emissions_rate"), value("emissions") / value("duration"));
    assert!((30.0..50.0).contains(&value("cpu_power")), "{}", value("cpu_power"));
    // Of the whole machine, as CodeCarbon has it.
    for percent in ["cpu_utilization_percent", "ram_utilization_percent"] {
        assert!(value(percent) > 0.0 && value(percent) <= 100.0, "{percent}: {}", value(percent));
    }
    near(value("ram_used_gb"), value("ram_total_size") * value("ram_utilization_percent") / 100.0);
    let side: Value = serde_json::from_str(&workspace.read(&format!("{}.energy.json", row["run_id"]))).unwrap();
    assert_eq!((text(&side, "kind"), text(&side["intensity"], "zone")), ("measured", "ITA"));
    near(number(&side, "energy_j"), value("energy_consumed") * 3.6e6);
    // Nothing else is left behind.
    assert_eq!(fs::read_dir(workspace.work()).unwrap().count(), 3);
}

#[test]
fn what_is_wrong_is_said_before_the_command_runs() {
    let workspace = Workspace::new();
    for (arguments, words) in [
        (vec!["--country", "Atlantis"], "no country"),
        (vec!["--country", "ITA", "--output-dir", "nowhere"], "nowhere"),
        (vec!["--country", "ITA", "--", "no-such-program"], "no-such-program"),
    ] {
        let mut all = vec!["monitor"];
        all.extend(arguments.iter().filter(|_| true));
        if !all.contains(&"--") {
            all.extend(["--", "touch", "ran"]);
        }
        let ran = workspace.run(&all);
        assert_ne!(ran.code, 0);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(!workspace.work().join("ran").exists() && !workspace.work().join("emissions.csv").exists());
    }
}

#[test]
fn a_table_of_others_is_never_renamed() {
    let workspace = Workspace::new();
    let theirs = "timestamp,project_name,run_id\n2020-01-01T00:00:00,old,1\n";
    workspace.write("emissions.csv", theirs);
    let ran = workspace.run(&["monitor", "--country", "ITA", "--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("other columns"), "{}", ran.stderr);
    assert_eq!(workspace.read("emissions.csv"), theirs);
    assert_eq!(workspace.rows("emissions.jouletree.csv").len(), 1);
}

#[test]
fn processes_share_one_table() {
    let workspace = Workspace::new();
    let start = |_| {
        workspace
            .command(&["monitor", "--country", "ITA", "-q", "--", "true"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..6).map(start).collect();
    for child in children {
        ended(child.wait_with_output().unwrap()).ok();
    }
    assert_eq!(workspace.rows("emissions.csv").len(), 6);
}

/// What the Python package asks, with a row to be written.
fn request(path: &Path) -> Value {
    json!({
        "version": 1, "settings": {"country_iso_code": "ITA", "no_such_thing": 1},
        "run": {"run_id": "r1", "start_ns": 1_000_000_000_i64, "end_ns": 11_000_000_000_i64, "python_version": "3.11.7"},
        "devices": [
            {"device": "host/cpu:0", "kind": "measured", "energy_j": 360.0, "low_j": 350.0, "high_j": 370.0, "ours_j": 180.0,
             "others_j": 60.0, "idle_j": 120.0, "unknown_j": 0.0, "coverage": 1.0},
            {"device": "host/gpu:0", "kind": "derived", "energy_j": 720.0, "low_j": 700.0, "high_j": 740.0, "ours_j": 0.0,
             "others_j": 0.0, "idle_j": 0.0, "unknown_j": 720.0, "coverage": 1.0}],
        "write": [{"format": "codecarbon", "path": path, "mode": "append"}]
    })
}

fn emissions(mut command: Command, request: &Value) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().unwrap().write_all(request.to_string().as_bytes()).unwrap();
    ended(child.wait_with_output().unwrap())
}

#[test]
fn a_program_asks_what_its_windows_come_to() {
    let workspace = Workspace::new();
    let path = workspace.work().join("emissions.csv");
    let answer = emissions(workspace.command(&["emissions"]), &request(&path)).json();
    near(number(&answer, "energy_j"), 1080.0);
    near(number(&answer, "carbon_g"), 1080.0 / 3.6e6 * 330.718);
    assert_eq!(text(&answer, "kind"), "derived");
    assert_eq!(workspace.rows("emissions.csv").len(), 1);
    let mut process = request(&path);
    process["settings"]["tracking_mode"] = "process".into();
    process["epochs"] = json!({"total": 10, "done": [{"duration_s": 5.0, "energy_j": 450.0}, {"duration_s": 5.0, "energy_j": 450.0}]});
    let answer = emissions(workspace.command(&["emissions"]), &process).json();
    // The GPU does not report who used it.
    near(number(&answer, "energy_j"), 180.0 + 720.0);
    near(number(&answer["prediction"], "energy_j"), 4500.0);
    near(number(&answer["prediction"], "duration_s"), 50.0);
    // A place that is not known costs the grams, and not the joules.
    let mut lost = request(&path);
    lost["settings"]["country_iso_code"] = "Atlantis".into();
    let answer = emissions(workspace.command(&["emissions"]), &lost).json();
    assert_eq!(answer["carbon_g"], Value::Null);
    assert!(list(&answer, "warnings").iter().any(|warning| warning.as_str().unwrap().contains("Atlantis")));
    assert_eq!(workspace.rows("emissions.csv").len(), 3);
    assert_eq!(workspace.rows("emissions.csv")[2]["emissions"], "");
    // Each mistake costs itself, and nothing else.
    lost["settings"] = json!({"country_iso_code": "Atlantis", "pue": 1.5, "wue": "much"});
    let answer = emissions(workspace.command(&["emissions"]), &lost).json();
    near(number(&answer, "energy_kwh"), 1080.0 / 3.6e6 * 1.5);
    assert_eq!(list(&answer, "warnings").len(), 2, "{answer}");
    let mut nothing = request(&path);
    nothing["devices"] = json!([]);
    let answer = emissions(workspace.command(&["emissions"]), &nothing).json();
    assert!(number(&answer, "energy_j").is_sign_positive());
}

/// A disk that takes no more bytes costs nothing that was there, and the row is reported.
#[test]
fn a_full_disk_loses_nothing() {
    let workspace = Workspace::new();
    let path = workspace.work().join("emissions.csv");
    emissions(workspace.command(&["emissions"]), &request(&path)).ok();
    let before = workspace.read("emissions.csv");
    let mut limited = Command::new("sh");
    let this = env!("CARGO_BIN_EXE_jouletree");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" emissions", this]);
    limited.current_dir(workspace.work()).env("HOME", workspace.home());
    let answer = emissions(limited, &request(&path)).json();
    let warnings = list(&answer, "warnings");
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains("the row is: ")), "{warnings:?}");
    assert_eq!(list(&answer, "wrote"), &[] as &[Value]);
    assert_eq!(workspace.read("emissions.csv"), before);
    near(number(&answer, "energy_j"), 1080.0);
}

/// Nor does a log that takes no more words.
#[test]
fn a_full_log_ends_nothing() {
    let workspace = Workspace::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status =
        workspace.command(&["monitor", "--country", "ITA", "--", "sh", "-c", "exit 7"]).stderr(full).status();
    assert_eq!(status.unwrap().code(), Some(7));
    assert_eq!(workspace.rows("emissions.csv").len(), 1);
}

#[test]
fn a_run_in_the_files_of_other_trackers() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let carbon = workspace.run(&["carbon", run, "--country", "FRA", "--format", "json"]).json();
    let (kwh, grams) = (number(&carbon, "it_energy_kwh"), number(&carbon, "carbon_g"));
    let export = |to: &str, more: &[&str]| {
        let arguments = ["export", run, "--to", to, "--country", "FRA"];
        workspace.run(&arguments.into_iter().chain(more.iter().copied()).collect::<Vec<_>>()).ok()
    };
    // Written twice it is one row.
    export("emissions.csv", &[]);
    export("emissions.csv", &[]);
    let rows = workspace.rows("emissions.csv");
    assert_eq!((rows.len(), rows[0].len()), (1, 38));
    near(rows[0]["emissions"].parse().unwrap(), grams * 1e-3);
    // Tables keep programs apart: a project without a name has that of the program, or of the run.
    let folder = Path::new(run).file_name().unwrap().to_str().unwrap();
    assert_eq!(rows[0]["project_name"], folder);
    export("emissions.csv", &["--project-name", "mine", "-o", "mine.csv"]);
    assert_eq!(workspace.rows("mine.csv")[0]["project_name"], "mine");
    // A row without emissions is `nan` in carbonboard, and one without a country an error.
    let nowhere = workspace.run(&["export", run, "--to", "emissions.csv", "-o", "nowhere.csv"]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("--country"), "{}", nowhere.stderr);
    workspace.run(&["export", run, "--to", "emissions.csv", "-o", "nowhere.csv", "--intensity", "100"]).ok();
    let row = &workspace.rows("nowhere.csv")[0];
    assert_eq!((row["country_name"].as_str(), row["country_iso_code"].as_str()), ("unknown", "unknown"));
    let header = export("emissions.csv", &["-o", "-"]);
    assert_eq!(header.lines().next().unwrap(), workspace.read("emissions.csv").lines().next().unwrap());
    export("eco2ai", &["--tariff", "0.1"]);
    let row = &workspace.rows("emission.csv")[0];
    near(row["power_consumption(kWh)"].parse().unwrap(), kwh);
    near(row["cost"].parse().unwrap(), 0.1 * kwh);
    // The sample is a quarter of a second of a day in March 2026, whenever it was accounted.
    let samples = export("impact-tracker", &["-o", "-"]);
    assert_eq!(samples.lines().count(), 1, "{}", samples.len());
    assert!(rows[0]["timestamp"].starts_with("2026-03-0"), "{}", rows[0]["timestamp"]);
    let log = export("carbontracker", &["-o", "-"]);
    assert!(log.contains("Actual consumption for 1 epoch(s):") && log.contains("km travelled by car"), "{log}");
    let boamps: Value = serde_json::from_str(&export("boamps", &["-o", "-"])).unwrap();
    near(boamps["measures"][0]["powerConsumption"].as_f64().unwrap(), kwh);
    assert_eq!(boamps["environment"]["country"], "France");
    let sci: Value = serde_json::from_str(&export("sci", &["--units", "4", "-o", "-"])).unwrap();
    near(number(&sci, "sci_g_per_unit"), grams / 4.0);
}

/// Samples of power, second by second, have the energy of the run.
#[test]
fn samples_of_power_sum_up_to_the_run() {
    let workspace = Workspace::new();
    let (sys, _player) = machine();
    let root = sys.path().display().to_string();
    workspace.run(&["record", "-o", "RUN", "-q", "--sys-root", &root, "--no-daemon", "--", "sleep", "2.3"]).ok();
    let lines = workspace.run(&["export", "RUN", "--to", "impact-tracker", "--country", "ITA", "-o", "-"]).ok();
    let samples: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(samples.len() >= 3);
    for name in ["absolute_cpu_utilization", "average_relative_cpu_utilization", "relative_mem_usage"] {
        assert!(samples.iter().any(|sample| sample[name].as_f64().is_some_and(|value| value >= 0.0)), "{name}");
    }
    let answer = workspace.run(&["carbon", "RUN", "--tracking-mode", "machine", "--format", "json"]).json();
    let ends: Vec<f64> = samples.iter().map(|sample| number(sample, "timestamp")).collect();
    let begin = ends[0] - 1.0;
    let starts = std::iter::once(begin).chain(ends.iter().copied());
    let joules: f64 = starts
        .zip(&ends)
        .zip(&samples)
        .map(|((start, end), sample)| number(sample, "rapl_power_draw_absolute") * (end - start))
        .sum();
    let whole = number(&answer, "it_energy_j");
    assert!((joules - whole).abs() < 1e-6 * whole, "{joules} is not {whole}");
}

/// A service that answers as Electricity Maps does, and counts who asks.
fn service(status: &'static str, body: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = Vec::new();
            for line in BufReader::new(&stream).lines() {
                let line = line.unwrap();
                if line.is_empty() {
                    break;
                }
                lines.push(line);
            }
            assert!(lines[0].starts_with("GET /v3/carbon-intensity/latest?zone=IT "), "{lines:?}");
            assert!(lines.iter().any(|line| line.eq_ignore_ascii_case("auth-token: s3cret")), "{lines:?}");
            counter.fetch_add(1, Ordering::SeqCst);
            let length = body.len();
            let _ =
                write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    (format!("http://{address}/v3"), asked)
}

#[test]
fn a_service_is_asked_once_an_hour_and_only_if_somebody_wants_it() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let body =
        r#"{"zone": "IT", "carbonIntensity": 211.5, "datetime": "2026-11-16T17:00:00.000Z", "isEstimated": true}"#;
    let (url, asked) = service("200 OK", body);
    let answer = |more: &[&str]| {
        let mut command = workspace.command(&["carbon", run, "--country", "ITA", "--format", "json"]);
        command.env("JOULETREE_ELECTRICITYMAPS_URL", &url).env("JOULETREE_ELECTRICITYMAPS_TOKEN", "s3cret");
        ended(command.args(more).output().unwrap())
    };
    assert_eq!(text(&answer(&[]).json()["intensity"], "kind"), "published");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    for _ in 0..3 {
        let intensity = answer(&["--online"]).json()["intensity"].clone();
        assert_eq!((number(&intensity, "g_per_kwh"), text(&intensity, "kind")), (211.5, "live"));
        assert!(text(&intensity, "source").contains("2026-11-16T17:00"));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // The user's own value is stronger, and no request is made for it.
    near(number(&answer(&["--online", "--intensity", "5"]).json()["intensity"], "g_per_kwh"), 5.0);
}

#[test]
fn a_service_that_fails_is_left_alone_for_a_while() {
    let workspace = Workspace::new();
    let run = workspace.sample_run();
    let (url, asked) = service("500 Internal Server Error", "{}");
    for attempt in 0..3 {
        let mut command = workspace.command(&["carbon", run, "--country", "ITA", "--online", "--format", "json"]);
        command.env("JOULETREE_ELECTRICITYMAPS_URL", &url).env("JOULETREE_ELECTRICITYMAPS_TOKEN", "s3cret");
        let ran = ended(command.output().unwrap());
        let words = if attempt == 0 { "does not return" } else { "not asked again" };
        assert!(ran.stderr.contains(words), "{attempt}: {}", ran.stderr);
        assert_eq!(text(&ran.json()["intensity"], "kind"), "published");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn the_model_of_codecarbon_for_comparison() {
    let workspace = Workspace::new();
    let monitor = |more: &[&str]| {
        let mut arguments = vec![
            "monitor",
            "--no-daemon",
            "--sys-root",
            "/nowhere",
            "--country",
            "ITA",
            "--tracking-mode",
            "machine",
        ];
        arguments.extend(more);
        arguments.extend(["--", "sleep", "2.2"]);
        workspace.run(&arguments).ok();
    };
    monitor(&["--cpu-model", "codecarbon", "--cpu-power", "100", "--ram-model", "codecarbon"]);
    let row = &workspace.rows("emissions.csv")[0];
    let value = |name: &str| row[name].parse::<f64>().unwrap();
    // Between idle and full by its law, whatever else runs here.
    assert!((9.0..101.0).contains(&value("cpu_power")), "{}", value("cpu_power"));
    assert!(value("ram_power") >= 3.0);
}

#[test]
fn what_is_seen_of_the_machine() {
    let workspace = Workspace::new();
    let answer = workspace.run(&["detect", "--country", "USA", "--region", "CA", "--format", "json"]).json();
    assert!(number(&answer, "cpu_count") >= 1.0 && number(&answer, "ram_total_gib") > 0.1);
    assert_eq!(text(&answer, "region"), "California");
    assert!(!list(&answer, "meters").is_empty());
    let shown = workspace.run(&["detect"]).ok();
    assert!(
        shown.contains("- CPU count: ")
            && shown.contains("- GPU count: ")
            && shown.contains("Carbon intensity: unknown"),
        "{shown}"
    );
}
