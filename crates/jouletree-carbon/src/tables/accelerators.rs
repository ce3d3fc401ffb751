//! GPUs and TPUs by name, with what they draw at most.

use jouletree_model::Watts;
use serde::Deserialize;

use super::ACCELERATORS;
use crate::suggest::nearest;

/// Where design powers come from.
pub const ACCELERATOR_SOURCE: &str = "data sheets, by way of the ML CO2 calculator's table of 2026-03";

/// A GPU, a TPU or a processor.
#[derive(Debug, Clone, Deserialize)]
pub struct Accelerator {
    /// Its name.
    pub name: String,
    /// `gpu`, `tpu` or `cpu`.
    #[serde(rename = "type")]
    pub class: String,
    /// Its thermal design power.
    #[serde(rename = "tdp_w")]
    pub design_power: Watts,
    /// What one should know about the figure.
    pub note: String,
}

impl Accelerator {
    /// The one with this name, or the first whose name has all its words: `A100`, `v100 sxm2`.
    pub fn find(text: &str) -> Option<&'static Accelerator> {
        let wanted = words(text);
        let exact = ACCELERATORS.iter().find(|known| words(&known.name) == wanted);
        let holds = |known: &&Accelerator| {
            let known = words(&known.name);
            !wanted.is_empty() && wanted.iter().all(|word| known.contains(word))
        };
        exact.or_else(|| ACCELERATORS.iter().find(holds))
    }

    /// Others that the same words could mean.
    pub fn also(&self, text: &str) -> Vec<&'static str> {
        let wanted = words(text);
        let holds = |known: &&Accelerator| {
            let words = words(&known.name);
            known.name != self.name && wanted.iter().all(|word| words.contains(word))
        };
        ACCELERATORS.iter().filter(holds).map(|known| known.name.as_str()).collect()
    }

    /// The name that is nearest to something unknown.
    pub fn nearest(text: &str) -> Option<&'static str> {
        nearest(text, ACCELERATORS.iter().map(|known| known.name.as_str()))
    }
}

/// Its words in lower case, without the makers' names and `GB`, which some write and others leave out.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("gb", " ");
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words
        .filter(|word| !matches!(*word, "nvidia" | "tesla" | "geforce" | "amd" | "intel"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_people_type_them() {
        let name = |text| Accelerator::find(text).map(|found| found.name.as_str());
        assert_eq!(name("A100"), Some("A100 PCIe 40/80GB"));
        assert_eq!(name("NVIDIA A100-SXM4-80GB"), Some("A100 SXM4 80 GB"));
        assert_eq!(name("A100 SXM4"), Some("A100 SXM4 80 GB"));
        assert_eq!(name("NVIDIA GeForce RTX 4090"), Some("RTX 4090"));
        assert_eq!(name("V100-SXM2-16GB"), Some("Tesla V100-SXM2-16GB"));
        assert_eq!(name(""), None);
        assert_eq!(Accelerator::nearest("RTX 4900"), Some("RTX 4090"));
    }
}
