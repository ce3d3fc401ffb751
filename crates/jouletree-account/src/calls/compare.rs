//! Calls of many runs compared: per function, sums against whole projects, energy against the size of the input. Both as
//! FECoM sums (of repeated calls the last; only functions that have energy in every run) and with all calls.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use indexmap::IndexMap;
use jouletree_model::{Device, Joules, Nanos};

use super::hypothesis::{Correlation, TestError, pearson};
use super::shapiro::{Normality, shapiro_wilk};
use super::sizes::{Line, line};
use super::summary::{Summary, mean};
use super::wilcoxon::{SignedRank, wilcoxon_greater};

/// What one call used of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnergy {
    /// The program.
    pub project: Box<str>,
    /// Which run of the program.
    pub run: u32,
    /// Which call of the run, in the order of execution.
    pub call: u32,
    /// What was called.
    pub function: Box<str>,
    /// The device.
    pub device: Device,
    /// How long the call took.
    pub duration: Nanos,
    /// How large its input was, in bytes.
    pub input_bytes: Option<u64>,
    /// What it used beyond idling; `None` where no sample shows it.
    pub net: Option<Joules>,
    /// What its tail used beyond idling.
    pub tail: Option<Joules>,
}

/// Which calls of a project count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// As FECoM chooses: with energy on every device, of each name the last of a run, and of names that have one in every run.
    LastOfName,
    /// All with energy on every device.
    All,
}

/// A function's calls on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSummary {
    /// The program.
    pub project: Box<str>,
    /// The function.
    pub function: Box<str>,
    /// The device.
    pub device: Device,
    /// In how many runs it was called.
    pub runs: usize,
    /// Its net energies in joules.
    pub net: Summary,
    /// How long its calls took, in seconds.
    pub seconds: Summary,
    /// The mean size of its input, in bytes.
    pub input_bytes: Option<f64>,
}

/// The calls of a project against the whole of it, on one device: means of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectSum {
    /// The program; `None` for all of them.
    pub project: Option<Box<str>>,
    /// The device.
    pub device: Device,
    /// What the whole program used.
    pub whole: Joules,
    /// What the calls that FECoM counts used.
    pub last_of_name: Joules,
    /// What all calls used.
    pub all_calls: Joules,
    /// What the tails of these used.
    pub tails: Joules,
    /// What the tail of the whole program used.
    pub whole_tail: Joules,
    /// How many calls a run has, whether or not their energy is known.
    pub calls: f64,
    /// How many of them have no energy on some device.
    pub without_energy: f64,
}

/// What the tests say of the sums of many projects on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectTests {
    /// The device.
    pub device: Device,
    /// Whether the differences between wholes and sums look normal.
    pub normality: Result<Normality, TestError>,
    /// Whether wholes are larger than sums.
    pub larger: Result<SignedRank, TestError>,
    /// Whether wholes and sums go together.
    pub correlation: Result<Correlation, TestError>,
}

/// Energy against the size of the input, of one function on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeFit {
    /// The program.
    pub project: Box<str>,
    /// The function.
    pub function: Box<str>,
    /// The device.
    pub device: Device,
    /// How many calls there are, and how many of them have energy.
    pub calls: usize,
    /// Those that have.
    pub with_energy: usize,
    /// Bytes and joules, the mean of all calls of a size step.
    pub points: Vec<(f64, f64)>,
    /// The line through them, in joules and mebibytes.
    pub line: Result<Line, TestError>,
}

/// What the energies of functions are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// How long calls take, in seconds.
    Time,
    /// How large their inputs are, in mebibytes.
    Size,
}

/// Which functions are compared, grouped as in the study: at a second, and at a mebibyte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All of them.
    All,
    /// Those whose calls take more than a second.
    Long,
    /// Those whose calls do not.
    Short,
    /// Those with inputs of more than a mebibyte.
    Large,
    /// Those without.
    Small,
    /// Not functions but each size of input of each of them.
    Steps,
}

