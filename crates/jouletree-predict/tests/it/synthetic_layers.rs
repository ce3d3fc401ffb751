//! Predictors of layers on tables that a known law made, in the layout of measured ones, plain and compressed.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_predict::layers::{AdditiveModel, LayerKind, evaluate, read_tables};

const JOULES_PER_MAC: f64 = 2e-9;
const JOULES_PER_CALL: f64 = 0.003;
const KILOWATT_HOUR: f64 = 3.6e6;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (self.0 >> 33) % most
    }

    /// A factor within so many percent of one.
    fn noise(&mut self, percent: f64) -> f64 {
        1.0 + percent / 100.0 * (self.up_to(2001) as f64 / 1001.0 - 1.0)
    }
}

fn linear_table(rows: usize) -> String {
    let mut numbers = Numbers(7);
    let mut text = "batch_size,input_size,output_size,cpu_energy,session\n".to_owned();
    for _ in 0..rows {
        let (batch, inputs, outputs) = (numbers.up_to(512), numbers.up_to(5000), 1 + numbers.up_to(4999));
        let joules = JOULES_PER_MAC * (batch * inputs * outputs) as f64 + JOULES_PER_CALL;
        let energy = joules * numbers.noise(10.0) / KILOWATT_HOUR;
        text += &format!("{batch},{inputs},{outputs},{energy:e},00\n");
    }
    text
}

fn write_gz(path: &Path, text: &str) {
    let mut encoder = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
}

#[test]
fn the_law_is_found_and_intervals_hold() {
    let folder = tempfile::tempdir().unwrap();
    write_gz(&folder.path().join("linear.csv.gz"), &linear_table(1500));
    let evaluation = evaluate(folder.path()).unwrap();
    let linear = &evaluation.layers[&LayerKind::Linear];
    assert!(linear.additive.mean_percent < 6.0, "{linear:?}");
    assert_eq!(linear.additive.negative, 0);
    assert!((85.0..=95.0).contains(&linear.coverage_percent), "{linear:?}");
    let tables = read_tables(folder.path()).unwrap();
    let model = AdditiveModel::fit(&tables.tables, |_| true).unwrap();
    let written = serde_json::to_string(&model).unwrap();
    let read: AdditiveModel = serde_json::from_str(&written).unwrap();
    let energy = |model: &AdditiveModel| model.predict(&tables.tables[0].rows[0].operator).unwrap().energy.0;
    assert!((energy(&read) / energy(&model) - 1.0).abs() < 1e-12);
    let macs = &model.kinds[&LayerKind::Linear].coefficients[0];
    assert_eq!((macs.name.as_str(), macs.unit.to_string().as_str()), ("MACs", "J/MAC"));
    assert!((macs.joules / JOULES_PER_MAC - 1.0).abs() < 0.02, "{macs:?}");
}

#[test]
fn networks_are_sums_and_what_is_unknown_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("linear.csv"), linear_table(400)).unwrap();
    let networks =
        "architecture,batch_size,layer_idx,cpu_energy\nalexnet,4,0,1e-6\nalexnet,4,1,1e-7\nfoonet,4,0,1e-6\n";
    fs::write(folder.path().join("architectures_whole.csv"), networks).unwrap();
    let evaluation = evaluate(folder.path()).unwrap();
    assert_eq!(evaluation.networks["alexnet"].additive.count, 1);
    let warnings: Vec<String> = evaluation.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("foonet")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("conv1: no such operator")), "{warnings:?}");
}

#[test]
fn sessions_that_disagree_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(3);
    let mut text = "batch_size,input_size,cpu_energy,session\n".to_owned();
    for index in 0..300 {
        let (session, cost) = if index % 2 == 0 { ("cold", 5e-8) } else { ("hot", 1.5e-7) };
        let (batch, size) = (numbers.up_to(500), 1000 * numbers.up_to(1000));
        text += &format!("{batch},{size},{:e},{session}\n", cost * (batch * size) as f64 / KILOWATT_HOUR);
    }
    fs::write(folder.path().join("relu.csv"), text).unwrap();
    let evaluation = evaluate(folder.path()).unwrap();
    let warning = evaluation.warnings.iter().find(|warning| warning.source == "relu").unwrap();
    assert!(warning.message.contains("`hot`") && warning.message.contains("`cold`"), "{warning}");
}
