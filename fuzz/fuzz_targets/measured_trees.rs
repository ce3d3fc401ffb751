//! Measured trees in the layout of four tables, and our predictor fitted on them.
#![no_main]

use jouletree_fuzz::in_folder;
use jouletree_predict::irene::{Tree, TreePredictor, read};

const TABLES: [&str; 4] = [
    "model_level_features.csv",
    "module_level_features.csv",
    "ml1_level_features.csv",
    "ml2_level_features.csv",
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(data) = read(in_folder(&TABLES, data)) else { return };
    let trees: Vec<&Tree> = data.trees.iter().collect();
    let Ok(predictor) = TreePredictor::fit(&trees) else { return };
    for tree in trees {
        assert_eq!(predictor.predict(tree).nodes.len(), tree.nodes.len());
    }
});
