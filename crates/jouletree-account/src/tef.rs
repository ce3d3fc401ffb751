//! The tensor energy footprint (TEF): what every tensor operation used, the largest consumer first.
//!
//! The tensor power footprint (TPF) is the same entries ranked by average power.

use std::borrow::Cow;
use std::cmp::Ordering;

use jouletree_model::{
    Device, ErrorSum, Footprint, Joules, Nanos, OpEnergy, Pass, Watts, WithError, standard_error_of_sum,
};
use rustc_hash::FxHashMap;

use crate::Shares;
use crate::labels::{Labels, label, named};

/// The operations of a program with what each used on each device, by energy descending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tef {
    entries: Vec<TefEntry>,
}

/// What one operation used on one device.
#[derive(Debug, Clone, PartialEq)]
pub struct TefEntry {
    /// The qualified tensor name, its components separated by `/`.
    pub path: Box<str>,
    /// What the operation computes, in the framework's words.
    pub op_type: Box<str>,
    /// The name the framework gave it; the path where several operations were summed.
    pub name: Box<str>,
    /// What distinguishes it from other operations of its path and pass, if there are any.
    pub mark: Option<Box<str>>,
    /// The pass it belongs to.
    pub pass: Pass,
    /// Whether its time is a share of longer events, by an approximate key.
    pub approximate: bool,
    /// Where it ran.
    pub device: Device,
    /// The energy it was charged with.
    pub energy: Joules,
    /// How long it was active.
    pub busy: Nanos,
    /// How often it ran.
    pub count: u64,
    /// The standard error of `energy` by itself, where the attribution policy knows it.
    pub standard_error: Option<Joules>,
    /// How that error goes together with those of others; `None` where errors are independent.
    pub errors: Option<Box<ErrorSum>>,
}

/// What all operations of one kind used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypeEnergy {
    /// What they compute, in the framework's words.
    pub op_type: Box<str>,
    /// The energy that they were charged with.
    pub energy: Joules,
    /// The same by pass.
    pub passes: Shares<Pass>,
    /// The same by device.
    pub devices: Shares<Device>,
    /// How long they were active, summed over lanes.
    pub busy: Nanos,
    /// How often they ran.
    pub count: u64,
}

impl TypeEnergy {
    /// Joules over the summed time of the operations; `None` when they were never active.
    pub fn power(&self) -> Option<Watts> {
        (self.busy > Nanos(0)).then(|| self.energy / self.busy)
    }
}

impl TefEntry {
    /// What it is called in a list; together with its pass and its device, no other operation is called the same.
    pub fn label(&self) -> Cow<'_, str> {
        label(named(&self.path, &self.name, &self.op_type), self.mark.as_deref())
    }

    /// Its average power while it was active; `None` when it never was.
    pub fn power(&self) -> Option<Watts> {
        (self.busy > Nanos(0)).then(|| self.energy / self.busy)
    }

    /// Adds the error of another entry, whose energy has not been added yet.
    pub fn add_error(&mut self, other: &TefEntry) {
        let mine = (self.energy, self.standard_error);
        self.standard_error =
            add_errors((mine, &mut self.errors), ((other.energy, other.standard_error), &other.errors));
        if let Some(errors) = &self.errors {
            self.standard_error = Some(errors.standard_error());
        }
    }

    /// The larger energy first; ties by everything else, so that the order of the input never shows.
    fn rank(&self, other: &TefEntry) -> Ordering {
        let rest = |entry: &TefEntry| (entry.pass, entry.busy, entry.count);
        (other.energy.0.total_cmp(&self.energy.0))
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| self.op_type.cmp(&other.op_type))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| self.device.cmp(&other.device))
            .then_with(|| rest(self).cmp(&rest(other)))
    }
}

