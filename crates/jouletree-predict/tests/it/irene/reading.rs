//! Both layouts of measured trees, and what is said of files that are wrong.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_predict::irene::{Dataset, IreneError, Level, read};
use tempfile::tempdir;

use test_support::made_trees as made;

/// A tree's name and a line for each of its nodes but the root, in an order that both layouts share. Twelve digits,
/// because the parsers of the layouts may differ in the last of sixteen.
fn shape(data: &Dataset) -> Vec<(String, Vec<String>)> {
    let node = |node: &jouletree_predict::irene::Node| {
        format!("{:?} {} {:.11e} {}", node.level, node.kind, node.measured.0, node.children.len())
    };
    data.trees
        .iter()
        .map(|tree| {
            let mut nodes: Vec<_> = tree.nodes[..tree.nodes.len() - 1].iter().map(node).collect();
            nodes.sort();
            (tree.title(), nodes)
        })
        .collect()
}

#[test]
fn both_layouts_give_the_same_trees() {
    let folder = tempdir().unwrap();
    made::write_folder(folder.path(), &made::calls());
    let file = folder.path().join("trees.jsonl");
    fs::write(&file, made::jsonl(&made::calls())).unwrap();
    let tables = read(folder.path()).unwrap();
    let lines = read(&file).unwrap();
    assert_eq!(tables.trees.len(), 18);
    assert_eq!(shape(&tables), shape(&lines));
    assert!(lines.warnings.is_empty(), "{:?}", lines.warnings);
}

#[test]
fn counts_in_other_units_are_recognised() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("trees.jsonl");
    fs::write(&file, made::jsonl(&made::calls())).unwrap();
    let plain = read(&file).unwrap();
    for (flops, bytes) in [(1e6, 1.0), (1.0, 1_048_576.0), (1e6, 1_048_576.0)] {
        let mut calls = made::calls();
        for call in &mut calls {
            call.root.rescale(flops, bytes);
        }
        fs::write(&file, made::jsonl(&calls)).unwrap();
        let scaled = read(&file).unwrap();
        assert!(scaled.warnings.is_empty(), "{:?}", scaled.warnings);
        for (a, b) in plain.trees.iter().zip(&scaled.trees) {
            for (a, b) in a.nodes.iter().zip(&b.nodes) {
                assert!((a.specs.megaflops - b.specs.megaflops).abs() <= 1e-9 * a.specs.megaflops);
                assert!((a.specs.mebibytes - b.specs.mebibytes).abs() <= 1e-9 * a.specs.mebibytes);
            }
        }
    }
}

#[test]
fn packed_tables_are_read_as_plain_ones() {
    let (plain, packed) = (tempdir().unwrap(), tempdir().unwrap());
    made::write_folder(plain.path(), &made::calls());
    for entry in fs::read_dir(plain.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{}.gz", path.file_name().unwrap().to_str().unwrap());
        let mut writer =
            GzEncoder::new(fs::File::create(packed.path().join(name)).unwrap(), Compression::default());
        writer.write_all(&fs::read(path).unwrap()).unwrap();
        writer.finish().unwrap();
    }
    assert_eq!(shape(&read(plain.path()).unwrap()), shape(&read(packed.path()).unwrap()));
}

#[test]
fn every_child_stands_before_its_parent_and_knows_it() {
    let folder = tempdir().unwrap();
    made::write_folder(folder.path(), &made::calls());
    for tree in read(folder.path()).unwrap().trees {
        assert_eq!(tree.root().unwrap().level, Level::Model);
        for (place, node) in tree.nodes.iter().enumerate() {
            assert!(node.parent.is_none_or(|parent| parent > place));
            assert_eq!(node.parent.is_none(), place + 1 == tree.nodes.len());
            assert!(node.children.iter().all(|&child| tree.nodes[child].parent == Some(place)));
            assert_eq!(node.children.is_empty(), node.level == Level::Leaf);
        }
    }
}

/// What reading says after `change` has been done to one of the tables.
fn after(table: &str, change: impl Fn(String) -> String) -> Result<Dataset, IreneError> {
    let folder = tempdir().unwrap();
    made::write_folder(folder.path(), &made::calls());
    let file = folder.path().join(format!("{table}_level_features.csv"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, change(text)).unwrap();
    read(folder.path())
}

fn message(result: Result<Dataset, IreneError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn wrong_tables_are_named() {
    let renamed = message(after("ml1", |text| text.replacen("times_mean", "time", 1)));
    assert!(renamed.contains("ml1_level_features.csv") && renamed.contains("`times_mean`"), "{renamed}");
    let not_a_number = message(after("ml2", |text| text.replacen(",1900,", ",NaN,", 1)));
    assert!(not_a_number.contains("line 2") && not_a_number.contains("`gpu_clk` is `NaN`"), "{not_a_number}");
    let short = message(after("module", |text| format!("{text}1,2,3\n")));
    assert!(short.contains("module_level_features.csv") && short.contains("line"), "{short}");
    let empty = message(after("model", |_| String::new()));
    assert!(empty.contains("model_level_features.csv") && empty.contains("holds no rows"), "{empty}");
    let only_header = message(after("ml1", |_| format!("{}\n", made::HEADER)));
    assert!(only_header.contains("holds no rows"), "{only_header}");
    let no_class = message(after("ml1", |text| text.replacen(":Embedding", "", 1)));
    assert!(no_class.contains("`level_name` is `embeddings.word`"), "{no_class}");
    let folder = tempdir().unwrap();
    let absent = message(read(folder.path()));
    assert!(absent.contains("model_level_features"), "{absent}");
}

#[test]
fn a_tree_that_lacks_children_is_left_out_and_named() {
    let data = after("ml1", |text| {
        let gone = text.lines().find(|line| line.contains("encoder.layer.1.output.narrow")).unwrap().to_owned();
        text.replacen(&format!("{gone}\n"), "", 1)
    })
    .unwrap();
    assert_eq!(data.trees.len(), 17);
    let warning = data.warnings.iter().map(ToString::to_string).find(|warning| warning.contains("lacks")).unwrap();
    assert!(warning.contains("made-small (batch 8, length 32)") && warning.contains("output.narrow"), "{warning}");
}

#[test]
fn primitives_without_a_root_stay_loose() {
    let data = after("model", |text| {
        let gone = text.lines().nth(1).unwrap().to_owned();
        text.replacen(&format!("{gone}\n"), "", 1)
    })
    .unwrap();
    assert_eq!((data.trees.len(), data.loose_leaves.len()), (17, 1));
    assert!(data.loose_leaves[0].nodes.iter().all(|node| node.level == Level::Leaf));
    assert!(data.warnings.iter().any(|warning| warning.message.contains("used by themselves")));
}

#[test]
fn wrong_lines_are_named() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("trees.jsonl");
    let says = |text: String| {
        fs::write(&file, text).unwrap();
        message(read(&file))
    };
    let lines = made::jsonl(&made::calls());
    assert!(says(String::new()).contains("holds no rows"));
    assert!(says(lines.replacen("ground_truth_energy", "energy", 1)).contains("ground_truth_energy of root."));
    assert!(says(lines.replacen("\"type\":\"ml\"", "\"type\":\"op\"", 1)).contains("is `op`"));
    assert!(says(lines.replacen("\"flops\"", "\"flop\"", 1)).contains("line 1: missing field `flops`"));
    assert!(says(lines.replacen("\"type\":\"module\"", "\"type\":\"ml\"", 1)).contains("must be a `module`"));
    assert!(says(format!("{lines}{{")).contains("line 19"));
}
