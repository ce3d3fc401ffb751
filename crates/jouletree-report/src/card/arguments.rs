//! What a program was started with, by name, so that runs of a study can be distinguished.

use std::collections::{BTreeMap, BTreeSet};

/// The arguments of a command line by name: `--lr 0.1`, `--lr=0.1`, `-b 8`, `lr=0.1`; others by their place.
///
/// A word after a flag is taken for its value, since only the program knows better.
pub fn arguments(command: &[String]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut place = 0;
    let mut words = command.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        match (word.split_once('='), is_flag(word)) {
            (Some((name, value)), _) => found.insert(name.to_owned(), value.to_owned()),
            (None, true) => {
                let value = words.next_if(|next| !is_flag(next)).cloned();
                found.insert(word.clone(), value.unwrap_or_else(|| "given".to_owned()))
            }
            (None, false) => {
                place += 1;
                found.insert(format!("argument {place}"), word.clone())
            }
        };
    }
    found
}

/// `--name` or `-n`, and not a negative number.
fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.is_empty()) && word.parse::<f64>().is_err()
}

/// The names of arguments that are not the same in all runs.
pub fn differing(runs: &[BTreeMap<String, String>]) -> Vec<String> {
    let names: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&&String| {
        let values: BTreeSet<Option<&String>> = runs.iter().map(|run| run.get(**name)).collect();
        values.len() > 1
    };
    names.iter().filter(differs).map(|name| (*name).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> BTreeMap<String, String> {
        arguments(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_have_names() {
        let found = of("python train.py --lr 0.1 --batch=8 --fp16 -e -3 model.depth=4");
        let wanted = [
            ("--batch", "8"),
            ("--fp16", "given"),
            ("--lr", "0.1"),
            ("-e", "-3"),
            ("argument 1", "train.py"),
            ("model.depth", "4"),
        ];
        assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn what_differs_is_told() {
        let runs = [of("python t.py --lr 0.1 --seed 1"), of("python t.py --lr 0.1 --seed 2 --fp16")];
        assert_eq!(differing(&runs), ["--fp16", "--seed"]);
        assert!(differing(&runs[..1]).is_empty());
    }
}
