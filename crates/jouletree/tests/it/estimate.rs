//! `jouletree estimate` from outside: theory and layers, on models that are built in, described or read, and on tables that a
//! known law made; on the measured ones where they are at hand.

use crate::common;

use common::*;
use serde_json::Value;

const JOULES_PER_MAC: f64 = 2e-9;
const JOULES_PER_CALL: f64 = 0.003;

fn theory(arguments: &[&str]) -> Value {
    run(["estimate", "theory"].iter().chain(arguments).chain(&["--format", "json"])).json()
}

/// A table of dense layers of a machine that follows a law, with some noise.
fn linear_table(rows: u64) -> String {
    let mut table = "batch_size,input_size,output_size,cpu_energy\n".to_owned();
    for index in 0..rows {
        let (batch, inputs, outputs) = (1 + index * 7 % 97, 1 + index * 131 % 1999, 2 + index * 173 % 1499);
        let noise = 1.0 + 0.1 * ((index * 61 % 101) as f64 / 50.0 - 1.0);
        let joules = JOULES_PER_MAC * (batch * inputs * outputs) as f64 + JOULES_PER_CALL;
        table += &format!("{batch},{inputs},{outputs},{:e}\n", joules * noise / 3.6e6);
    }
    table
}

#[test]
fn theory_gives_a_bracket_that_is_said_to_be_predicted() {
    let alexnet = theory(&["alexnet"]);
    assert_eq!((text(&alexnet, "kind"), text(&alexnet, "method")), ("predicted", "theory"));
    let total = &alexnet["total"];
    assert_eq!((&total["macs"], &total["parameters"]), (&714_188_480.into(), &61_100_840.into()));
    assert!(number(total, "once_j") < number(total, "naive_j"));
    let sum = |key: &str| list(&alexnet, "rows").iter().map(|row| number(row, key)).sum::<f64>();
    assert_close(sum("once_j"), number(total, "once_j"), 1e-12, "once");
    assert_close(sum("naive_j"), number(total, "naive_j"), 1e-12, "naive");
    let kinds = theory(&["alexnet", "--by", "kind"]);
    assert_close(
        list(&kinds, "rows").iter().map(|row| number(row, "naive_j")).sum(),
        number(total, "naive_j"),
        1e-12,
        "kinds",
    );
    assert!(list(&theory(&["alexnet", "--by", "total"]), "rows").is_empty());
    let eight = theory(&["alexnet", "--bits", "8"]);
    assert!(number(&eight["total"], "naive_j") < number(total, "naive_j") / 4.0);
    let table = run(["estimate", "theory", "bert", "--seq", "64", "--layers", "2", "--by", "kind"]).ok();
    assert!(table.contains("predicted, not measured") && table.contains("mat-mul"), "{table}");
    let csv = run(["estimate", "theory", "vgg11", "--batch", "2", "--format", "csv"]).ok();
    assert!(csv.starts_with("name,operator,count,mul,sum,macs,"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.ends_with(",predicted")).count(), 27);
}