/// The mean energies of many functions on one device against something.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The device.
    pub device: Device,
    /// What energies are held against.
    pub against: Against,
    /// Of which functions.
    pub group: Group,
    /// How many points there are.
    pub count: usize,
    /// The line through them.
    pub line: Result<Line, TestError>,
}

/// The bytes of a mebibyte.
pub const MEBIBYTE: f64 = 1_048_576.0;

/// A project, a function and a device.
type FunctionKey = (Box<str>, Box<str>, Device);
/// A project, a run and a call.
type CallKey<'a> = (&'a str, u32, u32);

/// The calls that count, with their energies.
pub fn chosen(calls: &[CallEnergy], choice: Choice) -> Vec<&CallEnergy> {
    let mut without: BTreeSet<CallKey<'_>> = BTreeSet::new();
    let mut last: BTreeMap<(&str, u32, &str), u32> = BTreeMap::new();
    for call in calls {
        if call.net.is_none() {
            without.insert(call_key(call));
        }
        let newest = last.entry((&call.project, call.run, &call.function)).or_insert(call.call);
        *newest = call.call.max(*newest);
    }
    let known = calls.iter().filter(|call| call.net.is_some() && !without.contains(&call_key(call)));
    if choice == Choice::All {
        return known.collect();
    }
    let is_last = |call: &&CallEnergy| last.get(&(&*call.project, call.run, &*call.function)) == Some(&call.call);
    let known: Vec<&CallEnergy> = known.filter(is_last).collect();
    let mut runs: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for call in calls {
        runs.entry(&call.project).or_default().insert(call.run);
    }
    let mut seen: BTreeMap<(&str, &str), BTreeSet<u32>> = BTreeMap::new();
    for call in &known {
        seen.entry((&call.project, &call.function)).or_default().insert(call.run);
    }
    let in_all = |call: &&CallEnergy| {
        let (seen, runs) = (seen.get(&(&*call.project, &*call.function)), runs.get(&*call.project));
        seen.map(BTreeSet::len) == runs.map(BTreeSet::len)
    };
    known.into_iter().filter(in_all).collect()
}

/// Each function's calls, in the order of their first appearance.
pub fn functions(calls: &[&CallEnergy]) -> Vec<FunctionSummary> {
    let grouped =
        grouped(calls.iter().copied(), |call| (call.project.clone(), call.function.clone(), call.device.clone()));
    let summary = |((project, function, device), calls): (FunctionKey, Vec<&CallEnergy>)| {
        let sizes: Vec<f64> = calls.iter().filter_map(|call| call.input_bytes).map(|bytes| bytes as f64).collect();
        Some(FunctionSummary {
            project,
            function,
            device,
            runs: calls.iter().map(|call| call.run).collect::<BTreeSet<u32>>().len(),
            net: Summary::of(calls.iter().filter_map(|call| call.net).map(|net| net.0))?,
            seconds: Summary::of(calls.iter().map(|call| call.duration.seconds()))?,
            input_bytes: (!sizes.is_empty()).then(|| mean(&sizes)),
        })
    };
    grouped.into_iter().filter_map(summary).collect()
}

