//! Scripts: what power each zone draws over time, and what goes wrong.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use jouletree_model::Joules;

use crate::parse::{self, ScriptError};
use crate::{Fault, Power};

/// What is played. Its text form has one statement to a line; `#` begins a remark:
///
/// ```text
/// seed 7
/// start 0.2s before wrap
/// package-0: 50W for 2s, ramp 50W to 100W for 1s, square 20W to 80W every 3ms for 4s, 40W
/// package-0/dram: walk 5W to 20W by 1W every 10ms for 60s
/// at 1.5s package-0 freeze for 500ms
/// at 3s package-0/dram garbage for 100ms
/// at 4s package-0 back 5J
/// at 6s jump 900s
/// ```
///
/// Faults are `freeze`, `garbage`, `empty`, `beyond`, `refuse` and `vanish`, each with or without `for`, and `back` and
/// `jump`. Zones that are not named draw what their layout says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// What randomness grows from.
    pub seed: u64,
    /// Where counters begin.
    pub start: Start,
    /// The power of zones, by name.
    pub powers: BTreeMap<String, Power>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// Where counters begin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Start {
    /// Somewhere in the first half of their range, each at another place.
    #[default]
    Anywhere,
    /// At this count.
    At(Joules),
    /// So that each wraps after this time.
    BeforeWrap(Duration),
}

impl FromStr for Script {
    type Err = ScriptError;
    fn from_str(text: &str) -> Result<Script, ScriptError> {
        parse::script(text)
    }
}
