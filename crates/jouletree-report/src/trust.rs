//! How far the numbers of a run can be trusted: the facts that decide it in one line, and whether the run is fit for publication.

use std::cmp::Reverse;

use jouletree_model::{DeviceClass, Interval, Joules, Kind};
use jouletree_run::{Balance, Recording};
use serde::{Serialize, Serializer};

use crate::Whole;

/// An interval that reaches further than this part of the figure to either side decides nothing.
const WIDE: f64 = 0.3;
/// Others who used more than this part of the devices disturb a run,
const SOME_NEIGHBOURS: f64 = 0.05;
/// and more than this part make another program of it.
const MANY_NEIGHBOURS: f64 = 0.25;
/// Less of the time with known power needs a mention,
const GOOD_COVERAGE: f64 = 0.995;
/// and less than this leaves too much out.
const POOR_COVERAGE: f64 = 0.95;
/// jouletree's own energy, as a part of the run's, that needs a mention.
const COSTLY_MONITOR: f64 = 0.05;

/// Whether a run can be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing speaks against it.
    Fit,
    /// With what is said of it.
    WithCaveats,
    /// Not as it is.
    Unfit,
}

impl Verdict {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Fit => "fit for publication",
            Verdict::WithCaveats => "fit for publication with caveats",
            Verdict::Unfit => "not fit for publication",
        }
    }
}

/// What a caveat is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// How far from a meter the energy is.
    Kind,
    /// Its 95 % interval.
    Interval,
    /// Other programs on the machine.
    Neighbours,
    /// The part of the time with known power.
    Coverage,
    /// Whether the recording and its program ended as they should.
    Recording,
    /// What jouletree itself used.
    Monitor,
    /// How many runs there are.
    Runs,
}

/// Why a run is not simply fit for publication.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Caveat {
    /// What it is about.
    pub about: About,
    /// How much it matters.
    pub verdict: Verdict,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// What decides how far a run can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Trust {
    /// How far from a meter its energy is.
    pub kind: Option<Kind>,
    /// The energy.
    pub energy: Joules,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// The part of the devices' energy that other programs used, jouletree left out; `None` where that is not known.
    pub neighbours: Option<f64>,
    /// The part of the recording with known power, of the device with least; `None` without a recording.
    pub coverage: Option<f64>,
    /// How often the power of a device was not known for a while.
    pub gaps: Option<u64>,
    /// What jouletree itself used; it is not in the energy of the run.
    pub monitor: Option<Joules>,
    /// How many runs there are.
    pub runs: usize,
    /// What speaks against it, the most important first.
    pub caveats: Vec<Caveat>,
}

impl Trust {
    /// About a run and how its power was recorded, if it was.
    pub fn of(recording: Option<&Recording>, whole: &Whole) -> Trust {
        let devices = || recording.into_iter().flat_map(counted);
        let mut trust = Trust {
            kind: whole.kind,
            energy: whole.run,
            interval: whole.interval.filter(|_| whole.energy == whole.run),
            neighbours: neighbours(devices()),
            coverage: devices().map(|balance| balance.coverage).reduce(f64::min),
            gaps: recording.map(|_| devices().map(|balance| balance.gaps).sum()),
            monitor: sum(devices().filter_map(|balance| Some(balance.parts?.own))),
            runs: 1,
            caveats: Vec::new(),
        };
        trust.caveats = trust.judged(recording);
        trust
    }

    /// About several runs of the same program: the least trusted counts.
    pub fn of_all(runs: Vec<Trust>, mean: &Whole) -> Option<Trust> {
        let count = runs.len();
        let all = runs.clone();
        let mut worst = runs.into_iter().max_by_key(|run| run.verdict())?;
        if count < 2 {
            return Some(worst);
        }
        worst.neighbours = all.iter().filter_map(|run| run.neighbours).reduce(f64::max);
        worst.coverage = all.iter().filter_map(|run| run.coverage).reduce(f64::min);
        worst.gaps = all.iter().filter_map(|run| run.gaps).reduce(|one, other| one + other);
        worst.monitor = all.iter().filter_map(|run| run.monitor).reduce(|one, other| Joules(one.0.max(other.0)));
        worst.kind = all.iter().filter_map(|run| run.kind).max();
        (worst.energy, worst.interval, worst.runs) = (mean.energy, mean.interval, count);
        let mut caveats: Vec<Caveat> = Vec::new();
        for caveat in all.into_iter().flat_map(|run| run.caveats).filter(|caveat| caveat.remedy != REPEAT) {
            match caveats.iter_mut().find(|known| known.remedy == caveat.remedy) {
                Some(known) if known.verdict < caveat.verdict => *known = caveat,
                Some(_) => {}
                None => caveats.push(caveat),
            }
        }
        worst.caveats = sorted(caveats);
        Some(worst)
    }

    /// Whether it can be published.
    pub fn verdict(&self) -> Verdict {
        self.caveats.iter().map(|caveat| caveat.verdict).max().unwrap_or(Verdict::Fit)
    }

