//! The tensor energy footprint (TEF): what every tensor operation used, the largest consumer first.
//!
//! The tensor power footprint (TPF) is the same entries ranked by average power.

use std::cmp::Ordering;

use jouletree_model::{Device, Footprint, Joules, Nanos, OpEnergy, Pass, Watts};

use crate::Shares;

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
}

impl TefEntry {
    /// Its average power while it was active; `None` when it never was.
    pub fn power(&self) -> Option<Watts> {
        (self.busy > Nanos(0)).then(|| self.energy / self.busy)
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
        let entry = |charged: &OpEnergy| {
            let op = footprint.ops.get(charged.op)?;
            let device = footprint.devices.get(charged.device)?.device.clone();
            Some(TefEntry {
                path: op.path.clone(),
                op_type: op.op_type.clone(),
                name: op.name.clone(),
                pass: op.pass,
                approximate: op.approximate,
                device,
                energy: charged.energy,
                busy: charged.busy,
                count: charged.count,
                standard_error: charged.standard_error,
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