#[test]
fn theory_is_tied_to_a_machine_by_one_energy() {
    let files = Files::new();
    let calibrated = theory(&["alexnet", "--calibrate", "0.2"]);
    assert_close(number(&calibrated["total"], "calibrated_j"), 0.2, 1e-12, "the measured run");
    let of_rows: f64 = list(&calibrated, "rows").iter().map(|row| number(row, "calibrated_j")).sum();
    assert_close(of_rows, 0.2, 1e-9, "its operators");
    let other = theory(&["vgg11", "--by", "total", "--calibrate", "alexnet=0.2"]);
    assert_close(
        number(&other["calibration"], "avoidable_traffic"),
        number(&calibrated["calibration"], "avoidable_traffic"),
        1e-12,
        "the machine",
    );
    // A run: the forward pass of a step, and the model that it recorded.
    let run_folder = files.path("run");
    let timeline = sample("timeline-5.json.gz");
    run(["account", &timeline, "--power", &sample("power.csv"), "-o", &run_folder]).ok();
    let node = r#"{"path": "a", "type": "Relu", "name": "a", "pass": "forward", "outputs": [{"dims": [4]}]}"#;
    let tree = files.write("run/tree.json", format!(r#"{{"nodes": [{node}], "edges": []}}"#));
    let of_run = theory(&[&tree, "--calibrate", &run_folder]);
    let forward = number(&run(["show", &run_folder, "--by", "pass", "--format", "json"]).json(), "forward");
    let steps = run(["show", &run_folder, "--by", "step", "--format", "json"]).json();
    let mut steps: Vec<u64> =
        steps.as_array().expect("steps").iter().filter_map(|row| row["step"].as_u64()).collect();
    steps.sort_unstable();
    steps.dedup();
    let measured = forward / steps.len().max(1) as f64;
    assert_close(number(&of_run["calibration"], "measured_j"), measured, 1e-9, "a step's forward pass");
    assert_close(number(&of_run["total"], "calibrated_j"), measured, 1e-9, "the run's own model");
    for (said, wanted) in
        [("0", "cannot have taken 0 J"), ("nonsense", "MODEL=JOULES"), ("alexnet=x", "no number of joules")]
    {
        let ran = run(["estimate", "theory", "alexnet", "--calibrate", said]);
        assert!(ran.code == 1 && ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}

#[test]
fn models_come_from_files_too() {
    let files = Files::new();
    let described = "[[operator]]\nname = \"fc\"\nkind = \"dense\"\nrows = 2\ninputs = 3\noutputs = 5\n";
    let toml = files.write("model.toml", described);
    let row = &theory(&[&toml])["rows"][0];
    assert_eq!((text(row, "name"), text(row, "operator"), &row["macs"]), ("fc", "dense", &30.into()));
    let costs = "[add]\n8 = 1.0\n16 = 1.0\n32 = 1.0\n[mul]\n8 = 1.0\n16 = 1.0\n32 = 1.0\n[[access]]\n8 = 0.0\n16 = 0.0\n32 = 0.0\n";
    let prices = files.write("prices.toml", costs);
    let own = theory(&[&toml, "--costs", &prices]);
    assert_close(number(&own["total"], "once_j"), (30.0 + 40.0) * 1e-12, 1e-9, "unit prices");
    let negative = files.write("negative.toml", costs.replacen("1.0", "-1.0", 1));
    let node = r#"{"path": "a", "type": "Relu", "name": "a", "pass": "forward", "outputs": [{"dims": [4]}]}"#;
    let tree = files.write("tree.json", format!(r#"{{"nodes": [{node}], "edges": []}}"#));
    assert_eq!(list(&theory(&[&tree]), "rows").len(), 1);
    let damaged = files.write("model.onnx", [8, 7, 18, 255, 255, 255]);
    for (arguments, wanted) in [
        (vec!["no-such-model"], "neither a file nor a model that is built in"),
        (vec!["vgg11", "--heads", "3"], "heads"),
        (vec!["vgg11", "--batch", "4", "--costs", &negative], "-1 pJ"),
        (vec![toml.as_str(), "--batch", "4"], "shapes are fixed"),
        (vec![damaged.as_str()], "model.onnx"),
    ] {
        let ran = run(["estimate", "theory"].iter().chain(&arguments));
        assert!(ran.code == 1 && ran.stderr.contains(wanted), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(run(["estimate", "theory", "vgg11", "--bits", "12"]).code, 2);
}

/// A field of a protocol buffer that holds bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).expect("a short field")], content].concat()
}

/// A tensor's name and shape, as ONNX writes them.
fn value_info(name: &str, dims: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|dim| field(1, &[1 << 3, *dim])).collect();
    let tensor = [vec![1 << 3, 1], field(2, &dims)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

#[test]
fn an_onnx_graph_with_shapes_is_a_model_and_one_without_is_refused() {
    let files = Files::new();
    let node =
        [field(1, b"x"), field(1, b"w"), field(2, b"y"), field(3, b"fc/MatMul"), field(4, b"MatMul")].concat();
    let model = |graph: Vec<Vec<u8>>| [vec![1 << 3, 8], field(7, &graph.concat())].concat();
    let inputs = [value_info("x", &[2, 3]), value_info("w", &[3, 5])].map(|input| field(11, &input)).concat();
    let graph = vec![field(1, &node), field(2, b"g"), inputs, field(12, &value_info("y", &[2, 5]))];
    let shaped = files.write("model.onnx", model(graph));
    let found = theory(&[&shaped]);
    assert_eq!((text(&found["rows"][0], "operator"), &found["total"]["macs"]), ("dense", &30.into()), "{found}");
    let Some(unshaped) = development("traces/onnx_bert_tiny.graph.gz") else { return };
    let ran = run(["estimate", "theory", &unshaped.display().to_string()]);
    assert!(ran.code == 1 && ran.stdout.is_empty(), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("could be counted") && ran.stderr.contains("describe the model"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_predictor_of_layers_is_trained_kept_and_used() {
    let files = Files::new();
    files.write("linear.csv", linear_table(400));
    let (folder, predictor) = (files.path(""), files.path("predictor.json"));
    let prices = run(["estimate", "layers", "train", &folder, "-o", &predictor, "--format", "json"]).json();
    let macs = prices.as_array().expect("a list").iter().find(|price| price["column"] == "MACs").expect("MACs");
    assert_eq!(text(macs, "unit"), "J/MAC");
    assert!((number(macs, "joules") / JOULES_PER_MAC - 1.0).abs() < 0.05, "{macs}");
    let again = run(["estimate", "layers", "train", &folder, "-o", &predictor]);
    assert!(again.code == 1 && again.stderr.contains("exists already"), "{}", again.stderr);
    let described = "[[operator]]\nname = \"fc\"\nkind = \"dense\"\nrows = 32\ninputs = 512\noutputs = 256\n\
                     [[operator]]\nname = \"huge\"\nkind = \"dense\"\nrows = 4096\ninputs = 9000\noutputs = 9000\n\
                     [[operator]]\nname = \"act\"\nkind = \"gelu\"\nelements = 64\n";
    let model = files.write("model.toml", described);
    let arguments = ["estimate", "layers", "predict", &model, "--predictor", &predictor];
    let ran = run(arguments.iter().chain(&["--format", "json"]));
    assert!(ran.stderr.contains("act: no such operator was measured"), "{}", ran.stderr);
    let predicted = ran.json();
    assert_eq!(text(&predicted, "kind"), "predicted");
    let [fc, huge, act] = list(&predicted, "operators") else { panic!("three operators") };
    let truth = JOULES_PER_MAC * (32.0 * 512.0 * 256.0) + JOULES_PER_CALL;
    assert!((number(fc, "energy_j") / truth - 1.0).abs() < 0.1, "{fc}");
    assert!(number(fc, "low_j") < number(fc, "energy_j") && number(fc, "energy_j") < number(fc, "high_j"));
    assert_eq!(
        (&fc["is_outside"], &huge["is_outside"], &act["energy_j"]),
        (&false.into(), &true.into(), &Value::Null)
    );
    assert_close(
        number(&predicted, "energy_j"),
        number(fc, "energy_j") + number(huge, "energy_j"),
        1e-12,
        "the sum",
    );
    let table = run(arguments).ok();
    assert!(table.contains("outside of what was measured") && table.contains("never measured"), "{table}");
    for (content, wanted) in [("{}", "not a predictor of layers"), ("", "estimate layers train")] {
        let wrong = files.write("wrong.json", content);
        let ran = run(["estimate", "layers", "predict", "vgg11", "--predictor", &wrong]);
        assert!(ran.code == 1 && ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}

#[test]
fn layers_are_evaluated_and_wrong_tables_named() {
    let files = Files::new();
    files.write("linear.csv", linear_table(400) + "3,4,5,NaN\n");
    let folder = files.path("");
    let ran = run(["estimate", "layers", "evaluate", &folder, "--format", "json"]);
    assert!(ran.stderr.contains("row 401"), "{}", ran.stderr);
    let evaluation = ran.json();
    let linear = &evaluation["layers"]["linear"];
    assert!(number(&linear["additive"], "mean_percent") < 8.0, "{linear}");
    assert!(linear["getzner"]["mean_percent"].is_number(), "{linear}");
    let table = run(["estimate", "layers", "evaluate", &folder]).ok();
    assert!(table.contains("additive") && table.contains("getzner"), "{table}");
    let csv = run(["estimate", "layers", "evaluate", &folder, "--format", "csv"]).ok();
    assert!(csv.starts_with("part,name,method,count,mean_percent,"), "{csv}");
    let refused = |files: &Files, wanted: &str| {
        for task in ["train", "evaluate"] {
            let ran = run(["estimate", "layers", task, &files.path("")]);
            assert!(ran.code == 1 && ran.stdout.is_empty() && ran.stderr.contains(wanted), "{}", ran.stderr);
        }
    };
    refused(&Files::new(), "expected files such as conv2d.csv");
    let wrong = Files::new();
    wrong.write("linear.csv", linear_table(30).replacen("input_size", "inputs", 1));
    refused(&wrong, "no column `input_size`");
    wrong.write("linear.csv", "");
    refused(&wrong, "linear.csv");
    wrong.write("linear.csv", linear_table(5));
    refused(&wrong, "too few");
}

/// What must hold on the measured layers and networks, by the command.
#[test]
fn the_measured_layers_give_what_they_must() {
    let Some(folder) = development("getzner") else { return };
    let evaluation =
        run(["estimate", "layers", "evaluate", &folder.display().to_string(), "--format", "json"]).json();
    let limits = [
        ("conv2d", 15.0),
        ("maxpool2d", 5.0),
        ("linear", 5.0),
        ("sigmoid", 10.0),
        ("tanh", 12.0),
        ("softmax", 8.0),
    ];
    for (kind, limit) in limits {
        let scores = &evaluation["layers"][kind];
        let (error, coverage) = (number(&scores["additive"], "mean_percent"), number(scores, "coverage_percent"));
        println!("{kind}: {error:.2} %, intervals hold {coverage:.1} %");
        assert!(error <= limit && (85.0..=95.0).contains(&coverage), "{kind}: {scores}");
        assert_eq!(number(&scores["additive"], "negative"), 0.0);
    }
    let networks = &evaluation["networks"]["all"]["additive"];
    assert!(number(networks, "mean_percent") <= 7.5 && number(networks, "worst_percent") <= 13.0, "{networks}");
}

/// Every model that the reference has and that is built in, at every width.
#[test]
fn theory_meets_its_reference() {
    let Some(reference) = development("theory/reference.json") else { return };
    let reference = read_json(&reference);
    for (name, case) in [
        ("alexnet", "alexnet_224_b1"),
        ("vgg11", "vgg11_224_b1"),
        ("vgg13", "vgg13_224_b1"),
        ("vgg16", "vgg16_224_b1"),
        ("bert", "bert_base_s128_b1"),
    ] {
        let wanted = &reference["cases"][case];
        for bits in ["32", "16", "8"] {
            let found = &theory(&[name, "--bits", bits, "--by", "total"])["total"];
            for (ours, theirs) in [("mul", "mul"), ("sum", "sum"), ("macs", "macs"), ("parameters", "params")] {
                assert_eq!(found[ours], wanted[theirs], "{name}: {ours}");
            }
            for mode in ["once", "naive"] {
                let energy = number(&wanted["results"][format!("{bits}bit_{mode}")], "energy_J");
                assert_close(number(found, &format!("{mode}_j")), energy, 1e-9, &format!("{name} {bits} {mode}"));
            }
        }
    }
}
