//! Why there is no measured energy of the processor, in one message.

use std::fmt;

use super::{Absent, Inventory, is_processor, short};
use crate::{Found, Unusable};
use jouletree_model::Kind;

/// Measured numbers are required, and nothing here measures the processor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NotMeasured {
    /// What was tried, and what would help.
    pub tried: Vec<(String, Unusable)>,
}

impl NotMeasured {
    pub(super) fn of(inventory: &Inventory) -> NotMeasured {
        let is_meter = |found: &&Found| is_processor(found) && found.info.kind != Kind::Estimated;
        let of_found = |found: &Found| {
            let why = found.sensor.as_ref().err()?.clone();
            Some((format!("{} from {}", short(found), found.info.source), why))
        };
        let of_absent = |Absent { source, why }: &Absent| ((*source).to_owned(), why.clone());
        // Cards say nothing about the processor.
        let absent = inventory.absent.iter().filter(|absent| absent.source != "NVML").map(of_absent);
        let tried = inventory.found.iter().filter(is_meter).filter_map(of_found).chain(absent).collect();
        NotMeasured { tried }
    }
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("measured numbers are required, and nothing here measures the processor:")?;
        for (what, why) in &self.tried {
            write!(f, "\n  {what}: {}", why.reason)?;
        }
        let mut remedies: Vec<&str> = self.tried.iter().filter_map(|(_, why)| why.remedy.as_deref()).collect();
        remedies.dedup();
        for remedy in remedies {
            write!(f, "\nto mend it, {remedy}")?;
        }
        f.write_str(
            "\na meter of your own measures it, too: --meter cpu:0=FILE; without --require there is an estimate",
        )
    }
}
