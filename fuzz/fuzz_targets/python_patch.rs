//! Python programs and notebooks: what can be patched is a program again, and without the hooks it is what it was.
#![no_main]

use jouletree_patch::{
    Level, Mode, Options, patch_notebook, patch_script, unpatched_notebook, unpatched_script,
};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for (level, mode) in [(Level::Method, Mode::Full), (Level::Method, Mode::Fecom), (Level::Project, Mode::Full)] {
        let options = Options { level, mode, ..Options::default() };
        if let Ok(patch) = patch_script("program.py", data, &options) {
            let back = unpatched_script(&patch.applied(data)).expect("what was patched is a program");
            assert_eq!(back, data);
        }
        if let Ok(patch) = patch_notebook("notebook.ipynb", data, &options) {
            let back = unpatched_notebook(&patch.applied(data)).expect("what was patched is a notebook");
            assert_eq!(back, data);
        }
    }
});
