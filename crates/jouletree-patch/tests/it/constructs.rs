//! Every construct of Python by itself: what is inserted, what not, and that nothing else changes.

use crate::common;

use common::{body, names, patch, reason};
use jouletree_patch::{PatchError, patch_script, unpatched_script};

const H: &str = "__jouletree_call__";

/// The expected text with `«n callee»` for a hook.
fn hooked(text: &str) -> String {
    let mut result = String::new();
    for part in text.split_inclusive(['«', '»']) {
        match part.chars().last() {
            Some('«') => {
                result += part.trim_end_matches('«');
                result += &format!("{H}(");
            }
            Some('»') => {
                let (number, callee) =
                    part.trim_end_matches('»').split_once(' ').unwrap_or((part.trim_end_matches('»'), ""));
                let is_new = number.chars().all(|digit| digit.is_ascii_digit());
                result += &if is_new {
                    format!("{number}, {callee})")
                } else {
                    format!("{})", part.trim_end_matches('»'))
                };
            }
            _ => result += part,
        }
    }
    result
}

#[test]
fn a_call_keeps_callee_and_arguments_where_they_are() {
    for (source, expected) in [
        ("import torch\ntorch.randn(3)\n", "import torch\n«0 torch.randn»(3)\n"),
        ("import torch as t\nx = t.randn(3, out = None)\n", "import torch as t\nx = «0 t.randn»(3, out = None)\n"),
        ("import torch\ntorch . randn \\\n (3)\n", "import torch\n«0 torch . randn \\\n »(3)\n"),
        ("import torch\n(torch.randn  # why\n (3))\n", "import torch\n(«0 torch.randn  # why\n »(3))\n"),
        ("import torch\n(torch.randn)(3)\n", "import torch\n«0 (torch.randn)»(3)\n"),
        (
            "import torch\nf(*torch.randn(3), **torch.x())\n",
            "import torch\nf(*«0 torch.randn»(3), **«1 torch.x»())\n",
        ),
        ("import torch\ntorch.cat(x for x in y)\n", "import torch\n«0 torch.cat»(x for x in y)\n"),
        (
            "import torch\nif (n := torch.numel(x)) > 1: pass\n",
            "import torch\nif (n := «0 torch.numel»(x)) > 1: pass\n",
        ),
        ("import torch\ndef f(x=torch.ones(1)): pass\n", "import torch\ndef f(x=«0 torch.ones»(1)): pass\n"),
        (
            "import torch\nasync def f():\n\tawait torch.x()\n",
            "import torch\nasync def f():\n\tawait «0 torch.x»()\n",
        ),
        ("import torch\ndel torch.x()[0]\n", "import torch\ndel «0 torch.x»()[0]\n"),
        ("import torch\ntorch.x().y = 1\n", "import torch\n«0 torch.x»().y = 1\n"),
        ("import torch\nf'{torch.x():{torch.y()}}'\n", "import torch\nf'{«0 torch.x»():{«1 torch.y»()}}'\n"),
        ("import torch\nf\"{torch.x('a')}\"\n", "import torch\nf\"{«0 torch.x»('a')}\"\n"),
        (
            "import torch\nmatch torch.x():\n  case torch.Tensor(): pass\n",
            "import torch\nmatch «0 torch.x»():\n  case torch.Tensor(): pass\n",
        ),
        (
            "import torch\ntype X = torch.x()\ndef f[T](x: T): return torch.y()\n",
            "import torch\ntype X = torch.x()\ndef f[T](x: T): return «0 torch.y»()\n",
        ),
    ] {
        assert_eq!(body(source), hooked(expected));
    }
}

#[test]
fn of_a_chain_every_call_is_one() {
    let source = "import tensorflow as tf\nx = tf.data.Dataset.range(3).map(f).batch(2)\n";
    assert_eq!(
        body(source),
        format!("import tensorflow as tf\nx = {H}(2, {H}(1, {H}(0, tf.data.Dataset.range)(3).map)(f).batch)(2)\n")
    );
    let expected =
        ["2: tensorflow.data.Dataset.range", "2: tensorflow.data.Dataset.map", "2: tensorflow.data.Dataset.batch"];
    assert_eq!(names(source), expected);
}

#[test]
fn a_keyword_beside_a_bracket_stays_a_word_of_its_own() {
    let source = "import torch\ndef f():\n  return(torch).x().y()\n";
    assert_eq!(body(source), format!("import torch\ndef f():\n  return {H}(1,{H}(0, (torch).x)().y)()\n"));
}

