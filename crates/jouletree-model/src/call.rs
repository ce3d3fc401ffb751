//! Calls of library functions: their source location, when each of them ran, on what and inside which other.

use crate::{Nanos, TimeRange};

/// A place in a program's source that calls a library.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallSite {
    /// The file, as the program names it.
    pub file: Box<str>,
    /// The line, counted from one.
    pub line: u32,
    /// The column of the call's first character, counted from zero as Python does.
    pub column: u32,
    /// The dotted name of what is called: `tensorflow.keras.Sequential.fit`.
    pub name: Box<str>,
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The index of its site in [`Calls::sites`].
    pub site: usize,
    /// Which call of its site it is, counted from one.
    pub number: u64,
    /// The thread it ran on.
    pub thread: u64,
    /// The index of the call inside which it was made; it began earlier. `None` for one that is inside no other.
    pub parent: Option<usize>,
    /// From its beginning to its end, devices synchronised at both.
    pub range: TimeRange,
    /// How large its arguments are; `None` where that is expensive to find.
    pub argument_bytes: Option<u64>,
    /// The shapes of its arguments in words: `(60000, 28, 28) uint8, (60000,) uint8`.
    pub shapes: Box<str>,
    /// How large its result is.
    pub result_bytes: Option<u64>,
    /// How long it was held back until the machine was stable. That time is before `range`.
    pub waited: Nanos,
    /// Whether the machine was stable when it began.
    pub stability: CallStability,
}

/// Whether the machine was at its idle level when a call began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CallStability {
    /// It was not asked for.
    #[default]
    NotAsked,
    /// It was.
    Stable,
    /// It was not, and why.
    Unstable(Box<str>),
}

/// The calls of a run in the order of their beginnings, with their sites.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Calls {
    sites: Vec<CallSite>,
    calls: Vec<Call>,
}

/// Why a call does not fit to those before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Its site is not known.
    #[error("site {site} is not one of the {known} that are known")]
    Site {
        /// The site it names.
        site: usize,
        /// How many there are.
        known: usize,
    },
    /// It ended before it began.
    #[error("it ends at {end} ns, before it begins at {start} ns")]
    Backwards {
        /// When it began.
        start: i64,
        /// When it ended.
        end: i64,
    },
    /// It began before the one before.
    #[error("it begins at {0} ns, before the call above it; calls are in the order of their beginnings")]
    Order(i64),
    /// The call inside which it was made is not among those before it.
    #[error("it was made inside call {0}, which is not above it")]
    Parent(usize),
}

impl Calls {
    /// Adds a site; returns the number by which calls name it.
    pub fn push_site(&mut self, site: CallSite) -> usize {
        self.sites.push(site);
        self.sites.len() - 1
    }

    /// Adds a call, which began no earlier than those before; returns the number by which others name it.
    pub fn push(&mut self, call: Call) -> Result<usize, CallError> {
        let known = self.sites.len();
        if call.site >= known {
            return Err(CallError::Site { site: call.site, known });
        }
        let TimeRange { start, end } = call.range;
        if end < start {
            return Err(CallError::Backwards { start: start.0, end: end.0 });
        }
        if self.calls.last().is_some_and(|last| start < last.range.start) {
            return Err(CallError::Order(start.0));
        }
        if let Some(parent) = call.parent.filter(|parent| *parent >= self.calls.len()) {
            return Err(CallError::Parent(parent));
        }
        self.calls.push(call);
        Ok(self.calls.len() - 1)
    }

    /// The places that call.
    pub fn sites(&self) -> &[CallSite] {
        &self.sites
    }

    /// The calls; the parent of each precedes it.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The site of a call.
    pub fn site_of(&self, call: &Call) -> Option<&CallSite> {
        self.sites.get(call.site)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(start: i64, end: i64, parent: Option<usize>) -> Call {
        Call {
            site: 0,
            number: 1,
            thread: 1,
            parent,
            range: TimeRange { start: Nanos(start), end: Nanos(end) },
            argument_bytes: None,
            shapes: "".into(),
            result_bytes: None,
            waited: Nanos(0),
            stability: CallStability::NotAsked,
        }
    }

    #[test]
    fn calls_that_cannot_be_are_refused() {
        let mut calls = Calls::default();
        assert_eq!(calls.push(call(0, 1, None)), Err(CallError::Site { site: 0, known: 0 }));
        calls.push_site(CallSite { file: "a.py".into(), line: 1, column: 0, name: "f".into() });
        assert_eq!(calls.push(call(10, 90, None)), Ok(0));
        assert_eq!(calls.push(call(20, 30, Some(0))), Ok(1));
        assert_eq!(calls.push(call(30, 20, None)), Err(CallError::Backwards { start: 30, end: 20 }));
        assert_eq!(calls.push(call(19, 20, None)), Err(CallError::Order(19)));
        assert_eq!(calls.push(call(40, 50, Some(2))), Err(CallError::Parent(2)));
        assert_eq!(calls.calls().len(), 2);
    }
}
