//! Tables of models, and the choice among them.
#![no_main]

use jouletree_fuzz::in_folder;
use jouletree_predict::tradeoff::{front, read_models};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(models) = read_models(&in_folder(&["models.csv"], data).join("models.csv")) else { return };
    assert!(!front(&models).is_empty(), "{models:?}");
});
