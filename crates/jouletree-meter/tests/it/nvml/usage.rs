//! What GPUs do and for whom.

use std::collections::HashSet;

use fake_nvml::{Busy, Gpu};
use jouletree_meter::{ReadError, nvml};
use jouletree_model::sampling::{GpuShare, GpuUse, ShareBasis};

use super::Machine;

fn busy() -> Gpu {
    Gpu { process: vec![Busy { pid: 10, sm: 60 }, Busy { pid: 11, sm: 20 }], ..Gpu::default() }
}

fn pids(pids: &[u32]) -> HashSet<u32> {
    pids.iter().copied().collect()
}

#[test]
fn the_use_of_a_gpu_is_told() {
    let machine = Machine::with(vec![busy()]);
    let gpus = nvml::gpus(&machine.roots).unwrap();
    let expected = GpuUse {
        busy: Some(0.8),
        memory_busy: Some(0.4),
        memory_used: Some(3 << 30),
        memory_total: Some(16 << 30),
        sm_clock: Some(1410),
        memory_clock: Some(877),
        temperature: Some(61),
    };
    assert_eq!(gpus[0].use_now().unwrap(), expected);
    assert_eq!(gpus[0].uuid().unwrap(), "GPU-fake-0");
}

#[test]
fn what_a_gpu_does_not_tell_is_missing_and_nothing_else() {
    let machine = Machine::with(vec![busy()]).lacking("nvmlDeviceGetTemperature");
    let used = nvml::gpus(&machine.roots).unwrap()[0].use_now().unwrap();
    assert_eq!((used.temperature, used.busy), (None, Some(0.8)));
}

#[test]
fn a_lost_gpu_tells_nothing() {
    let machine = Machine::with(vec![Gpu { lost_at_s: Some(0.0), ..busy() }]);
    let used = nvml::gpus(&machine.roots).unwrap()[0].use_now();
    assert!(matches!(used, Err(ReadError::Gone(_))), "{used:?}");
}

#[test]
fn shares_follow_the_time_on_the_processors() {
    let machine = Machine::with(vec![busy(), Gpu { mig: true, ..busy() }]);
    let gpus = nvml::gpus(&machine.roots).unwrap();
    let share = |ours: &[u32]| gpus[0].share_of(&pids(ours)).unwrap();
    assert_eq!(share(&[10]), Some(GpuShare { share: 0.75, basis: ShareBasis::Utilisation }));
    assert_eq!(share(&[10, 11, 12]), Some(GpuShare { share: 1.0, basis: ShareBasis::Alone }));
    // Processes that the GPU does not know may have other numbers in a container: that is no share of zero.
    assert_eq!(share(&[99]), None);
    assert!(gpus[1].is_cut_into_instances().unwrap() && !gpus[0].is_cut_into_instances().unwrap());
    assert_eq!(gpus[1].share_of(&pids(&[10])).unwrap(), None);
}
