//! Measured trees in the layout of one tree per line, and our predictor fitted on them.
#![no_main]

use jouletree_fuzz::in_folder;
use jouletree_predict::irene::{Tree, TreePredictor, read};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(data) = read(&in_folder(&["trees.jsonl"], data).join("trees.jsonl")) else { return };
    let trees: Vec<&Tree> = data.trees.iter().collect();
    let Ok(predictor) = TreePredictor::fit(&trees) else { return };
    for tree in trees {
        assert_eq!(predictor.predict(tree).nodes.len(), tree.nodes.len());
    }
});
