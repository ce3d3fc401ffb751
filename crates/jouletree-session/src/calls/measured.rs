//! Calls with their energies, wherever they came from.

use std::collections::HashMap;

use jouletree_account::calls::compare::CallEnergy;
use jouletree_account::calls::{Nested, NetEnergy, fecom};
use jouletree_model::{Device, EnergySeries, Joules, Kind, Nanos, TimeRange, Warning, Watts};
use jouletree_run::fecom::FecomKind;

use super::rows::CallRow;

/// By which rule the time of a call is laid over power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowRule {
    /// Cumulative energy at the call's own times; all calls count.
    Exact,
    /// FECoM's: the samples nearest its stamps, the last of them left out; the last call of a name counts.
    Fecom,
}

/// What was read and computed.
pub struct Measured {
    /// The rule that was chosen.
    pub window: WindowRule,
    /// The calls, one for each of their devices.
    pub calls: Vec<MeasuredCall>,
    /// What calls of runs are a part of.
    pub wholes: Vec<RunWhole>,
    /// The files of programs as they ran, by the names that sites have.
    pub sources: HashMap<String, String>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// One call on one device.
pub struct MeasuredCall {
    /// What kind of record it comes from.
    pub kind: FecomKind,
    /// It as a row.
    pub row: CallRow,
    /// Its energy, for comparisons.
    pub energy: CallEnergy,
    /// What a figure shows of it; `None` where there are no samples.
    pub drawn: Option<Drawn>,
}

/// The power around a call.
#[derive(Clone)]
pub struct Drawn {
    /// How its power is known.
    pub kind: Kind,
    /// The energy over time.
    pub series: std::rc::Rc<EnergySeries>,
    /// The call.
    pub window: TimeRange,
    /// Where the idle level was taken, and the level.
    pub baseline: Option<(TimeRange, Watts)>,
    /// The time after the call in which it still draws power.
    pub tail: Option<TimeRange>,
}

/// What a run used of a device, in calls and outside of them.
pub struct RunWhole {
    /// What ran.
    pub project: Box<str>,
    /// The device.
    pub device: Device,
    /// The energy of calls, with and without those inside of them.
    pub nested: Nested,
    /// What the last call of each name used.
    pub last_of_name: Joules,
    /// What tails used beyond idling.
    pub tails: Joules,
}

impl Measured {
    /// Nothing yet.
    pub fn new(window: WindowRule) -> Measured {
        Measured { window, calls: Vec::new(), wholes: Vec::new(), sources: HashMap::new(), warnings: Vec::new() }
    }

    /// The call with this number in the table, counted from one, or else of those that `may_be` that with the most net energy.
    pub fn chosen(&self, number: Option<usize>, may_be: impl Fn(&MeasuredCall) -> bool) -> Option<&MeasuredCall> {
        let net = |call: &MeasuredCall| call.row.net.map_or(f64::NEG_INFINITY, |net| net.0);
        match number {
            Some(number) => self.calls.get(number.checked_sub(1)?),
            None => self.calls.iter().filter(|call| may_be(call)).max_by(|a, b| net(a).total_cmp(&net(b))),
        }
    }

    /// Every call with its number.
    pub fn rows(&self) -> Vec<CallRow> {
        self.calls.iter().map(|call| call.row.clone()).collect()
    }

    /// The calls of programs.
    pub fn calls(&self) -> Vec<CallEnergy> {
        self.of(FecomKind::Method)
    }

    /// Whole programs.
    pub fn projects(&self) -> Vec<CallEnergy> {
        self.of(FecomKind::Project)
    }

    /// Calls with inputs of growing size, or all calls where none were made for that.
    pub fn sized(&self) -> Vec<CallEnergy> {
        let sized = self.made_for_sizes();
        if sized.is_empty() { self.calls() } else { sized }
    }

    /// Calls that were made with inputs of growing size.
    pub fn made_for_sizes(&self) -> Vec<CallEnergy> {
        self.of(FecomKind::Size)
    }

    fn of(&self, kind: FecomKind) -> Vec<CallEnergy> {
        self.calls.iter().filter(|call| call.kind == kind).map(|call| call.energy.clone()).collect()
    }
}

/// Both rules' results for a call on a device.
pub(crate) struct Both {
    pub exact: NetEnergy,
    pub fecom: fecom::FecomNet,
    /// From FECoM's first sample to its last.
    pub stamped: TimeRange,
}

impl Both {
    /// Fills in what the chosen rule says, and the other's net beside it.
    pub fn fill(&self, row: &mut CallRow, window: WindowRule) {
        match window {
            WindowRule::Exact => {
                let exact = &self.exact;
                row.samples = exact.readings as u64;
                row.gross = (exact.known > Nanos(0)).then_some(exact.gross);
                row.baseline = exact.baseline.map(|baseline| baseline.power);
                row.baseline_sd = exact.baseline.map(|baseline| baseline.deviation);
                row.baseline_n = exact.baseline.map(|baseline| baseline.blocks as u64);
                row.baseline_s = exact.baseline.map(|baseline| baseline.known.seconds());
                row.net = exact.net;
                row.standard_error = exact.standard_error;
                row.edges = exact.edges;
                row.resolution = exact.resolution();
                row.below_resolution = exact.below.map(|below| below.as_str().to_owned());
                row.other_net = self.fecom.net;
                row.tail_s = exact.tail.map(|tail| tail.range.duration().seconds());
                row.tail = exact.tail.map(|tail| tail.net);
                row.tail_cut = exact.tail.map(|tail| tail.is_cut);
            }
            WindowRule::Fecom => {
                let fecom = &self.fecom;
                row.samples = fecom.samples as u64;
                row.gross = fecom.gross;
                row.baseline = fecom.baseline;
                row.baseline_sd = fecom.deviation;
                row.baseline_n = Some(fecom.baseline_samples as u64);
                row.net = fecom.net;
                row.other_net = self.exact.net;
                row.tail_s = fecom.tail.map(|tail| tail.duration.seconds());
                row.tail = fecom.tail.map(|tail| tail.net);
                row.tail_cut = fecom.tail.map(|tail| tail.is_cut);
            }
        }
    }

    /// What a figure shows of it.
    pub fn drawn(
        &self,
        window: WindowRule,
        kind: Kind,
        series: std::rc::Rc<EnergySeries>,
        baseline: Nanos,
    ) -> Drawn {
        let level = match window {
            WindowRule::Exact => self.exact.baseline.map(|baseline| baseline.power),
            WindowRule::Fecom => self.fecom.baseline,
        };
        let shown = match window {
            WindowRule::Exact => self.exact.window,
            WindowRule::Fecom => self.stamped,
        };
        let tail = match window {
            WindowRule::Exact => self.exact.tail.map(|tail| tail.range),
            WindowRule::Fecom => {
                self.fecom.tail.map(|tail| TimeRange { start: shown.end, end: shown.end + tail.duration })
            }
        };
        let before = TimeRange { start: shown.start - baseline, end: shown.start };
        Drawn { kind, series, window: shown, baseline: level.map(|level| (before, level)), tail }
    }
}
