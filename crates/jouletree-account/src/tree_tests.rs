use jouletree_model::DeviceClass;
use proptest::prelude::*;

use super::*;
use crate::samples::{entries, entry, forward};

fn edge(from: &str, to: &str) -> TensorEdge {
    TensorEdge { from: from.into(), from_pass: Pass::Forward, to: to.into(), to_pass: Pass::Forward }
}

fn child<'a>(tree: &'a EnergyTree, name: &str) -> &'a EnergyTree {
    tree.children.iter().find(|child| child.name == name).unwrap()
}

fn names(tree: &EnergyTree) -> Vec<&str> {
    tree.children.iter().map(|child| child.name.as_str()).collect()
}

#[test]
fn energy_adds_up_along_the_layers() {
    let tree = t2e(
        &forward(&[
            ("bert/encoder/MatMul", 5.0),
            ("bert/pooler/Tanh", 2.0),
            ("bert//encoder/Add/", 1.0),
            ("loss", 1.0),
        ]),
        &[],
    );
    assert_eq!((tree.name.as_str(), tree.path.as_str(), tree.energy), ("(all)", "", Joules(9.0)));
    assert_eq!(names(&tree), ["bert", "loss"]);
    let bert = child(&tree, "bert");
    assert_eq!(
        (bert.energy, bert.own, bert.count, bert.power()),
        (Joules(8.0), Joules::ZERO, 3, Some(Watts(8.0 / 3.0)))
    );
    assert!(bert.is_composite() && !child(&tree, "loss").is_composite());
    let encoder = child(bert, "encoder");
    assert_eq!((encoder.path.as_str(), names(encoder)), ("bert/encoder", vec!["MatMul", "Add"]));
}

#[test]
fn a_tensor_with_operands_is_a_tensor() {
    let tree = t2e(&forward(&[("self/Mul", 3.0), ("self/Mul/y", 1.0)]), &[]);
    let mul = child(child(&tree, "self"), "Mul");
    assert_eq!((mul.energy, mul.own, mul.is_composite()), (Joules(4.0), Joules(3.0), false));
}

#[test]
fn passes_and_devices_are_kept_apart() {
    let gpu = TefEntry { device: Device::new(DeviceClass::Gpu, 0), ..entry("a/x", Pass::Backward, 4.0) };
    let tree = t2e(&Tef::new(vec![entry("a/x", Pass::Forward, 1.0), gpu, entry("a/y", Pass::Forward, 2.0)]), &[]);
    let a = child(&tree, "a");
    let passes: Vec<(&Pass, Joules)> = a.passes.iter().collect();
    assert_eq!(passes, [(&Pass::Forward, Joules(3.0)), (&Pass::Backward, Joules(4.0))]);
    let devices: Vec<(String, Joules)> = a.devices.iter().map(|(device, sum)| (device.to_string(), sum)).collect();
    assert_eq!(devices, [("host/cpu:0".to_owned(), Joules(3.0)), ("host/gpu:0".to_owned(), Joules(4.0))]);
    assert_eq!(tree.devices, a.devices);
}

#[test]
fn edges_become_arrows_where_paths_part() {
    let tef = forward(&[("m/a/p", 1.0), ("m/a/q", 1.0), ("m/b/p", 1.0), ("m/b/p/y", 1.0), ("in", 1.0)]);
    let back = TensorEdge { to_pass: Pass::Backward, ..edge("m/a/q", "m/b/p") };
    let edges = [
        edge("in", "m/a/p"),
        edge("m/a/p", "m/a/q"),
        edge("m/a/p", "m/b/p"),
        edge("m/a/q", "m/b/p/y"),
        back,
        edge("m/b/p/y", "m/b/p"),
        edge("m/a/p", "m/a/p"),
        edge("m/a/p", "nowhere/x"),
    ];
    let tree = t2e(&tef, &edges);
    let arrow = |from: &str, to: &str, to_pass, count| Arrow {
        from: from.into(),
        to: to.into(),
        from_pass: Pass::Forward,
        to_pass,
        count,
    };
    let m = child(&tree, "m");
    assert_eq!(tree.edges, [arrow("in", "m", Pass::Forward, 1)]);
    assert_eq!(m.edges, [arrow("a", "b", Pass::Forward, 2), arrow("a", "b", Pass::Backward, 1)]);
    assert_eq!(child(m, "a").edges, [arrow("p", "q", Pass::Forward, 1)]);
    assert_eq!(child(m, "b").edges, []);
    assert_eq!(child(child(m, "b"), "p").edges, []);
}