    /// Whether other programs used so much that the machine cannot have been idle.
    pub fn is_disturbed(&self) -> bool {
        self.neighbours.is_some_and(|part| part > SOME_NEIGHBOURS)
    }

    /// The facts in one line.
    pub fn line(&self) -> String {
        let mut facts = vec![self.kind.map_or_else(|| "nothing was metered".to_owned(), |kind| kind.to_string())];
        if let Some(interval) = self.interval {
            facts.push(format!("95 %: {interval}"));
        }
        match self.neighbours {
            Some(part) => facts.push(format!("other programs used {} of the devices", whole_percent(part))),
            None if self.coverage.is_some() => facts.push("other programs unknown".to_owned()),
            None => {}
        }
        if let Some(coverage) = self.coverage {
            let gaps = match self.gaps {
                Some(0) | None => "no gaps".to_owned(),
                Some(1) => "1 gap".to_owned(),
                Some(gaps) => format!("{gaps} gaps"),
            };
            facts.push(format!("{} covered, {gaps}", whole_percent(coverage)));
        }
        if let Some(monitor) = self.monitor {
            facts.push(format!("jouletree itself {monitor} (not included)"));
        }
        facts.join("; ")
    }

    /// The verdict in one line, with what to do.
    pub fn judgement(&self) -> String {
        let caveats: Vec<String> =
            self.caveats.iter().map(|caveat| format!("{} ({})", caveat.message, caveat.remedy)).collect();
        match caveats.as_slice() {
            [] => self.verdict().as_str().to_owned(),
            caveats => format!("{}: {}", self.verdict().as_str(), caveats.join("; ")),
        }
    }

    fn judged(&self, recording: Option<&Recording>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        let mut say = |about, verdict, message: String, remedy| {
            caveats.push(Caveat { about, verdict, message, remedy });
        };
        let reach = self
            .interval
            .filter(|_| self.energy.0 > 0.0)
            .map(|interval| (1.0 - interval.low.0 / self.energy.0).max(interval.high.0 / self.energy.0 - 1.0));
        match self.kind {
            None => say(About::Kind, Verdict::Unfit, "no energy is known".to_owned(), "run `jouletree doctor`"),
            Some(Kind::Predicted) => {
                say(About::Kind, Verdict::Unfit, "the energy is predicted".to_owned(), "measure a run");
            }
            Some(Kind::Estimated) => {
                let is_wide = reach.is_none_or(|reach| reach > WIDE);
                let verdict = if is_wide { Verdict::Unfit } else { Verdict::WithCaveats };
                say(
                    About::Kind,
                    verdict,
                    "the energy is estimated".to_owned(),
                    "use a host with a meter, or --meter",
                );
            }
            Some(Kind::Measured | Kind::Derived) => {
                if let Some(reach) = reach.filter(|reach| *reach > WIDE) {
                    let message = format!("the interval reaches {} from the figure", whole_percent(reach));
                    say(About::Interval, Verdict::WithCaveats, message, "record for longer");
                }
            }
        }
        if let Some(part) = self.neighbours.filter(|part| *part > SOME_NEIGHBOURS) {
            let verdict = if part > MANY_NEIGHBOURS { Verdict::Unfit } else { Verdict::WithCaveats };
            let message = format!("other programs used {}", whole_percent(part));
            say(About::Neighbours, verdict, message, "run on an otherwise idle machine");
        }
        if let Some(coverage) = self.coverage.filter(|coverage| *coverage < GOOD_COVERAGE) {
            let verdict = if coverage < POOR_COVERAGE { Verdict::Unfit } else { Verdict::WithCaveats };
            let message = format!("the power of {} of the time is unknown", whole_percent(1.0 - coverage));
            say(About::Coverage, verdict, message, "run `jouletree doctor`");
        }
        if let Some(recording) = recording {
            let failed = recording.exit.is_some_and(|exit| exit.signal.is_some() || exit.code.unwrap_or(0) != 0);
            if !recording.complete {
                say(About::Recording, Verdict::Unfit, "the recording was cut off".to_owned(), "record it again");
            } else if failed {
                say(
                    About::Recording,
                    Verdict::Unfit,
                    "the program failed".to_owned(),
                    "mend it and record it again",
                );
            }
        } else if self.kind.is_some_and(|kind| kind != Kind::Predicted) {
            let message = "neighbours and coverage are unknown for power from a file".to_owned();
            say(About::Recording, Verdict::WithCaveats, message, "record with `jouletree run`");
        }
        if let Some(monitor) = self.monitor.filter(|monitor| monitor.0 > COSTLY_MONITOR * self.energy.0) {
            let message = format!("jouletree itself used {monitor}");
            say(About::Monitor, Verdict::WithCaveats, message, "read meters less often, with --period");
        }
        say(About::Runs, Verdict::WithCaveats, "it is one run".to_owned(), REPEAT);
        sorted(caveats)
    }
}

const REPEAT: &str = "repeat it";

