//! One zone while it is played.

use std::io;
use std::time::Duration;

use crate::random::Random;
use crate::ticks::Ticks;
use crate::tree::ZoneFiles;
use crate::{Fault, Mishap, Oracle, Start, ZoneSpec};

const REGISTER: u64 = 1 << 32;

#[derive(Debug)]
pub(crate) struct PlayedZone {
    pub spec: ZoneSpec,
    pub files: ZoneFiles,
    pub ticks: Ticks,
    /// Where its register began, in steps.
    start: u64,
    faults: Vec<Fault>,
}

impl PlayedZone {
    pub fn new(
        spec: ZoneSpec,
        files: ZoneFiles,
        start: Start,
        seed: u64,
        faults: &[Fault],
        oracle: &Oracle,
    ) -> PlayedZone {
        let mut random = Random::new(seed, &format!("start of {}", spec.key));
        let steps = |joules: f64| (joules * 1e9 / spec.step_nj as f64) as u64;
        let start = match start {
            Start::Anywhere => random.bits() % (REGISTER / 2),
            Start::At(count) => steps(count.0) % REGISTER,
            Start::BeforeWrap(time) => REGISTER - 1 - steps(oracle.by(&spec.key, time)) % REGISTER,
        };
        let ticks = Ticks::new(seed, &spec.key);
        let faults = faults.iter().filter(|fault| fault.hits(&spec.key)).cloned().collect();
        PlayedZone { spec, files, ticks, start, faults }
    }

    /// Shows the register at an update, or what goes wrong then.
    pub fn publish(&mut self, time: Duration, oracle: &Oracle) -> io::Result<()> {
        let holding = self.faults.iter().filter(|fault| fault.holds(time)).map(|fault| fault.mishap);
        let worst = holding.max_by_key(|mishap| gravity(*mishap)).filter(|mishap| gravity(*mishap) > 0);
        match worst {
            Some(Mishap::Vanish) => self.files.vanish(),
            Some(Mishap::Refuse) => self.files.refuse(),
            Some(Mishap::Empty) => self.files.empty(),
            Some(Mishap::Garbage) => self.files.show("not a number"),
            Some(Mishap::Beyond) => self.files.show(&(self.spec.range() + 1).to_string()),
            // What is shown at the very beginning is the start, even of a frozen counter.
            Some(Mishap::Freeze) if !time.is_zero() => Ok(()),
            _ => {
                let count = self.count(time, oracle);
                self.files.show(&count.to_string())
            }
        }
    }

    /// What the kernel would show, in microjoules.
    fn count(&self, time: Duration, oracle: &Oracle) -> u64 {
        let used = oracle.by(&self.spec.key, time) * 1e9 / self.spec.step_nj as f64;
        let back: f64 = self.faults.iter().filter(|fault| fault.holds(time)).map(set_back).sum();
        let back = (back * 1e9 / self.spec.step_nj as f64) as u64 % REGISTER;
        let steps = self.start.wrapping_add(used as u64).wrapping_sub(back) % REGISTER;
        steps * self.spec.step_nj / 1000
    }
}

/// Of several faults at once, the gravest shows; zero for those that do not change what the file is.
fn gravity(mishap: Mishap) -> u8 {
    match mishap {
        Mishap::Vanish => 6,
        Mishap::Refuse => 5,
        Mishap::Empty => 4,
        Mishap::Garbage => 3,
        Mishap::Beyond => 2,
        Mishap::Freeze => 1,
        Mishap::Back(_) | Mishap::Jump(_) => 0,
    }
}

fn set_back(fault: &Fault) -> f64 {
    if let Mishap::Back(by) = fault.mishap { by.0 } else { 0.0 }
}