/// Adds how errors go together: by the covariances of powers where they are known, in quadrature where errors are independent.
/// Returns the standard error as if all were independent; where `errors` are known in the end, they have the better one.
pub(crate) fn add_errors(
    (mine, errors): (WithError, &mut Option<Box<ErrorSum>>),
    (more, other): (WithError, &Option<Box<ErrorSum>>),
) -> Option<Joules> {
    let independent = standard_error_of_sum(mine, more);
    if independent.is_none() || (errors.is_none() && other.is_none()) {
        *errors = None;
        return independent;
    }
    let of = |error: Option<Joules>| ErrorSum::independent(error.unwrap_or(Joules::ZERO));
    let sum = errors.get_or_insert_with(|| Box::new(of(mine.1)));
    match other {
        Some(other) => sum.add(other),
        None => sum.add(&of(more.1)),
    }
    independent
}

impl Tef {
    /// A footprint of these entries, which are put in order.
    pub fn new(mut entries: Vec<TefEntry>) -> Tef {
        entries.sort_unstable_by(TefEntry::rank);
        Tef { entries }
    }

    /// Its entries by energy descending; ties by path.
    pub fn entries(&self) -> &[TefEntry] {
        &self.entries
    }

    /// Its entries by average power descending (the TPF); those that were never active come last.
    pub fn by_power(&self) -> Vec<&TefEntry> {
        let watts = |entry: &TefEntry| entry.power().map_or(f64::NEG_INFINITY, |power| power.0);
        let mut entries: Vec<&TefEntry> = self.entries.iter().collect();
        entries.sort_by(|a, b| watts(b).total_cmp(&watts(a)));
        entries
    }

    /// What each kind of operation used, the largest first.
    pub fn by_type(&self) -> Vec<TypeEnergy> {
        let mut sums: FxHashMap<&str, TypeEnergy> = FxHashMap::default();
        for entry in &self.entries {
            let sum = sums.entry(&entry.op_type).or_default();
            sum.op_type.clone_from(&entry.op_type);
            sum.energy += entry.energy;
            sum.passes.add(&entry.pass, entry.energy);
            sum.devices.add(&entry.device, entry.energy);
            sum.busy += entry.busy;
            sum.count = sum.count.saturating_add(entry.count);
        }
        let mut types: Vec<TypeEnergy> = sums.into_values().collect();
        types.sort_by(|a, b| b.energy.0.total_cmp(&a.energy.0).then_with(|| a.op_type.cmp(&b.op_type)));
        types
    }

    /// The energy of all entries.
    pub fn total(&self) -> Joules {
        self.entries.iter().map(|entry| entry.energy).sum()
    }

    /// The energy of each pass that occurs.
    pub fn by_pass(&self) -> Shares<Pass> {
        let mut sums = Shares::default();
        for entry in &self.entries {
            sums.add(&entry.pass, entry.energy);
        }
        sums
    }

    /// The energy of each device that occurs.
    pub fn by_device(&self) -> Shares<Device> {
        let mut sums = Shares::default();
        for entry in &self.entries {
            sums.add(&entry.device, entry.energy);
        }
        sums
    }
}

impl From<&Footprint> for Tef {
    /// The entries whose operation and device the footprint names, which are all in a footprint that is well formed.
    fn from(footprint: &Footprint) -> Tef {
        let labels = Labels::of(&footprint.ops);
        let entry = |charged: &OpEnergy| {
            let op = footprint.ops.get(charged.op)?;
            let device = footprint.devices.get(charged.device)?.device.clone();
            let known = footprint.errors.iter().find(|errors| errors.device == charged.device);
            let known = known.filter(|_| charged.standard_error.is_some());
            let errors = known.and_then(|errors| errors.of(charged.op, charged.energy)).map(Box::new);
            Some(TefEntry {
                path: op.path.clone(),
                op_type: op.op_type.clone(),
                name: op.name.clone(),
                mark: labels.mark(charged.op).map(Box::from),
                pass: op.pass,
                approximate: op.approximate,
                device,
                energy: charged.energy,
                busy: charged.busy,
                count: charged.count,
                standard_error: charged.standard_error,
                errors,
            })
        };
        Tef::new(in_all_stages(footprint).iter().filter_map(entry).collect())
    }
}