/// The calls of each project against `wholes`, the same projects measured as one call; the sum over all projects last.
pub fn projects(calls: &[CallEnergy], wholes: &[CallEnergy]) -> Vec<ProjectSum> {
    let last = chosen(calls, Choice::LastOfName);
    let all = chosen(calls, Choice::All);
    let mut sums: Vec<ProjectSum> = Vec::new();
    for ((project, device), of_whole) in grouped(wholes.iter(), |call| (call.project.clone(), call.device.clone()))
    {
        let of_project = |call: &&&CallEnergy| call.project == project && call.device == device;
        let here = || calls.iter().filter(|call| call.project == project && call.device == device);
        let runs = here().map(|call| call.run).collect::<BTreeSet<u32>>().len().max(1) as f64;
        let per_run = |joules: Joules| Joules(joules.0 / runs);
        let net = |calls: &[&CallEnergy]| -> Joules {
            calls.iter().filter(of_project).filter_map(|call| call.net).sum()
        };
        let count = here().count() as f64;
        let known = all.iter().filter(of_project).count() as f64;
        let mean_of = |value: fn(&CallEnergy) -> Option<Joules>| {
            let values: Vec<f64> = of_whole.iter().filter_map(|call| value(call)).map(|joules| joules.0).collect();
            Joules(if values.is_empty() { 0.0 } else { mean(&values) })
        };
        sums.push(ProjectSum {
            whole: mean_of(|call| call.net),
            whole_tail: mean_of(|call| call.tail),
            last_of_name: per_run(net(&last)),
            all_calls: per_run(net(&all)),
            tails: per_run(all.iter().filter(of_project).filter_map(|call| call.tail).sum()),
            calls: count / runs,
            without_energy: (count - known) / runs,
            project: Some(project),
            device,
        });
    }
    let totals = grouped(sums.iter(), |sum| sum.device.clone()).into_iter().map(|(device, sums)| ProjectSum {
        project: None,
        device,
        whole: sums.iter().map(|sum| sum.whole).sum(),
        last_of_name: sums.iter().map(|sum| sum.last_of_name).sum(),
        all_calls: sums.iter().map(|sum| sum.all_calls).sum(),
        tails: sums.iter().map(|sum| sum.tails).sum(),
        whole_tail: sums.iter().map(|sum| sum.whole_tail).sum(),
        calls: sums.iter().map(|sum| sum.calls).sum(),
        without_energy: sums.iter().map(|sum| sum.without_energy).sum(),
    });
    let totals: Vec<ProjectSum> = totals.collect();
    sums.extend(totals);
    sums
}

/// The tests of the study, on sums of projects: wholes against the calls that were chosen.
pub fn project_tests(sums: &[ProjectSum], choice: Choice) -> Vec<ProjectTests> {
    let projects = sums.iter().filter(|sum| sum.project.is_some());
    let tested = grouped(projects, |sum| sum.device.clone()).into_iter().map(|(device, sums)| {
        let pairs: Vec<(f64, f64)> = sums.iter().map(|sum| (sum.whole.0, sum.of(choice).0)).collect();
        let differences: Vec<f64> = pairs.iter().map(|(whole, sum)| whole - sum).collect();
        ProjectTests {
            device,
            normality: shapiro_wilk(&differences),
            larger: wilcoxon_greater(&pairs),
            correlation: pearson(&pairs),
        }
    });
    tested.collect()
}

/// Energy against size: of each function, the mean of each size step and the line through these.
pub fn sizes(calls: &[CallEnergy]) -> Vec<SizeFit> {
    let known: BTreeSet<CallKey<'_>> = chosen(calls, Choice::All).iter().map(|call| call_key(call)).collect();
    let grouped = grouped(calls.iter(), |call| (call.project.clone(), call.function.clone(), call.device.clone()));
    let fit = |((project, function, device), calls): (FunctionKey, Vec<&CallEnergy>)| {
        let with_energy: Vec<&CallEnergy> =
            calls.iter().copied().filter(|call| known.contains(&call_key(call))).collect();
        let mut steps: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
        for call in &with_energy {
            if let (Some(bytes), Some(net)) = (call.input_bytes, call.net) {
                steps.entry(call.call).or_default().push((bytes as f64, net.0));
            }
        }
        let points: Vec<(f64, f64)> = (steps.values())
            .map(|step| {
                let [bytes, joules]: [Vec<f64>; 2] =
                    [step.iter().map(|point| point.0).collect(), step.iter().map(|point| point.1).collect()];
                (mean(&bytes), mean(&joules))
            })
            .collect();
        let scaled: Vec<(f64, f64)> = points.iter().map(|(bytes, joules)| (bytes / MEBIBYTE, *joules)).collect();
        SizeFit {
            project,
            function,
            device,
            calls: calls.len(),
            with_energy: with_energy.len(),
            line: line(&scaled),
            points,
        }
    };
    grouped.into_iter().map(fit).collect()
}

