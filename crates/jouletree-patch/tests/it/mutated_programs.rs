//! Programs as people write them, damaged at random: they are refused, or patched and given back. Never a panic, never a
//! patched file that is no program. JOULETREE_MUTATIONS says how many are tried.

use std::fs;
use std::path::Path;

use jouletree_patch::{Options, patch_notebook, patch_script, unpatched_notebook, unpatched_script};

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    "=",
    "\n",
    "\n    ",
    "\r\n",
    "\\\n",
    "'",
    "\"",
    "\"\"\"",
    "f'{",
    "}'",
    "# x\n",
    "; ",
    " if ",
    " else ",
    " for x in ",
    "lambda: ",
    "await ",
    "yield ",
    "*",
    "**",
    ":=",
    "@",
    "return(",
    "not(",
    "in(",
    "torch.ones(1)",
    "tf.abs",
    "()",
    "\u{c}",
    "\t",
    "é",
    "0",
    "%time x",
    "!ls",
    "match ",
    "case ",
    "from __future__ import annotations\n",
];

/// A small generator: the same damage every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn damaged(source: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = source.to_vec();
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len() + 1);
        let to = (at + chance.below(12)).min(bytes.len());
        match chance.below(5) {
            0 => drop(bytes.drain(at..to)),
            1 => drop(bytes.splice(at..at, PIECES[chance.below(PIECES.len())].bytes())),
            2 => drop(bytes.splice(at..to, PIECES[chance.below(PIECES.len())].bytes())),
            3 => bytes.truncate(at.max(20)),
            _ => {
                let from = chance.below(other.len());
                let until = (from + chance.below(200)).min(other.len());
                bytes.splice(at..at, other[from..until].iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn damaged_programs_are_refused_or_given_back() {
    let tries = std::env::var("JOULETREE_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for folder in ["python/tests/programs", "fuzz/seeds/python_patch"] {
        let mut files: Vec<_> =
            fs::read_dir(root.join(folder)).expect("a folder").flatten().map(|file| file.path()).collect();
        files.sort();
        let is_program = |path: &Path| path.extension().is_some_and(|end| end == "py" || end == "ipynb");
        seeds.extend(files.iter().filter(|path| is_program(path)).map(|path| fs::read(path).expect("a file")));
    }
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let options = Options::default();
    let mut patched = 0;
    for number in 0..tries {
        let other = seeds[chance.below(seeds.len())].clone();
        let source = damaged(&seeds[number % seeds.len()], &other, &mut chance);
        let shown = || String::from_utf8_lossy(&source).into_owned();
        if let Ok(patch) = patch_script("program.py", &source, &options) {
            let back =
                unpatched_script(&patch.applied(&source)).unwrap_or_else(|error| panic!("{error}\n{}", shown()));
            assert_eq!(back, source, "{}", shown());
            patched += 1;
        }
        if let Ok(patch) = patch_notebook("notebook.ipynb", &source, &options) {
            let back =
                unpatched_notebook(&patch.applied(&source)).unwrap_or_else(|error| panic!("{error}\n{}", shown()));
            assert_eq!(back, source, "{}", shown());
            patched += 1;
        }
    }
    println!("{patched} of {tries} could be patched");
    assert!(patched > tries / 20, "{patched}");
}
