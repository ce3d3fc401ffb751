//! What goes wrong ends in a gap or in words, never in a wrong number, a hang or a panic.

use std::time::{Duration, Instant};

use fake_nvml::{Gpu, Hang, Power, Script};
use jouletree_host::{Now, Roots};
use jouletree_meter::slow::{DEADLINE, Deadlined};
use jouletree_meter::{ReadError, Sensor, nvml};
use punctual::punctually;

use super::{Machine, until};

fn gpu() -> Gpu {
    Gpu { power: Power::Ramp { from: 50.0, to: 250.0, seconds: 4.0 }, ..Gpu::default() }
}

#[test]
fn a_lost_gpu_is_gone() {
    let machine = Machine::with(vec![Gpu { lost_at_s: Some(1.2), ..gpu() }]);
    let mut sensor = Deadlined::start(machine.sensor(), DEADLINE).unwrap();
    assert!(sensor.read().is_ok());
    let error = until(|| sensor.read(), Result::is_err).unwrap_err();
    assert!(matches!(error, ReadError::Gone(_)), "{error}");
    for _ in 0..100 {
        assert!(matches!(sensor.read(), Err(ReadError::Gone(_))));
        std::thread::sleep(Duration::from_millis(3));
    }
}

#[test]
fn a_gpu_that_is_no_longer_counted_is_gone_and_the_other_stays() {
    let machine = Machine::with(vec![gpu(), Gpu { gone_at_s: Some(1.2), ..gpu() }]);
    let mut found = machine.find();
    let mut second = found.remove(1).sensor.unwrap();
    let mut first = found.remove(0).sensor.unwrap();
    assert!(second.read().is_ok());
    let error = until(|| second.read(), Result::is_err).unwrap_err();
    assert!(matches!(error, ReadError::Gone(_)), "{error}");
    assert!(first.read().is_ok());
}

#[test]
fn a_hang_is_late_then_over_and_the_counter_has_counted_on() {
    punctually(hangs_and_goes_on);
}

fn hangs_and_goes_on() {
    let machine = Machine::with(vec![Gpu { hang: vec![Hang { at_s: 1.5, for_ms: Some(300.0) }], ..gpu() }]);
    let mut sensor = Deadlined::start(machine.sensor(), DEADLINE).unwrap();
    let before = sensor.read().unwrap();
    let mut longest = Duration::ZERO;
    let mut read = || {
        let begin = Instant::now();
        let said = sensor.read();
        longest = longest.max(begin.elapsed());
        said
    };
    let late = until(&mut read, Result::is_err).unwrap_err();
    assert!(matches!(late, ReadError::Late(time) if time > DEADLINE), "{late}");
    let after = until(&mut read, Result::is_ok).unwrap();
    assert!(longest < Duration::from_millis(50), "a reading took {longest:?}");
    assert!(machine.seconds(jouletree_model::sampling::Mono::now()) >= 1.8);
    // At least 100 W during 0.3 s.
    assert!(after - before > 30_000_000, "{} µJ", after - before);
}

#[test]
fn a_hang_is_a_gap_where_power_is_integrated() {
    let hang = vec![Hang { at_s: 1.5, for_ms: Some(400.0) }];
    let machine = Machine::with(vec![Gpu { hang, ..gpu() }.without_counter()]);
    let mut sensor = machine.sensor();
    let mut before = sensor.read().unwrap();
    let error = until(|| sensor.read().inspect(|count| before = *count), Result::is_err);
    assert!(matches!(error, Err(ReadError::Unwatched(_))), "{error:?}");
    let after = sensor.read().unwrap();
    // What happened meanwhile, at least 40 J, is not guessed.
    assert!(after - before < 5_000_000, "{} µJ", after - before);
}

