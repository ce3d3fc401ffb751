//! Powers of memory from its size, as other trackers assume them; nothing of it is measured.

use jouletree_model::Watts;

/// Which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// CodeCarbon up to 2, and Eco2AI: 3 W for every 8 GB.
    PerGigabyte,
    /// CodeCarbon 3: by the number of modules that such a size usually has.
    PerModule {
        /// Whether the machine has ARM processors, whose memory is taken to draw less.
        is_arm: bool,
    },
}

/// The power of so many gigabytes.
pub fn power(rule: Rule, gigabytes: f64) -> Watts {
    match rule {
        Rule::PerGigabyte => Watts(gigabytes * 3.0 / 8.0),
        Rule::PerModule { is_arm } => {
            let (each, least) = if is_arm { (1.5, 3.0) } else { (5.0, 10.0) };
            Watts((each * weight(modules(gigabytes))).max(least))
        }
    }
}

/// How many modules such a size is taken to have.
pub fn modules(gigabytes: f64) -> u32 {
    match gigabytes {
        size if size <= 2.0 => 1,
        size if size <= 16.0 => 2,
        size if size <= 64.0 => 4,
        size if size <= 128.0 => 8,
        size => {
            let sizes = [128.0, 64.0, 32.0, 16.0, 8.0, 4.0];
            let each = sizes.into_iter().find(|each| *each <= size / 8.0).unwrap_or(4.0);
            (size / each).ceil().min(32.0) as u32
        }
    }
}

/// As many modules at full power draw the same: further ones are taken to draw less.
fn weight(modules: u32) -> f64 {
    let of = |module: u32| match module {
        1..=4 => 1.0,
        5..=8 => 0.9,
        9..=16 => 0.8,
        _ => 0.7,
    };
    (1..=modules).map(of).sum()
}
