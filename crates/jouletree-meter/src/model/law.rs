//! From busy time to energy: a straight line between idle and full power, three times, for three percentiles.

use jouletree_model::sampling::{Bounds, Mono};
use jouletree_model::{Joules, Nanos, Watts};

use super::family::Cpu;
use super::load::Load;

/// Servers of 2017 to 2026, whatever their processor: watts at the plug per hardware thread, of 609 published results.
const ANY_IDLE: Quantiles = Quantiles { p5: Watts(0.22), p50: Watts(0.63), p95: Watts(1.64) };
const ANY_FULL: Quantiles = Quantiles { p5: Watts(1.17), p50: Watts(3.35), p95: Watts(5.44) };

/// How servers of one family scatter around its mean: nine in ten lie between these, leaving each out in turn.
const FAMILY_IDLE: (f64, f64) = (0.45, 1.89);
const FAMILY_FULL: (f64, f64) = (0.70, 1.48);

/// How far the truth is from CodeCarbon's law on the four machines that it was published with: totals are between half of
/// it and twice as much.
const DESIGN_POWER: (f64, f64) = (0.5, 2.0);

/// Over how many seconds a load is taken whose third power matters: that of a tick is all or nothing.
const RECENT: f64 = 1.0;

/// The host of a virtual machine may be half empty, and its idle power is then shared by half as many.
const EMPTY_HOST: f64 = 2.0;

/// A power that is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// One in twenty is lower.
    pub p5: Watts,
    /// The middle.
    pub p50: Watts,
    /// One in twenty is higher.
    pub p95: Watts,
}

/// What a machine draws, by how busy its CPUs are.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerLaw {
    idle: Quantiles,
    full: Quantiles,
    /// What the idle power is to be multiplied by at most, for a host that others leave empty.
    emptiness: f64,
    /// Whether the powers are those of one hardware thread, and not of the machine.
    per_thread: bool,
    /// The power of the load that the power above idle goes with.
    exponent: i32,
    /// Whose power it is, or where it comes from.
    basis: String,
}

impl Quantiles {
    fn exactly(watts: Watts) -> Quantiles {
        Quantiles { p5: watts, p50: watts, p95: watts }
    }

    fn around(mean: Watts, (low, high): (f64, f64)) -> Quantiles {
        Quantiles { p5: Watts(mean.0 * low), p50: mean, p95: Watts(mean.0 * high) }
    }

    fn all(self) -> [f64; 3] {
        [self.p5.0, self.p50.0, self.p95.0]
    }
}

impl PowerLaw {
    /// By the family of the processor, or by what servers draw in general.
    pub fn of_cpu(cpu: &Cpu) -> PowerLaw {
        let (idle, full, basis) = match cpu.power() {
            Some(family) => (
                Quantiles::around(family.idle, FAMILY_IDLE),
                Quantiles::around(family.full, FAMILY_FULL),
                format!("a typical server with {} processors", family.name),
            ),
            None => (ANY_IDLE, ANY_FULL, "a typical server built since 2017".to_owned()),
        };
        let emptiness = if cpu.is_virtual { EMPTY_HOST } else { 1.0 };
        PowerLaw { idle, full, emptiness, per_thread: true, exponent: 1, basis }
    }

    /// By the powers of the whole machine that the user measured.
    pub fn of_pair(idle: Watts, full: Watts) -> PowerLaw {
        let (idle, full) = (Quantiles::exactly(idle), Quantiles::exactly(full));
        let basis = "wall power between --idle-watts and --full-watts".to_owned();
        PowerLaw { idle, full, emptiness: 1.0, per_thread: false, exponent: 1, basis }
    }

    /// By the design power of the processors, as CodeCarbon 3 computes it: a tenth of it always, the rest with the third
    /// power of the load of about the last second.
    pub fn of_design_power(power: Watts, basis: &str) -> PowerLaw {
        let around = |watts: f64| Quantiles::around(Watts(watts), DESIGN_POWER);
        let basis = format!("{basis} (CodeCarbon's law, for comparison)");
        let (idle, full) = (around(0.1 * power.0), around(power.0));
        PowerLaw { idle, full, emptiness: 1.0, per_thread: false, exponent: 3, basis }
    }

