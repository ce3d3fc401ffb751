//! Which figures there are and what they are called.

use jouletree_model::Joules;

use super::*;

fn layer(path: &str, energy: f64, children: Vec<EnergyTree>) -> EnergyTree {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    EnergyTree { name, path: path.to_owned(), energy: Joules(energy), children, ..EnergyTree::default() }
}

fn model() -> EnergyTree {
    let tensors =
        |path: &str| ["MatMul", "Add"].map(|name| layer(&format!("{path}/{name}"), 1.0, vec![])).to_vec();
    let encoder =
        vec![layer("net/encoder/self", 4.0, tensors("net/encoder/self")), layer("net/encoder/x", 3.0, vec![])];
    let net = vec![layer("net/encoder", 7.0, encoder), layer("net/head", 2.0, tensors("net/head"))];
    layer("", 9.0, vec![layer("net", 9.0, net)])
}

#[test]
fn the_largest_layers_have_diagrams() {
    let model = model();
    let paths: Vec<&str> = chain(&model, None).into_iter().map(|layer| layer.path.as_str()).collect();
    assert_eq!(paths, ["", "net", "net/encoder", "net/encoder/self"]);
    assert_eq!(chain(&EnergyTree::default(), None).len(), 1);
}

#[test]
fn layers_are_found_by_path() {
    let model = model();
    assert_eq!(found(&model, "/net//head").unwrap().path, "net/head");
    assert_eq!(found(&model, "").unwrap().path, "");
    let error = found(&model, "net/tail").unwrap_err().to_string();
    assert!(error.contains("`net/tail`") && error.contains("jouletree show"), "{error}");
}

#[test]
fn names_of_files_hold_no_signs_that_do_harm() {
    let name = |path: &str, pass| diagram_name(&layer(path, 1.0, vec![]), pass);
    assert_eq!(name("", None), "diagram-all");
    assert_eq!(name("bert/layer_0", Some(Pass::Backward)), "diagram-bert-layer_0-backward");
    assert_eq!(name("../<a b>\0é", None), "diagram-..-_a_b___");
    assert!(name(&"x".repeat(4000), None).len() < 140);
}
