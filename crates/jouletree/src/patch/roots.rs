//! Where the modules of a script's project are: in its own folder, as Python has it, and in the folders around it up to that of
//! the project, which people put on Python's path or install from there.

use std::path::{Path, PathBuf};

/// Names that are found in the folder of a project.
const MARKS: [&str; 4] = [".git", "pyproject.toml", "setup.py", "setup.cfg"];
/// A project's folder is at most so far above a script's.
const MOST_ABOVE: usize = 8;

/// The folders in which to look, in order.
pub fn of(file: &Path) -> Vec<PathBuf> {
    around(file).flat_map(|folder| [folder.to_owned(), folder.join("src")]).collect()
}

/// The folder of a script's project; where nothing marks it, that of the script.
pub fn project(file: &Path) -> Option<&Path> {
    around(file).last()
}

/// The folders from a script's own to that of its project.
fn around(file: &Path) -> impl Iterator<Item = &Path> {
    let above = || file.ancestors().skip(1).take(MOST_ABOVE);
    let is_project = |folder: &Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    above().take(above().position(is_project).unwrap_or(0) + 1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_project_ends_where_its_marks_are() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("project");
        let scripts = top.join("tools/scripts");
        fs::create_dir_all(&scripts).unwrap();
        let script = scripts.join("train.py");
        assert_eq!(of(&script), [scripts.clone(), scripts.join("src")]);
        fs::write(top.join("pyproject.toml"), "").unwrap();
        let tools = top.join("tools");
        let expected = [&scripts, &tools, &top].map(|folder| [folder.clone(), folder.join("src")]).concat();
        assert_eq!(of(&script), expected);
    }
}