#[test]
fn is_written_as_json() {
    let idle = TefEntry { busy: Nanos(0), count: 0, ..entry("b", Pass::Backward, 0.0) };
    let tree = t2e(&Tef::new(vec![entry("a/x", Pass::Forward, 1.5), idle]), &[edge("a/x", "b")]);
    let leaf = serde_json::json!({
        "name": "x", "path": "a/x", "energy_j": 1.5, "own_j": 1.5, "busy_s": 1.0, "power_w": 1.5, "count": 1,
        "low_j": null, "high_j": null, "composite": false, "passes": {"forward": 1.5}, "devices": {"host/cpu:0": 1.5},
        "children": [], "edges": [],
    });
    let json = serde_json::to_value(&tree).unwrap();
    assert_eq!(json["children"][0]["children"][0], leaf);
    assert_eq!(json["children"][0]["composite"], true);
    assert_eq!(json["children"][1]["power_w"], serde_json::Value::Null);
    let arrow =
        serde_json::json!({"from": "a", "to": "b", "from_pass": "forward", "to_pass": "forward", "count": 1});
    assert_eq!(json["edges"], serde_json::json!([arrow]));
    assert_eq!(json["name"], "(all)");
}

#[test]
fn a_path_of_any_depth_is_written_and_read_back() {
    let deep = vec!["x"; 100_000].join("/");
    let tree = t2e(&forward(&[(&deep, 1.0), (&format!("{deep}/y"), 1.0)]), &[edge(&deep, &format!("{deep}/y"))]);
    assert_eq!(tree.energy, Joules(2.0));
    let json = serde_json::to_string(&tree).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
}

#[test]
fn nothing_makes_an_empty_tree() {
    let tree = t2e(&Tef::default(), &[edge("a", "b")]);
    assert_eq!((tree.name.as_str(), tree.energy, tree.children.len()), ("(all)", Joules::ZERO, 0));
}

fn check_sums(node: &EnergyTree) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
    let parts: Joules = node.children.iter().map(|child| child.energy).sum();
    assert!(close((parts + node.own).0, node.energy.0), "{}", node.path);
    assert!(close(node.passes.total().0, node.energy.0), "{}", node.path);
    assert!(close(node.devices.total().0, node.energy.0), "{}", node.path);
    assert!(node.children.is_sorted_by(|a, b| a.energy >= b.energy));
    node.children.iter().for_each(check_sums);
}

proptest! {
    #[test]
    fn children_and_own_make_the_energy_of_every_node(entries in entries()) {
        let tef = Tef::new(entries);
        let edges: Vec<TensorEdge> =
            tef.entries().windows(2).map(|pair| edge(&pair[0].path, &pair[1].path)).collect();
        let tree = t2e(&tef, &edges);
        check_sums(&tree);
        prop_assert!((tree.energy.0 - tef.total().0).abs() <= 1e-12 * tef.total().0);
    }

    #[test]
    fn the_order_of_entries_does_not_matter(entries in entries(), turn in 0..60_usize) {
        let mut turned = entries.clone();
        turned.reverse();
        turned.rotate_left(turn.min(entries.len()));
        prop_assert_eq!(t2e(&Tef::new(entries), &[]), t2e(&Tef::new(turned), &[]));
    }
}
