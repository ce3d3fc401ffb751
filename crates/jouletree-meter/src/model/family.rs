//! The processor's family, by the numbers that processors give themselves, and what servers with it draw.
//!
//! The watts of families are those of Cloud Carbon Footprint (ccf-coefficients, Apache-2.0, the rows for AWS), which are
//! means over published SPECpower results: power of the whole server at the plug, doing nothing and at full load,
//! divided by its hardware threads. Left out are families whose rows are copies of another's (Graviton) or differ
//! by a factor of four (EPYC of the fifth generation).

use jouletree_model::Watts;

/// A processor as the system describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cpu {
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
    name: String,
    /// Whether it is that of a virtual machine, whose host may have others.
    pub is_virtual: bool,
}

/// What servers with processors of a family draw, per hardware thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FamilyPower {
    pub(super) name: &'static str,
    pub(super) idle: Watts,
    pub(super) full: Watts,
}

const fn power(name: &'static str, idle: f64, full: f64) -> FamilyPower {
    FamilyPower { name, idle: Watts(idle), full: Watts(full) }
}

const SANDY_BRIDGE: FamilyPower = power("Sandy Bridge", 2.2122, 8.6309);
const IVY_BRIDGE: FamilyPower = power("Ivy Bridge", 1.7074, 5.5569);
const HASWELL: FamilyPower = power("Haswell", 1.8574, 5.5954);
const BROADWELL: FamilyPower = power("Broadwell", 0.7128, 3.6853);
const SKYLAKE: FamilyPower = power("Skylake", 0.613, 4.1042);
const CASCADE_LAKE: FamilyPower = power("Cascade Lake", 0.6903, 4.0632);
const COFFEE_LAKE: FamilyPower = power("Coffee Lake", 1.1384, 5.4218);
const ICE_LAKE: FamilyPower = power("Ice Lake", 0.7668, 3.7582);
const SAPPHIRE_RAPIDS: FamilyPower = power("Sapphire Rapids", 1.0363, 4.1605);
const EMERALD_RAPIDS: FamilyPower = power("Emerald Rapids", 0.814, 4.482);
const GRANITE_RAPIDS: FamilyPower = power("Granite Rapids", 0.5816, 2.5275);
const EPYC_1: FamilyPower = power("EPYC, 1st generation", 0.8468, 2.6042);
const EPYC_2: FamilyPower = power("EPYC, 2nd generation", 0.4743, 1.693);
const EPYC_3: FamilyPower = power("EPYC, 3rd generation", 0.4556, 1.9573);
const EPYC_4: FamilyPower = power("EPYC, 4th generation", 0.7391, 2.2822);

impl Cpu {
    /// Reads the first processor of `/proc/cpuinfo`; what it does not say stays empty.
    pub fn parse(cpuinfo: &str) -> Cpu {
        let first = cpuinfo.split("\n\n").next().unwrap_or_default();
        let field = |wanted: &str| {
            let pairs = first.lines().filter_map(|line| line.split_once(':'));
            pairs.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == wanted)
        };
        let text = |wanted: &str| field(wanted).map_or("", |(_, value)| value);
        let number = |wanted: &str| text(wanted).parse().unwrap_or(0);
        Cpu {
            vendor: text("vendor_id").to_owned(),
            family: number("cpu family"),
            model: number("model"),
            stepping: number("stepping"),
            name: text("model name").to_owned(),
            is_virtual: text("flags").split(' ').any(|flag| flag == "hypervisor"),
        }
    }

    /// What servers with such processors draw; `None` when no table knows.
    pub(super) fn power(&self) -> Option<FamilyPower> {
        let is_epyc = self.vendor == "AuthenticAMD" && self.name.contains("EPYC");
        let is_intel = self.vendor == "GenuineIntel";
        match (self.family, self.model) {
            (6, 45) if is_intel => Some(SANDY_BRIDGE),
            (6, 62) if is_intel => Some(IVY_BRIDGE),
            (6, 63) if is_intel => Some(HASWELL),
            (6, 79 | 86) if is_intel => Some(BROADWELL),
            (6, 85) if is_intel && self.stepping <= 4 => Some(SKYLAKE),
            // Later steppings are Cooper Lake, of which the table says nothing.
            (6, 85) if is_intel && self.stepping <= 7 => Some(CASCADE_LAKE),
            // Earlier steppings are Kaby Lake.
            (6, 158) if is_intel && self.stepping >= 10 => Some(COFFEE_LAKE),
            (6, 106 | 108) if is_intel => Some(ICE_LAKE),
            (6, 143) if is_intel => Some(SAPPHIRE_RAPIDS),
            (6, 207) if is_intel => Some(EMERALD_RAPIDS),
            (6, 173 | 174) if is_intel => Some(GRANITE_RAPIDS),
            (23, 1) if is_epyc => Some(EPYC_1),
            (23, 49) if is_epyc => Some(EPYC_2),
            (25, 0 | 1) if is_epyc => Some(EPYC_3),
            (25, 17 | 160) if is_epyc => Some(EPYC_4),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: u32, model: u32, stepping: u32, name: &str) -> Option<&'static str> {
        let text = format!(
            "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {name}\n\
             stepping\t: {stepping}\nflags\t\t: fpu vme\n\nprocessor\t: 1\nvendor_id\t: other\n"
        );
        Cpu::parse(&text).power().map(|power| power.name)
    }

    #[test]
    fn families_are_told_by_their_numbers() {
        let intel = |model, stepping| cpu("GenuineIntel", 6, model, stepping, "Intel(R) Xeon(R) CPU");
        assert_eq!(intel(85, 4), Some("Skylake"));
        assert_eq!(intel(85, 7), Some("Cascade Lake"));
        assert_eq!(intel(85, 11), None);
        assert_eq!(intel(207, 2), Some("Emerald Rapids"));
        assert_eq!(intel(1, 1), None);
        assert_eq!(cpu("AuthenticAMD", 25, 1, 1, "AMD EPYC 7763 64-Core Processor"), Some("EPYC, 3rd generation"));
        // Other chips of the same design are not in servers.
        assert_eq!(cpu("AuthenticAMD", 23, 1, 1, "AMD Ryzen 7 1700"), None);
        assert_eq!(cpu("AuthenticAMD", 6, 85, 4, "AMD EPYC"), None);
    }

    #[test]
    fn a_description_that_says_nothing_is_no_family() {
        let arm = "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\n";
        for text in [arm, "", "model : x\n"] {
            assert_eq!(Cpu::parse(text).power(), None);
        }
        assert!(Cpu::parse("flags\t: fpu hypervisor lahf_lm\n").is_virtual);
        assert!(!Cpu::parse("flags\t: fpu hypervisorish\n").is_virtual);
    }
}
