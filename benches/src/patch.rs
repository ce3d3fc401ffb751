//! How fast Python programs are patched: sites and edits of a long file, from bytes to bytes.

use anyhow::{Result, bail};
use jouletree_patch::{Options, patch_script};

use crate::Setup;
use crate::clock::best_of;
use crate::figure::{Figure, Target};

const RUNS: usize = 5;

/// The programs of the tests, as one long file would have them.
const PROGRAMS: [&str; 6] = [
    include_str!("../../python/tests/programs/keras_sequential.py"),
    include_str!("../../python/tests/programs/tf_custom_loop.py"),
    include_str!("../../python/tests/programs/tf_classes_attributes.py"),
    include_str!("../../python/tests/programs/torch_training.py"),
    include_str!("../../python/tests/programs/torch_rnn_attention.py"),
    include_str!("../../python/tests/programs/torch_dataclass_config.py"),
];

/// Measures a file of 5,000 lines, and one of a megabyte.
pub fn figures(setup: &Setup) -> Result<Vec<Figure>> {
    let size = if setup.quick { 200_000 } else { 1_000_000 };
    [
        ("5,000 lines", program(|text| text.lines().count() >= 5_000)),
        ("one long file", program(|text| text.len() >= size)),
    ]
    .into_iter()
    .map(|(what, source)| figure(what, &source))
    .collect()
}

/// Functions, each with a program in it, until there are enough.
fn program(is_enough: impl Fn(&str) -> bool) -> String {
    let mut source = String::new();
    for number in 0.. {
        let Some(program) = PROGRAMS.get(number % PROGRAMS.len()) else { break };
        source += &format!("def program_{number}():\n");
        let lines = program.lines().filter(|line| !line.contains("__future__"));
        lines.for_each(|line| source += &format!("    {line}\n"));
        source += "    return 0\n\n";
        if is_enough(&source) {
            break;
        }
    }
    source
}

fn figure(what: &str, source: &str) -> Result<Figure> {
    let options = Options::default();
    let (patched, took) = best_of(RUNS, || {
        let patch = patch_script("long.py", source.as_bytes(), &options)?;
        Ok((patch.applied(source.as_bytes()).len(), patch.instrumented()))
    })?;
    let (length, calls) = patched;
    if length <= source.len() {
        bail!("nothing was patched");
    }
    Ok(Figure {
        what: format!("Python → patched, {what}"),
        value: source.len() as f64 / 1e6 / took.wall,
        decimals: 1,
        unit: "MB/s",
        target: Some(Target::AtLeast(1.0)),
        detail: format!(
            "{:.2} MB, {} lines, {calls} hooks, {:.0} ms",
            source.len() as f64 / 1e6,
            source.lines().count(),
            took.wall * 1e3
        ),
        peers: Vec::new(),
    })
}