#[test]
fn the_header_changes_no_line_number() {
    let first_line = |source: &str| {
        let patched = String::from_utf8(patch(source).applied(source.as_bytes())).expect("text");
        assert_eq!(patched.lines().count(), source.lines().count(), "{patched}");
        let line = patched.lines().position(|line| line.contains("exec(")).expect("a header");
        (line + 1, patched)
    };
    for (source, line) in [
        ("import torch\ntorch.x()\n", 1),
        ("\"\"\"doc\nmore\"\"\"\nfrom __future__ import annotations\nimport torch\ntorch.x()\n", 4),
        ("\"\"\"doc\"\"\"  # c\ndef f(): import torch; torch.x()\n", 1),
        ("('doc')\nclass A:\n  import torch; torch.x()\n", 1),
        ("from __future__ import (annotations,\n  division)\nwith a: import torch; torch.x()\n", 2),
        ("#!/bin/python\n# coding: utf-8\n# comment\nif 1: import torch; torch.x()\n", 3),
        ("# coding: utf-8\n\nif 1: import torch; torch.x()\n", 2),
        ("  # indented\nif 1: import torch; torch.x()\n", 1),
        ("def f():\n  import torch; torch.x()\nf()\n", 3),
        ("\x0cimport torch; torch.x()\n", 1),
    ] {
        let (found, patched) = first_line(source);
        assert_eq!(found, line, "{patched}");
    }
}

#[test]
fn only_where_there_is_no_room_a_line_is_added() {
    for source in [
        "if 1:\n  import torch; torch.x()\n",
        "@d\ndef f():\r\n  import torch; torch.x()\r\n",
        "#!x\nif 1: import torch; torch.x()\n",
    ] {
        let patched = String::from_utf8(patch(source).applied(source.as_bytes())).expect("text");
        assert_eq!(patched.lines().count(), source.lines().count() + 1, "{patched}");
        assert!(patched.contains("# a line added by jouletree"));
    }
}

#[test]
fn files_without_calls_stay_as_they_are() {
    for source in ["", "x = 1\n", "import torch\n", "# nothing", "import numpy as np\nnp.ones(3)\n"] {
        assert_eq!((patch(source).edits.len(), patch(source).sites.len()), (0, 0), "{source}");
    }
}

#[test]
fn bytes_survive() {
    for source in [
        &b"\xef\xbb\xbfimport torch\r\ntorch.x()\r\n"[..],
        b"import torch\rtorch.x()\r",
        b"# coding: latin-1\nimport torch\ns = '\xe9\xe8'; torch.x('\xff')  # \xe4\n",
        b"import torch\n\x0c\ntorch.x()\n\t\n   ",
        b"import torch\ntorch.x()",
        "import torch\nä = '😀'; torch.x(ä)\n".as_bytes(),
    ] {
        let patch = patch_script("p.py", source, &Default::default()).expect("a patch");
        assert!(patch.instrumented() > 0);
        let patched = patch.applied(source);
        assert_ne!(patched, source);
        assert_eq!(unpatched_script(&patched).expect("the original"), source);
    }
    let source = "import torch\nä = '😀'; torch.x(ä)\n";
    let site = patch(source).sites[0].clone();
    assert_eq!((site.line, site.col, site.end_line, site.end_col), (2, 13, 2, 24));
}

#[test]
fn errors_tell_line_and_column() {
    let error = |source: &[u8]| patch_script("p.py", source, &Default::default()).expect_err("an error");
    assert!(
        matches!(error(b"x = 1\ny = (\n"), PatchError::Syntax { line: 3, col: 0, .. }),
        "{:?}",
        error(b"x = 1\ny = (\n")
    );
    assert!(
        matches!(error(b"print 'x'\n"), PatchError::Syntax { line: 1, col: 6, .. }),
        "{:?}",
        error(b"print 'x'\n")
    );
    assert!(matches!(error(b"x = '\xe9'\n"), PatchError::NotUtf8 { line: 1 }));
    assert!(matches!(error(b"__jouletree_call__(0, f)(1)\n"), PatchError::Patched { line: 1 }));
    let whole = jouletree_patch::Options { level: jouletree_patch::Level::Project, ..Default::default() };
    let once = common::patch_with("x = 1\n", &whole).applied(b"x = 1\n");
    assert!(matches!(patch_script("p.py", &once, &whole), Err(PatchError::Patched { line: 1 })));
    assert_eq!(error(b"\n x\n").to_string(), "2:0: unexpected indentation");
}

#[test]
fn nothing_is_too_deep() {
    for deep in [
        format!("{}x{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("x{}", ".a".repeat(100_000)),
        format!("x{}", "()".repeat(100_000)),
        format!("{}x", "-".repeat(100_000)),
        format!("x{}", "+x".repeat(100_000)),
    ] {
        let _ = patch_script("p.py", deep.as_bytes(), &Default::default());
    }
    let chain = format!("import torch\ntorch{}\n", ".a()".repeat(1_000));
    assert_eq!(patch(&chain).instrumented(), 1_000);
}

#[test]
fn what_the_program_sees_of_itself_is_not_changed() {
    assert_eq!(reason("import torch\nprint(f'{torch.x()=}')\n", 2), "f\"{…=}\" shows its own text");
    assert_eq!(reason("import torch\nt'{torch.x()}'\n", 2), "a t-string shows its own text");
    assert_eq!(reason("import torch\n@torch.jit.ignore(drop=True)\ndef f(): pass\n", 2), "decorator");
    assert_eq!(reason("import torch\nx: torch.x() = 1\n", 2), "annotation");
}