/// What each operation used on each device, whatever the stage.
fn in_all_stages(footprint: &Footprint) -> Vec<OpEnergy> {
    let mut energies = footprint.energies.clone();
    if footprint.stages.len() > 1 {
        energies.sort_by_key(|charged| (charged.device, charged.op));
        energies.dedup_by(|more, charged| {
            let is_same = (more.device, more.op) == (charged.device, charged.op);
            if is_same {
                charged.add(more);
            }
            is_same
        });
    }
    energies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::entry;

    #[test]
    fn entries_rank_by_energy_then_path_and_by_power() {
        let slow = TefEntry { busy: Nanos(4_000_000_000), ..entry("slow", Pass::Forward, 8.0) };
        let idle = TefEntry { busy: Nanos(0), ..entry("idle", Pass::Forward, 9.0) };
        let tef = Tef::new(vec![
            entry("b", Pass::Forward, 3.0),
            slow,
            entry("a", Pass::Backward, 3.0),
            idle,
            entry("c", Pass::Backward, 5.0),
        ]);
        let paths =
            |entries: Vec<&TefEntry>| entries.iter().map(|entry| entry.path.to_string()).collect::<Vec<_>>();
        assert_eq!(paths(tef.entries().iter().collect()), ["idle", "slow", "c", "a", "b"]);
        assert_eq!(paths(tef.by_power()), ["c", "a", "b", "slow", "idle"]);
        assert_eq!(tef.by_power()[3].power(), Some(Watts(2.0)));
        assert_eq!(tef.by_power()[4].power(), None);
        assert_eq!(tef.total(), Joules(28.0));
        let passes = tef.by_pass();
        assert_eq!((passes.get(&Pass::Forward), passes.get(&Pass::Backward)), (Joules(20.0), Joules(8.0)));
        assert_eq!((passes.get(&Pass::Optimizer), passes.iter().len()), (Joules::ZERO, 2));
        assert_eq!(tef.by_device().iter().map(|(_, energy)| energy).collect::<Vec<_>>(), [Joules(28.0)]);
    }

    #[test]
    fn kinds_of_operations_are_sums() {
        let of = |path: &str, op_type: &str, pass, energy| TefEntry {
            op_type: op_type.into(),
            ..entry(path, pass, energy)
        };
        let tef = Tef::new(vec![
            of("a", "Mul", Pass::Forward, 1.0),
            of("b", "MatMul", Pass::Forward, 2.0),
            of("c", "MatMul", Pass::Backward, 4.0),
        ]);
        let types = tef.by_type();
        let found: Vec<(&str, f64, u64)> =
            types.iter().map(|kind| (&*kind.op_type, kind.energy.0, kind.count)).collect();
        assert_eq!(found, [("MatMul", 6.0, 2), ("Mul", 1.0, 1)]);
        assert_eq!((types[0].passes.get(&Pass::Backward), types[0].power()), (Joules(4.0), Some(Watts(3.0))));
        assert_eq!(types.iter().map(|kind| kind.energy).sum::<Joules>(), tef.total());
    }

    #[test]
    fn a_footprint_gives_its_entries_and_forgets_what_it_cannot_name() {
        use jouletree_model::{DeviceClass, DeviceEnergy, Op, OpId};
        let mut footprint = Footprint::default();
        footprint.devices.push(DeviceEnergy {
            device: Device::new(DeviceClass::Gpu, 1),
            total: None,
            attributed: Joules(2.0),
            unattributed: Joules::ZERO,
            outside_trace: Joules::ZERO,
            kind: None,
            busy: Nanos(5),
            metered: Nanos(5),
            uncovered: Nanos(0),
        });
        let (path, name) = ("dense/MatMul", "gradients/dense/MatMul_grad/MatMul");
        let op = footprint.ops.intern(Op::new(path, "MatMul", name, Pass::Backward));
        let charged = OpEnergy {
            device: 0,
            op,
            stage: 0,
            energy: Joules(2.0),
            busy: Nanos(5),
            count: 3,
            standard_error: None,
        };
        footprint.energies = vec![charged, OpEnergy { op: OpId(9), ..charged }, OpEnergy { device: 4, ..charged }];
        let tef = Tef::from(&footprint);
        assert_eq!(tef.entries().len(), 1);
        let entry = &tef.entries()[0];
        assert_eq!((&*entry.path, entry.pass, entry.count), ("dense/MatMul", Pass::Backward, 3));
        assert_eq!(entry.device.to_string(), "host/gpu:1");
    }
}