fn sorted(mut caveats: Vec<Caveat>) -> Vec<Caveat> {
    caveats.sort_by_key(|caveat| Reverse(caveat.verdict));
    caveats
}

/// The devices whose energies are summed: whole ones, and a meter at the plug only where it is alone.
fn counted(recording: &Recording) -> impl Iterator<Item = &Balance> {
    let is_machine = |balance: &&Balance| balance.device.class() == DeviceClass::Machine;
    let known = || recording.balance.iter().filter(|balance| balance.domain.is_none() && balance.coverage > 0.0);
    let machines = known().all(|balance| is_machine(&balance));
    known().filter(move |balance| machines || !is_machine(balance))
}

fn neighbours<'a>(devices: impl Iterator<Item = &'a Balance>) -> Option<f64> {
    let (mut others, mut whole) = (0.0, 0.0);
    for balance in devices {
        if let Some(parts) = balance.parts {
            others += (parts.others.0 - parts.own.0).max(0.0);
            whole += balance.energy.0;
        }
    }
    (whole > 0.0).then(|| others / whole)
}

fn sum(values: impl Iterator<Item = Joules>) -> Option<Joules> {
    values.reduce(|sum, one| sum + one).filter(|sum| sum.0 > 0.0)
}

fn whole_percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent {
        x if x > 0.0 && x < 0.95 => format!("{percent:.1} %"),
        x if x > 99.0 && x < 99.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// As JSON; `docs/json.md` documents every field.
impl Serialize for Trust {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            kind: Option<Kind>,
            energy_j: f64,
            low_j: Option<f64>,
            high_j: Option<f64>,
            neighbours_share: Option<f64>,
            coverage: Option<f64>,
            gaps: Option<u64>,
            monitor_j: Option<f64>,
            runs: usize,
            verdict: Verdict,
            caveats: &'a [Caveat],
        }
        Row {
            kind: self.kind,
            energy_j: self.energy.0,
            low_j: self.interval.map(|interval| interval.low.0),
            high_j: self.interval.map(|interval| interval.high.0),
            neighbours_share: self.neighbours,
            coverage: self.coverage,
            gaps: self.gaps,
            monitor_j: self.monitor.map(|monitor| monitor.0),
            runs: self.runs,
            verdict: self.verdict(),
            caveats: &self.caveats,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(kind: Kind, reach: f64, neighbours: f64, coverage: f64) -> Trust {
        let energy = Joules(100.0);
        let interval = Interval { low: Joules(100.0 * (1.0 - reach)), high: Joules(100.0 * (1.0 + reach)) };
        let mut trust = Trust {
            kind: Some(kind),
            energy,
            interval: Some(interval),
            neighbours: Some(neighbours),
            coverage: Some(coverage),
            gaps: Some(0),
            monitor: Some(Joules(1.0)),
            runs: 1,
            caveats: Vec::new(),
        };
        trust.caveats = trust.judged(None);
        trust
    }

    #[test]
    fn what_disturbs_a_run_decides_whether_it_can_be_published() {
        let verdict = |kind, reach, neighbours, coverage| trust(kind, reach, neighbours, coverage).verdict();
        assert_eq!(verdict(Kind::Measured, 0.02, 0.0, 1.0), Verdict::WithCaveats, "it is one run");
        assert_eq!(verdict(Kind::Estimated, 0.1, 0.0, 1.0), Verdict::WithCaveats);
        assert_eq!(verdict(Kind::Estimated, 1.2, 0.0, 1.0), Verdict::Unfit);
        assert_eq!(verdict(Kind::Measured, 0.02, 0.66, 1.0), Verdict::Unfit);
        assert_eq!(verdict(Kind::Measured, 0.02, 0.1, 0.9), Verdict::Unfit);
        assert_eq!(verdict(Kind::Predicted, 0.02, 0.0, 1.0), Verdict::Unfit);
        let said = trust(Kind::Measured, 0.02, 0.66, 1.0);
        assert!(said.judgement().contains("other programs used 66 % (run on an otherwise idle machine)"));
        assert_eq!(
            said.line(),
            "measured; 95 %: 98 … 102 J; other programs used 66 % of the devices; 100 % covered, no gaps; jouletree itself \
             1.00 J (not included)"
        );
    }

    #[test]
    fn several_runs_are_as_good_as_the_worst_and_need_no_repetition() {
        let (good, bad) = (trust(Kind::Measured, 0.02, 0.0, 1.0), trust(Kind::Measured, 0.02, 0.3, 0.999));
        let mean = Whole::unplaced(Joules(90.0), Some(Kind::Measured), None);
        let all = Trust::of_all(vec![good.clone(), bad], &mean).unwrap();
        assert_eq!((all.runs, all.verdict(), all.neighbours), (2, Verdict::Unfit, Some(0.3)));
        assert!(all.caveats.iter().all(|caveat| caveat.remedy != REPEAT));
        assert_eq!(Trust::of_all(vec![good.clone()], &mean), Some(good));
    }
}