/// The study's correlations over functions: of their mean energies with the time they take and the size of their input. An
/// input of unknown size is none to FECoM; by our choice its function is left out.
pub fn trends(functions: &[FunctionSummary], choice: Choice) -> Vec<Trend> {
    let unknown = (choice == Choice::LastOfName).then_some(0.0);
    let size = |one: &FunctionSummary| Some(one.input_bytes.or(unknown)? / MEBIBYTE);
    let wanted = [
        (Against::Time, Group::All),
        (Against::Size, Group::All),
        (Against::Size, Group::Long),
        (Against::Size, Group::Short),
        (Against::Size, Group::Large),
        (Against::Size, Group::Small),
    ];
    let mut trends = Vec::new();
    for (device, functions) in grouped(functions.iter(), |one| one.device.clone()) {
        for (against, group) in wanted {
            let is_in = |one: &&&FunctionSummary| match group {
                Group::Long => one.seconds.mean > 1.0,
                Group::Short => one.seconds.mean <= 1.0,
                Group::Large => size(one).is_some_and(|size| size > 1.0),
                Group::Small => size(one).is_some_and(|size| size <= 1.0),
                Group::All | Group::Steps => true,
            };
            let x = |one: &FunctionSummary| match against {
                Against::Time => Some(one.seconds.mean),
                Against::Size => size(one),
            };
            let points = functions.iter().filter(is_in).filter_map(|one| Some((x(one)?, one.net.mean)));
            trends.push(trend(device.clone(), against, group, &points.collect::<Vec<_>>()));
        }
    }
    trends
}

/// The same over all sizes of input of all functions, of calls that were made with several.
pub fn size_trends(calls: &[CallEnergy], choice: Choice) -> Vec<Trend> {
    let unknown = (choice == Choice::LastOfName).then_some(0);
    let sized = |call: &CallEnergy| CallEnergy { input_bytes: call.input_bytes.or(unknown), ..call.clone() };
    let fits = sizes(&calls.iter().map(sized).collect::<Vec<_>>());
    let of_device = |(device, fits): (Device, Vec<&SizeFit>)| {
        let points = fits.iter().flat_map(|fit| &fit.points).map(|(bytes, joules)| (bytes / MEBIBYTE, *joules));
        trend(device, Against::Size, Group::Steps, &points.collect::<Vec<_>>())
    };
    grouped(fits.iter(), |fit| fit.device.clone()).into_iter().map(of_device).collect()
}

fn trend(device: Device, against: Against, group: Group, points: &[(f64, f64)]) -> Trend {
    Trend { device, against, group, count: points.len(), line: line(points) }
}

impl ProjectSum {
    /// What the calls that were chosen used.
    pub fn of(&self, choice: Choice) -> Joules {
        match choice {
            Choice::LastOfName => self.last_of_name,
            Choice::All => self.all_calls,
        }
    }

    /// That as a part of the whole; `None` where the whole is nothing.
    pub fn ratio(&self, choice: Choice) -> Option<f64> {
        let ratio = self.of(choice).0 / self.whole.0;
        ratio.is_finite().then_some(ratio)
    }

    /// What calls of a name before its last, and those of names that not every run has, add to what FECoM counts.
    pub fn repeated(&self) -> Joules {
        self.all_calls - self.last_of_name
    }

    /// What the whole used and no call: imports, start-up, calls without samples or without instrumentation, and gaps.
    pub fn outside(&self) -> Joules {
        self.whole - self.all_calls
    }
}

fn call_key(call: &CallEnergy) -> CallKey<'_> {
    (&call.project, call.run, call.call)
}

/// Things by key, in the order of first appearance.
fn grouped<'a, T, K: Hash + Eq>(
    things: impl Iterator<Item = &'a T>,
    key: impl Fn(&T) -> K,
) -> IndexMap<K, Vec<&'a T>> {
    let mut groups: IndexMap<K, Vec<&'a T>> = IndexMap::new();
    things.for_each(|thing| groups.entry(key(thing)).or_default().push(thing));
    groups
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
