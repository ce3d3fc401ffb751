//! Tables of measured layers and networks, and predictors fitted on whatever they hold.
#![no_main]

use jouletree_fuzz::in_folder;
use jouletree_predict::layers::evaluate;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(evaluation) = evaluate(in_folder(&["linear.csv", "conv2d.csv", "architectures_whole.csv"], data)) else { return };
    for scores in evaluation.layers.values() {
        assert_eq!(scores.additive.negative, 0, "{scores:?}");
    }
});
