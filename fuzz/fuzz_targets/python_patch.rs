//! Python programs and notebooks: what can be patched is a program again, and without the hooks it is what it was. A program
//! may import another, which comes after a zero byte: whatever it is called, it is that.
#![no_main]

use std::path::Path;

use jouletree_patch::{
    Files, Level, Mode, Options, Project, patch_notebook, patch_script, unpatched_notebook, unpatched_script,
};

struct Always<'a>(&'a [u8]);

impl Files for Always<'_> {
    fn read(&self, _: &Path) -> Option<Vec<u8>> {
        Some(self.0.to_vec())
    }

    fn is_file(&self, path: &Path) -> bool {
        // Relative imports would be found in folders of folders, without end.
        path.components().count() < 4 && !path.ends_with("__init__.py")
    }
}

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
    if let Some(end) = data.iter().position(|byte| *byte == 0) {
        let (options, files) = (Options::default(), Always(&data[end + 1..]));
        let mut project = Project::new(&files, &options);
        project.add_script("program.py", Path::new("/program.py"), &data[..end]);
        for one in project.patched() {
            if let Ok(patch) = one.patch {
                let back = unpatched_script(&patch.applied(one.source)).expect("what was patched is a program");
                assert_eq!(back, one.source);
            }
        }
    }
});
