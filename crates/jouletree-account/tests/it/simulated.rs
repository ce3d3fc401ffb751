//! Attribution on simulated programs, whose every operation has a known energy.

use jouletree_account::{Attribution, Explained, Metered, Semantics, Tef, account_explained, t2e};
use jouletree_model::Kind;
use test_support::simulator::scenarios::{Run, Scenario, all, device, random};

/// How far an attribution is off, in percent of all energy; and how many intervals of 90 % hold.
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    by_op: f64,
    by_layer: f64,
    by_type: f64,
    by_pass: f64,
    held: f64,
    held_energy: f64,
    layers_held: f64,
}

fn explained(run: &Run, attribution: Attribution) -> Explained {
    let device = device();
    let power = [Metered { device: &device, kind: Kind::Measured, series: &run.series }];
    account_explained(&run.trace, &power, Semantics::Exact, attribution).unwrap()
}

fn errors(run: &Run, explained: &Explained) -> Errors {
    let ops = &run.program.operations;
    let mut found = vec![0.0; ops.len()];
    let (mut held, mut held_energy) = (0.0, 0.0);
    let total: f64 = run.truth.iter().sum();
    for charged in &explained.footprint.energies {
        let op = charged.op.index();
        found[op] = charged.energy.0;
        let error = charged.standard_error.map_or(0.0, |error| error.0);
        if (found[op] - run.truth[op]).abs() <= 1.645 * error {
            held += 1.0 / ops.len() as f64;
            held_energy += run.truth[op] / total;
        }
    }
    let off = |key: &dyn Fn(usize) -> String| {
        let mut sums = std::collections::BTreeMap::<String, f64>::new();
        for op in 0..ops.len() {
            *sums.entry(key(op)).or_default() += found[op] - run.truth[op];
        }
        100.0 * sums.values().map(|off| off.abs()).sum::<f64>() / total
    };
    let tree = t2e(&Tef::from(&explained.footprint), &[]);
    let layers: Vec<_> = tree.children.iter().filter(|node| node.name.starts_with("layer_")).collect();
    let layers_held = layers.iter().filter(|node| {
        let of = |op: &usize| format!("layer_{}", ops[*op].layer.unwrap_or(usize::MAX)) == node.name;
        let truth: f64 = (0..ops.len()).filter(of).map(|op| run.truth[op]).sum();
        (node.energy.0 - truth).abs() <= 1.645 * node.standard_error.map_or(0.0, |error| error.0)
    });
    Errors {
        by_op: off(&|op| op.to_string()),
        by_layer: off(&|op| format!("{:?}", ops[op].layer)),
        by_type: off(&|op| ops[op].kind.to_owned()),
        by_pass: off(&|op| format!("{:?}", ops[op].pass)),
        held,
        held_energy,
        layers_held: layers_held.count() as f64 / layers.len() as f64,
    }
}

#[test]
#[ignore]
fn sweep() {
    let wanted = std::env::var("SCENARIO").unwrap_or_default();
    let seeds: u64 = std::env::var("SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    for scenario in all().iter().filter(|scenario| scenario.name.starts_with(&wanted)) {
        for seed in 0..seeds {
            let run = scenario.run(seed);
            let equal = errors(&run, &explained(&run, Attribution::Equal));
            let start = std::time::Instant::now();
            let found = explained(&run, Attribution::Regressed);
            let took = start.elapsed().as_secs_f64();
            let e = errors(&run, &found);
            println!(
                "{:30} equal {:.1}/{:.1}/{:.1} regressed {:.1}/{:.2}/{:.1}/{:.2} (ref {:?}) held {:.2}/{:.2} layers {:.2} {took:.1} s",
                scenario.name,
                equal.by_op,
                equal.by_layer,
                equal.by_type,
                e.by_op,
                e.by_layer,
                e.by_type,
                e.by_pass,
                scenario.reference,
                e.held,
                e.held_energy,
                e.layers_held
            );
            println!("{}", found.explanations[0]);
        }
    }
}
