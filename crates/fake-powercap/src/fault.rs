//! What goes wrong, and when.

use std::time::Duration;

use jouletree_model::Joules;

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// When it begins.
    pub at: Duration,
    /// How long it lasts; for ever when it is not said.
    pub lasts: Option<Duration>,
    /// The zone it happens to; all of them when it is not said.
    pub zone: Option<String>,
    /// What happens.
    pub mishap: Mishap,
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mishap {
    /// The counter is not updated; what was used meanwhile shows afterwards.
    Freeze,
    /// The file holds words.
    Garbage,
    /// The file is empty.
    Empty,
    /// The file holds a number beyond the range.
    Beyond,
    /// Who opens it anew gets an input/output error; who has it open finds it empty.
    Refuse,
    /// The zone and those below it are gone, for good or until the driver is loaded again; who has one open finds it
    /// empty, then and ever after.
    Vanish,
    /// The counter is set back by so much, once.
    Back(Joules),
    /// So much time passes at once, as when the machine slept without its counters: they go on as if it had been used.
    Jump(Duration),
}

impl Fault {
    /// Whether it happens to this zone.
    pub(crate) fn hits(&self, zone: &str) -> bool {
        let Some(own) = &self.zone else { return true };
        let is_below = || zone.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('/'));
        own == zone || (self.mishap == Mishap::Vanish && is_below())
    }

    /// Whether it holds at this time.
    pub(crate) fn holds(&self, time: Duration) -> bool {
        let forever = matches!(self.mishap, Mishap::Back(_) | Mishap::Jump(_));
        let lasts = self.lasts.filter(|_| !forever);
        self.at <= time && lasts.is_none_or(|lasts| time < self.at.saturating_add(lasts))
    }
}
