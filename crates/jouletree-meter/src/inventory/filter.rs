//! Processors that blur their own counters.

use std::fs;

use jouletree_host::Roots;

/// What to know about a processor with SGX: its microcode may add noise to the counters, so that programs cannot spy on
/// each other through them. `None` where there is no SGX.
pub fn energy_filter(roots: &Roots) -> Option<String> {
    let processor = fs::read_to_string(roots.proc.join("cpuinfo")).ok()?;
    let has_sgx = |line: &str| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "sgx");
    processor.lines().any(has_sgx).then(|| {
        "this processor has SGX switched on, and then its microcode may add noise to its counters of energy: short \
         stretches can be far off, long ones are not. Where nothing needs SGX, switch it off in the firmware's setup"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_flag_itself_counts() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots { proc: folder.path().into(), ..Roots::default() };
        let with = |text: &str| {
            fs::write(folder.path().join("cpuinfo"), text).unwrap();
            energy_filter(&roots)
        };
        assert!(with("processor\t: 0\nflags\t\t: fpu sgx tsc\n").is_some());
        assert!(with("flags\t\t: fpu tsc sgx_lc\nmodel name : sgx\n").is_none());
        assert!(energy_filter(&Roots { proc: "no such folder".into(), ..Roots::default() }).is_none());
    }
}
