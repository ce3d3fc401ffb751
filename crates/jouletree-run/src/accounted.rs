//! Whose energy counts: that of whole devices, or what the process tree used of them.

use jouletree_model::{MeteredSeries, Scope};

/// What is accounted of the energy that a recording knows: of every device that the process tree shares with others, what
/// the tree used.
pub fn accounted(power: Vec<MeteredSeries>, of: Scope) -> Vec<MeteredSeries> {
    let is_ours = |series: &MeteredSeries| series.scope == Scope::Tree;
    let (ours, mut all): (Vec<_>, Vec<_>) = power.into_iter().partition(is_ours);
    if of == Scope::Tree {
        all.retain(|series| series.domain.is_some() || !ours.iter().any(|ours| ours.device == series.device));
        // From here on it is the energy of the device.
        all.extend(ours.into_iter().map(|series| MeteredSeries { scope: Scope::Device, ..series }));
        all.sort_by(|a, b| (&a.device, &a.domain).cmp(&(&b.device, &b.domain)));
    }
    all
}
