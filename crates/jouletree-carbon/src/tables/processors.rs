//! The thermal design power of processors by name, found as CodeCarbon finds it, so that its model can be compared with.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::Deserialize;

use super::read;

#[derive(Deserialize)]
struct Processor {
    name: String,
    tdp_w: f64,
}

static PROCESSORS: LazyLock<Vec<Processor>> = LazyLock::new(|| read(include_str!("../../data/processors.csv")));

/// CodeCarbon's table of processors.
pub struct Processors;

impl Processors {
    /// The name in the table and the watts of a processor, by what the system calls it; none when there is no match, or
    /// several equally good ones.
    pub fn find(brand: &str) -> Option<(&'static str, f64)> {
        let stripped = stripped(brand);
        let exact = |name: &str| PROCESSORS.iter().find(|known| known.name.eq_ignore_ascii_case(name));
        if let Some(found) = exact(brand).or_else(|| exact(&stripped)) {
            return Some((&found.name, found.tdp_w));
        }
        let wanted = tokens(&stripped);
        // All words of one are words of the other.
        let fits = |known: &&Processor| {
            let known = tokens(&known.name);
            !known.is_disjoint(&wanted) && (known.is_subset(&wanted) || wanted.is_subset(&known))
        };
        let mut fitting = PROCESSORS.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(found), None) => Some((&found.name, found.tdp_w)),
            _ => None,
        }
    }

    /// How many there are.
    pub fn count() -> usize {
        PROCESSORS.len()
    }
}

/// A brand without its marks and its frequency.
fn stripped(brand: &str) -> String {
    let text = brand.replace("(R)", "").replace("(TM)", "");
    let text = text.split(" CPU @ ").next().unwrap_or_default().replace(" CPU", "");
    let text = text.split(" @").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn tokens(text: &str) -> BTreeSet<String> {
    text.to_lowercase().split_whitespace().map(str::to_owned).collect()
}
