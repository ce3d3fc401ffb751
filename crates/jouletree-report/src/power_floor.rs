//! Of which operations the power means something. An operation that is shorter than the readings of its meter has the power of
//! its neighbours, and one with next to no energy any power at all.

use jouletree_account::{Tef, TefEntry};
use jouletree_model::{Device, Joules, MeteredSeries, Nanos};

/// An operation needs this part of the energy of all operations,
const ENERGY: f64 = 0.005;
/// and to have run as long as so many readings, all its executions together.
const READINGS: i64 = 3;

/// How long operations must have run on each device.
#[derive(Debug, Clone, Default)]
pub struct PowerFloor(Vec<(Device, Nanos)>);

impl PowerFloor {
    /// By the readings of recorded power.
    pub fn of(power: &[MeteredSeries]) -> PowerFloor {
        let wholes = power.iter().filter(|metered| metered.domain.is_none());
        let floor = wholes.filter_map(|metered| {
            let readings = i64::try_from(metered.series.points().len()).ok()?.saturating_sub(1).max(1);
            let extent = metered.series.extent()?.duration();
            Some((metered.device.clone(), Nanos((extent.0 / readings).saturating_mul(READINGS))))
        });
        PowerFloor(floor.collect())
    }

    /// The same with devices under other names.
    pub fn on(&self, name: &dyn Fn(&Device) -> Device) -> PowerFloor {
        PowerFloor(self.0.iter().map(|(device, time)| (name(device), *time)).collect())
    }

    /// How long the operations of a device must have run.
    pub fn of_device(&self, device: &Device) -> Nanos {
        self.0.iter().find(|(known, _)| known == device).map_or(Nanos(1), |(_, time)| *time)
    }

    /// The part of the energy of all operations that an operation needs.
    pub const ENERGY: f64 = ENERGY;

    /// Whether the power of an operation means something, `total` being the energy of all operations.
    pub fn is_known(&self, entry: &TefEntry, total: Joules) -> bool {
        let needed = self.of_device(&entry.device);
        entry.energy.0 >= ENERGY * total.0 && entry.energy.0 > 0.0 && entry.busy >= needed
    }

    /// The operations whose power means something, the largest power first.
    pub fn ranked<'a>(&self, tef: &'a Tef) -> Vec<&'a TefEntry> {
        let total = tef.total();
        tef.by_power().into_iter().filter(|entry| self.is_known(entry, total)).collect()
    }

    /// What operations need, in words.
    pub fn words(&self) -> String {
        let longest = self.0.iter().map(|(_, time)| *time).max();
        let time = longest.map(|time| format!(" ({time})")).unwrap_or_default();
        format!(
            "only operations with {} % of the energy and as long as {READINGS} readings{time}; shorter ones have the power of \
             their neighbours",
            100.0 * ENERGY
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::{DeviceClass, Pass};

    #[test]
    fn short_and_small_operations_have_no_power_of_their_own() {
        let cpu = Device::new(DeviceClass::Cpu, 0);
        let entry = |path: &str, energy, busy| TefEntry {
            path: path.into(),
            op_type: "x".into(),
            name: path.into(),
            mark: None,
            pass: Pass::Forward,
            approximate: false,
            device: cpu.clone(),
            energy: Joules(energy),
            busy: Nanos(busy),
            count: 1,
            standard_error: None,
            errors: None,
        };
        let floor = PowerFloor(vec![(cpu.clone(), Nanos(60))]);
        let tef = Tef::new(vec![
            entry("large", 900.0, 100),
            entry("hot", 95.0, 60),
            entry("short", 50.0, 59),
            entry("small", 4.0, 80),
        ]);
        let names: Vec<&str> = floor.ranked(&tef).iter().map(|entry| &*entry.path).collect();
        assert_eq!(names, ["large", "hot"]);
        let unknown: Vec<&str> = PowerFloor::default().ranked(&tef).iter().map(|entry| &*entry.path).collect();
        assert_eq!(unknown, ["large", "hot", "short"]);
        assert!(floor.words().contains("0.5 %"));
    }
}