#[test]
fn a_hang_for_ever_does_not_hold_up_the_end() {
    let machine = Machine::with(vec![Gpu { hang: vec![Hang { at_s: 1.2, for_ms: None }], ..gpu() }]);
    let mut sensor = Deadlined::start(machine.sensor(), DEADLINE).unwrap();
    assert!(sensor.read().is_ok());
    let error = until(|| sensor.read(), Result::is_err).unwrap_err();
    assert!(matches!(error, ReadError::Late(_)), "{error}");
    let begin = Instant::now();
    drop(sensor);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn a_counter_that_stops_is_stuck_until_it_moves_again() {
    let machine = Machine::with(vec![Gpu { stall_s: Some((1.0, 4.0)), ..gpu() }]);
    let mut sensor = machine.sensor();
    machine.wait_for(1.1);
    let count = sensor.read().unwrap();
    let error = until(|| sensor.read(), Result::is_err).unwrap_err();
    assert!(matches!(error, ReadError::Stuck(_)), "{error}");
    let again = until(|| sensor.read(), Result::is_ok).unwrap();
    assert!(again > count);
}

#[test]
fn a_counter_that_never_moves_is_left_for_power() {
    let machine = Machine::with(vec![Gpu { stall_s: Some((0.0, 1e9)), ..gpu() }]);
    let mut sensor = machine.sensor();
    let source = &sensor.info().source;
    assert!(source.ends_with("energy counter is stuck; instant power"), "{source}");
    let first = sensor.read().unwrap();
    until(|| sensor.read().unwrap(), |count| *count > first);
}

#[test]
fn without_the_library_it_says_where_to_get_it() {
    let roots = Roots { nvml: Some("/nowhere/libnvidia-ml.so.1".into()), ..Roots::default() };
    let found = nvml::find(&roots);
    let unusable = found[0].sensor.as_ref().err().unwrap();
    assert!(unusable.reason.contains("/nowhere/libnvidia-ml.so.1"), "{}", unusable.reason);
    assert!(unusable.remedy.as_ref().unwrap().contains("libnvidia-compute"), "{:?}", unusable.remedy);
    assert!(nvml::gpus(&roots).is_err());
}

#[test]
fn without_a_driver_or_a_gpu_it_says_what_to_do() {
    let unloaded = Machine::playing(Script { init_error: Some(9), ..Script::default() }).refusal();
    assert!(unloaded.reason.contains("driver is not loaded"), "{}", unloaded.reason);
    assert!(unloaded.remedy.unwrap().contains("nvidia-smi"));
    let updated = Machine::playing(Script { init_error: Some(18), ..Script::default() }).refusal();
    assert!(updated.reason.contains("updated"), "{}", updated.reason);
    let empty = Machine::with(Vec::new()).refusal();
    assert!(empty.reason.contains("no GPU"), "{}", empty.reason);
}

#[test]
fn a_gpu_without_any_power_is_found_and_not_usable() {
    let mute = Gpu { power_usage: false, instant_power: false, ..gpu() }.without_counter();
    let machine = Machine::with(vec![mute, gpu()]);
    let found = machine.find();
    let unusable = found[0].sensor.as_ref().err().unwrap();
    assert!(unusable.reason.contains("neither energy nor power"), "{}", unusable.reason);
    assert_eq!(found[0].info.device.to_string(), "host/gpu:0");
    assert!(found[1].sensor.is_ok());
}

#[test]
fn libraries_that_lack_functions_do_no_harm() {
    let refusal = Machine::with(vec![gpu()]).lacking("nvmlInit_v2").refusal();
    assert!(refusal.reason.contains("is not NVIDIA's management library"), "{}", refusal.reason);

    // Without care, its absence is a panic when the library is let go.
    let machine = Machine::with(vec![gpu()]).lacking("nvmlShutdown");
    let mut sensor = machine.sensor();
    assert!(sensor.read().is_ok());
    drop(sensor);

    let machine = Machine::with(vec![gpu()]).lacking("nvmlDeviceGetTotalEnergyConsumption");
    assert!(machine.sensor().info().source.ends_with("instant power"));
}

/// Runs itself again with the script named by the environment, as programs that are tested from outside are run.
#[test]
fn the_environment_names_the_script() {
    const CHILD: &str = "JOULETREE_TEST_LIBRARY";
    if let Some(library) = std::env::var_os(CHILD) {
        let roots = Roots { nvml: Some(library.into()), ..Roots::default() };
        assert_eq!(nvml::find(&roots).len(), 3);
        return;
    }
    let machine = Machine::with(vec![gpu()]);
    let library = machine.roots.nvml.clone().unwrap();
    let script = library.with_file_name("three.toml");
    std::fs::write(&script, "[[gpu]]\n[[gpu]]\n[[gpu]]\nupdate_ms = 50.0\n").unwrap();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nvml::faults::the_environment_names_the_script"])
        .env("FAKE_NVML_SCRIPT", script)
        .env(CHILD, library)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
