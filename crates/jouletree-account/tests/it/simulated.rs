//! Attribution on simulated programs, whose every operation has a known energy.

use jouletree_account::{Attribution, Explained, Metered, Semantics, account_explained};
use jouletree_model::Kind;
use test_support::simulator::scenarios::{Run, all, device, random};
use test_support::simulator::score::Score;

fn explained(run: &Run, attribution: Attribution) -> Explained {
    let device = device();
    let power = [Metered { device: &device, kind: Kind::Measured, series: &run.series }];
    account_explained(&run.trace, &power, Semantics::Exact, attribution).unwrap()
}

#[test]
#[ignore]
fn sweep() {
    let wanted = std::env::var("SCENARIO").unwrap_or_default();
    let seeds: u64 = std::env::var("SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    for scenario in all().iter().filter(|scenario| scenario.name.starts_with(&wanted)) {
        let (mut equals, mut founds) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let run = scenario.run(seed);
            equals.push(Score::of(&run, &explained(&run, Attribution::Equal).footprint));
            let found = explained(&run, Attribution::Regressed);
            founds.push(Score::of(&run, &found.footprint));
            let lines = found.explanations[0].to_string();
            println!("   {:.1} {}", founds[founds.len() - 1].by_op, lines.lines().nth(1).unwrap());
        }
        let (equal, e) = (Score::mean(&equals), Score::mean(&founds));
        println!(
            "{:30} equal {:.1}/{:.1}/{:.1} regressed {:.1}/{:.2}/{:.1}/{:.2} (ref {:?}) held {:.2}/{:.2} layers {:.2}",
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
            e.held_layers
        );
    }
}

#[test]
#[ignore]
fn sweep_random() {
    for seed in 0..200 {
        let scenario = random(seed);
        let run = scenario.run(seed);
        let equal = Score::of(&run, &explained(&run, Attribution::Equal).footprint);
        let found = explained(&run, Attribution::Regressed);
        let e = Score::of(&run, &found.footprint);
        let lines = found.explanations[0].to_string();
        let worse = if e.by_op > 1.02 * equal.by_op { "WORSE" } else { "" };
        println!(
            "{seed} {worse} equal {:.1}/{:.1} regressed {:.1}/{:.2} held {:.2} {:.0}s {} layers {:?} {:?}\n{}\n",
            equal.by_op,
            equal.by_layer,
            e.by_op,
            e.by_layer,
            e.held,
            scenario.schedule.seconds,
            scenario.schedule.layers,
            scenario.sensor,
            scenario.surroundings,
            lines
        );
    }
}
