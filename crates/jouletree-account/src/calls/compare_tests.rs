//! Comparisons of made-up calls whose sums can be done in the head.

use jouletree_model::DeviceClass;

use super::*;

fn call(project: &str, run: u32, call: u32, function: &str, class: DeviceClass, net: Option<f64>) -> CallEnergy {
    CallEnergy {
        project: project.into(),
        run,
        call,
        function: function.into(),
        device: Device::new(class, 0),
        duration: Nanos(2_000_000_000),
        input_bytes: None,
        net: net.map(Joules),
        tail: net.map(|_| Joules(0.5)),
    }
}

fn cpu(run: u32, number: u32, function: &str, net: Option<f64>) -> CallEnergy {
    call("p", run, number, function, DeviceClass::Cpu, net)
}

fn calls() -> Vec<CallEnergy> {
    let mut calls = vec![
        cpu(1, 0, "fit", Some(10.0)),
        cpu(1, 1, "fit", Some(30.0)),
        cpu(1, 2, "load", Some(5.0)),
        cpu(1, 3, "short", None),
        cpu(2, 0, "fit", Some(20.0)),
        cpu(2, 1, "fit", Some(40.0)),
        // Not in the other run's energy.
        cpu(2, 2, "short", Some(1.0)),
        cpu(2, 3, "load", Some(7.0)),
    ];
    // The GPU has no sample of the second load: it counts on no device.
    for index in 0..calls.len() {
        let mut twin = calls[index].clone();
        twin.device = Device::new(DeviceClass::Gpu, 0);
        twin.net = twin.net.filter(|_| !(twin.run == 2 && twin.call == 3)).map(|net| Joules(net.0 * 2.0));
        calls.push(twin);
    }
    calls
}

fn nets(calls: &[&CallEnergy]) -> Vec<f64> {
    calls.iter().filter(|call| call.device.class() == DeviceClass::Cpu).map(|call| call.net.unwrap().0).collect()
}

#[test]
fn fecom_counts_the_last_of_a_name_that_every_run_has() {
    let calls = calls();
    assert_eq!(nets(&chosen(&calls, Choice::LastOfName)), [30.0, 40.0]);
    assert_eq!(nets(&chosen(&calls, Choice::All)), [10.0, 30.0, 5.0, 20.0, 40.0, 1.0]);
}

#[test]
fn functions_are_summed_up() {
    let calls = calls();
    let found = functions(&chosen(&calls, Choice::All));
    let fit = found.iter().find(|row| &*row.function == "fit" && row.device.class() == DeviceClass::Gpu).unwrap();
    assert_eq!((fit.runs, fit.net.count, fit.net.mean, fit.net.median), (2, 4, 50.0, 50.0));
    assert_eq!((fit.net.min, fit.net.max, fit.seconds.mean, fit.input_bytes), (20.0, 80.0, 2.0, None));
    assert_eq!(found.len(), 6);
}

#[test]
fn sums_stand_against_the_whole() {
    let whole = |run, net| call("p", run, 0, "project-level", DeviceClass::Cpu, Some(net));
    let sums = projects(&calls(), &[whole(1, 90.0), whole(2, 110.0)]);
    let [of_project, all] = sums.as_slice() else { panic!("{sums:?}") };
    assert_eq!((of_project.project.as_deref(), all.project.as_deref()), (Some("p"), None));
    assert_eq!((all.whole, all.last_of_name, all.all_calls), (Joules(100.0), Joules(35.0), Joules(53.0)));
    assert_eq!((all.repeated(), all.outside()), (Joules(18.0), Joules(47.0)));
    assert_eq!((all.calls, all.without_energy, all.tails), (4.0, 1.0, Joules(1.5)));
    assert_eq!((all.ratio(Choice::LastOfName), all.ratio(Choice::All)), (Some(0.35), Some(0.53)));
    let tests = project_tests(&sums, Choice::LastOfName);
    assert_eq!(tests.len(), 1);
    assert_eq!(tests[0].larger.unwrap().p, 0.5);
    assert_eq!(tests[0].normality, Err(TestError::TooFew { found: 1, wanted: 3 }));
}

#[test]
fn sizes_are_fitted_through_the_means_of_steps() {
    let sized = |run, step: u32, net: f64| CallEnergy {
        input_bytes: Some(u64::from(step + 1) * 1_048_576),
        ..cpu(run, step, "fit", Some(net))
    };
    let calls = [sized(1, 0, 4.0), sized(1, 1, 8.0), sized(1, 2, 12.0), sized(2, 0, 6.0), sized(2, 2, 14.0)];
    let fits = sizes(&calls);
    assert_eq!((fits.len(), fits[0].calls, fits[0].points.len()), (1, 5, 3));
    let fitted = fits[0].line.unwrap();
    // Means 5, 8 and 13 at 1, 2 and 3 MiB.
    assert!((fitted.slope - 4.0).abs() < 1e-12 && (fitted.intercept - 2.0 / 3.0).abs() < 1e-12, "{fitted:?}");
    assert_eq!(sizes(&[cpu(1, 0, "fit", Some(4.0))])[0].line, Err(TestError::TooFew { found: 0, wanted: 2 }));
}