    /// What a machine with so many CPUs is taken to draw, in words.
    pub(super) fn basis(&self, cpus: u32) -> String {
        let (basis, plural) = (&self.basis, if cpus == 1 { "" } else { "s" });
        match (self.per_thread, self.emptiness > 1.0) {
            (true, true) => format!("this VM's share ({cpus} CPU{plural}) of the wall power of {basis}"),
            (true, false) => format!("wall power of {basis} ({cpus} CPU{plural})"),
            (false, _) => basis.clone(),
        }
    }

    pub(super) fn is_sensible(&self) -> bool {
        let (idle, full) = (self.idle.p50.0, self.full.p50.0);
        idle.is_finite() && full.is_finite() && idle >= 0.0 && full > idle
    }

    /// The median power of the machine with all its CPUs busy.
    pub(super) fn most(&self, cpus: u32) -> Watts {
        Watts(self.full.p50.0 * if self.per_thread { f64::from(cpus) } else { 1.0 })
    }

    /// The energies of some time in which the CPUs together were busy for `busy` seconds: one for each percentile. `load` is
    /// the part of their time in which they were busy lately.
    pub(super) fn energies(&self, cpus: u32, time: Nanos, busy: f64, load: f64) -> [Joules; 3] {
        let cpus = f64::from(cpus.max(1));
        // A pair is that of all threads together.
        let (idle_scale, busy_scale) = if self.per_thread { (cpus, 1.0) } else { (1.0, 1.0 / cpus) };
        let (idle, full, emptiness) = (self.idle.all(), self.full.all(), [1.0, 1.0, self.emptiness]);
        let busy = match self.exponent {
            1 => busy,
            exponent => cpus * time.seconds() * load.clamp(0.0, 1.0).powi(exponent),
        };
        std::array::from_fn(|i| {
            let always = idle_scale * idle[i] * emptiness[i] * time.seconds();
            Joules(always + busy_scale * (full[i] - idle[i]) * busy)
        })
    }

    /// The bounds at the load where they are widest; `None` when unknown.
    pub(super) fn widest_bounds(&self, cpus: u32) -> Option<Bounds> {
        let second = Nanos(1_000_000_000);
        let [idle, full] =
            [0.0, 1.0].map(|load| bounds(self.energies(cpus, second, f64::from(cpus.max(1)) * load, load)));
        let (idle, full) = (idle?, full?);
        Some(Bounds { low: idle.low.min(full.low), high: idle.high.max(full.high) })
    }
}

/// The factors between percentiles; `None` when there is nothing to compare or nothing between them.
fn bounds([low, middle, high]: [Joules; 3]) -> Option<Bounds> {
    (middle.0 > 0.0 && low < high).then(|| Bounds { low: low.0 / middle.0, high: high.0 / middle.0 })
}

/// Energy as it adds up.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    law: PowerLaw,
    last: Option<Mono>,
    load: Load,
    /// The time that the CPUs were busy lately, and all their time, each the less the longer it is ago.
    recent: (f64, f64),
    energies: [Joules; 3],
}

impl Estimate {
    pub(super) fn new(law: PowerLaw, load: Load) -> Estimate {
        Estimate { law, last: None, load, recent: (0.0, 0.0), energies: [Joules::ZERO; 3] }
    }

    /// Takes the load of the machine up to an instant; the first begins the count.
    pub(super) fn take(&mut self, at: Mono, load: Load) {
        if let Some(last) = self.last.replace(at) {
            let (time, busy) = (at - last, load.busy_since(&self.load));
            let fading = (-time.seconds() / RECENT).exp();
            let all = f64::from(load.cpus.max(1)) * time.seconds();
            self.recent = (self.recent.0 * fading + busy, self.recent.1 * fading + all);
            let lately = if self.recent.1 > 0.0 { self.recent.0 / self.recent.1 } else { 0.0 };
            for (energy, more) in self.energies.iter_mut().zip(self.law.energies(load.cpus, time, busy, lately)) {
                *energy += more;
            }
        }
        self.load = load;
    }

    pub(super) fn microjoules(&self) -> u64 {
        (self.energies[1].0 * 1e6) as u64
    }

    pub(super) fn bounds(&self) -> Option<Bounds> {
        bounds(self.energies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9 * right.abs().max(1.0), "{left} is not {right}");
    }

