//! Notebooks: only the sources of code cells change, and every other byte stays.

use jouletree_patch::{Options, Patch, PatchError, patch_notebook, unpatched_notebook};

fn patch(source: &str) -> (Patch, String) {
    let patch = patch_notebook("n.ipynb", source.as_bytes(), &Options::default()).expect("a patch");
    let patched = patch.applied(source.as_bytes());
    let back = unpatched_notebook(&patched).expect("the way back");
    assert_eq!(String::from_utf8(back).expect("text"), source);
    (patch, String::from_utf8(patched).expect("text"))
}

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "source": ["torch.ones(1)"]},
  {"cell_type": "code",   "outputs": [{"text": "é\u00e9 \/"}],
   "source": [
    "%matplotlib inline\n",
    "!pip install torch\n",
    "import torch  # \u00e9\ud83d\ude00 \"x\"\n",
    "files = !ls\n",
    "s = 'é\t'; x = torch.ones(1)\n",
    "x.sum?\n",
    "x"
   ]},
  {"cell_type": "code", "source": "%%bash\ntorch.ones(1)"},
  {"cell_type": "code", "source": "\n%%time -o é\ny = x.sum()\nawait y.go()"},
  {"cell_type": "code", "source": []},
  {"cell_type": "code", "source": "print(x)"},
  {"cell_type": "code", "source": "if 1:\n  x.sum()"}
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "python3"}, "z": 1.50},
 "nbformat": 4,   "nbformat_minor": 5
}
"##;

#[test]
fn cells_are_patched_in_place() {
    let (patch, patched) = patch(NOTEBOOK);
    let found: Vec<_> = patch
        .sites
        .iter()
        .map(|site| (site.cell.expect("a cell"), site.line, site.col, site.name.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (2, 5, 15, "torch.ones"),
            (4, 3, 4, "torch.Tensor.sum"),
            (4, 4, 6, "torch.Tensor.go"),
            (7, 2, 2, "torch.Tensor.sum"),
        ]
    );
    assert_eq!(patch.notes, ["cell 3 is left as it is: %%bash is not Python"]);
    // The cells of both are the same but for what is inserted into sources.
    let value: serde_json::Value = serde_json::from_str(&patched).expect("JSON");
    let source = value["cells"][3]["source"].as_str().expect("a text");
    assert!(source.starts_with("\n%%time -o é\nexec('try:\\n from"), "{source}");
    assert!(
        source.ends_with("; y = __jouletree_call__(1, x.sum)()\nawait __jouletree_call__(2, y.go)()"),
        "{source}"
    );
    assert_eq!(value["cells"][5]["source"], "print(x)");
    let lines = value["cells"][1]["source"].as_array().expect("lines");
    assert_eq!(
        (lines[0].as_str(), lines[1].as_str()),
        (Some("%matplotlib inline\n"), Some("!pip install torch\n"))
    );
    assert!(lines[2].as_str().expect("a text").ends_with("; import torch  # é😀 \"x\"\n"));
    assert_eq!(lines[5], "x.sum?\n");
}

#[test]
fn other_languages_are_left() {
    let (patch, patched) = patch(
        r#"{"cells": [{"cell_type": "code", "source": "x <- 1"}], "metadata": {"kernelspec": {"language": "R"}}}"#,
    );
    assert_eq!(patch.notes, ["left as it is: its language is R"]);
    assert!(patched.contains("x <- 1"));
}

#[test]
fn errors_tell_the_cell() {
    let error = |source: &str| patch_notebook("n", source.as_bytes(), &Options::default()).expect_err("an error");
    let bad = error(
        r#"{"cells": [{"cell_type": "code", "source": "x"}, {"cell_type": "code", "source": ["x = 1\n", "y = ("]}]}"#,
    );
    assert!(matches!(bad, PatchError::Syntax { cell: Some(2), line: 2, .. }), "{bad:?}");
    assert!(bad.to_string().starts_with("cell 2:2:"), "{bad}");
    assert!(matches!(error("{}"), PatchError::Notebook { .. }));
    assert!(matches!(error("[]"), PatchError::Notebook { .. }));
    assert!(matches!(error(""), PatchError::Notebook { .. }));
}