    #[test]
    fn an_unknown_processor_takes_the_prior() {
        // 4 CPUs for 10 s, of which they are busy for 25 %: 10 CPU seconds.
        let energies = PowerLaw::of_cpu(&Cpu::default()).energies(4, Nanos(10_000_000_000), 10.0, 0.25);
        near(energies[0].0, 4.0 * 0.22 * 10.0 + (1.17 - 0.22) * 10.0);
        near(energies[1].0, 4.0 * 0.63 * 10.0 + (3.35 - 0.63) * 10.0);
        near(energies[2].0, 4.0 * 1.64 * 10.0 + (5.44 - 1.64) * 10.0);
    }

    #[test]
    fn a_known_family_scatters_less_than_all_servers() {
        let text = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 207\n";
        let law = PowerLaw::of_cpu(&Cpu::parse(text));
        let energies = law.energies(2, Nanos(1_000_000_000), 2.0, 1.0);
        // All busy: twice the full power, whatever the idle power.
        for (energy, factor) in energies.iter().zip([0.70, 1.0, 1.48]) {
            near(energy.0, 2.0 * 4.482 * factor);
        }
        let idle = law.energies(2, Nanos(1_000_000_000), 0.0, 0.0);
        for (energy, factor) in idle.iter().zip([0.45, 1.0, 1.89]) {
            near(energy.0, 2.0 * 0.814 * factor);
        }
        let widest = law.widest_bounds(2).unwrap();
        near(widest.low, 0.45);
        near(widest.high, 1.89);
    }

    #[test]
    fn a_host_that_may_be_half_empty_doubles_the_idle_power_at_most() {
        let virtual_cpu = Cpu::parse("flags : hypervisor");
        let [own, guest] = [Cpu::default(), virtual_cpu].map(|cpu| {
            let law = PowerLaw::of_cpu(&cpu);
            [0.0, 3.0].map(|busy| law.energies(3, Nanos(1_000_000_000), busy, busy / 3.0))
        });
        for busy in [0, 1] {
            assert_eq!(own[busy][..2], guest[busy][..2]);
            near(guest[busy][2].0 - own[busy][2].0, 3.0 * 1.64);
        }
    }

    #[test]
    fn a_measured_pair_is_that_of_the_machine_and_has_no_known_error() {
        let law = PowerLaw::of_pair(Watts(40.0), Watts(140.0));
        let energies = law.energies(8, Nanos(2_000_000_000), 8.0, 0.5);
        // Half busy for two seconds.
        near(energies[1].0, 2.0 * 90.0);
        assert_eq!(law.widest_bounds(8), None);
        assert!(law.is_sensible());
        for (idle, full) in [(140.0, 40.0), (-1.0, 5.0), (f64::NAN, 5.0), (1.0, f64::INFINITY)] {
            assert!(!PowerLaw::of_pair(Watts(idle), Watts(full)).is_sensible());
        }
    }

    /// 0.1 + 0.9 u³ of the design power, as CodeCarbon's own answers for 100 W have it.
    #[test]
    fn design_power_goes_with_the_third_power_of_the_load() {
        let law = PowerLaw::of_design_power(Watts(100.0), "100 W");
        for (load, watts) in
            [(0.0, 10.0), (0.1, 10.09), (0.25, 11.40625), (0.5, 21.25), (0.9, 75.61), (1.0, 100.0)]
        {
            near(law.energies(4, Nanos(1_000_000_000), 4.0 * load, load)[1].0, watts);
        }
    }

    #[test]
    fn energy_adds_up_and_so_do_its_bounds() {
        let load = |ticks| Load { busy_ticks: ticks, ticks_per_second: 100, cpus: 2 };
        let mut estimate = Estimate::new(PowerLaw::of_cpu(&Cpu::default()), load(1000));
        estimate.take(Mono(5), load(1100));
        assert_eq!((estimate.microjoules(), estimate.bounds()), (0, None));
        // A second of nothing, then a second of both CPUs busy.
        estimate.take(Mono(1_000_000_005), load(1100));
        assert_eq!(estimate.microjoules(), 1_260_000);
        estimate.take(Mono(2_000_000_005), load(1300));
        near(estimate.microjoules() as f64, 1_260_000.0 + 6_700_000.0);
        let bounds = estimate.bounds().unwrap();
        near(bounds.low, (2.0 * 0.22 + 2.0 * 1.17) / 7.96);
        near(bounds.high, (2.0 * 1.64 + 2.0 * 5.44) / 7.96);
    }
}
