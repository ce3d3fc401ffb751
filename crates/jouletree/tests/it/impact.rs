//! `jouletree estimate impact` from outside: the ML CO2 calculator's sums without its rounding, each line with its source.

use crate::common;

use common::*;
use serde_json::Value;

/// The command where no file and no variable says anything about a place.
fn impact(arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = jouletree();
    command.args(["estimate", "impact"]).args(arguments).current_dir(folder.path());
    for variable in ["HOME", "XDG_CONFIG_HOME", "JOULETREE_CLOUD_METADATA"] {
        command.env(variable, folder.path());
    }
    ended(command.output().expect("the command starts"))
}

fn answer(arguments: &[&str]) -> Value {
    impact(&[arguments, &["--format", "json"]].concat()).json()
}

#[test]
fn the_calculator_without_its_rounding() {
    let found = answer(&["--gpu", "A100", "--hours", "100", "--provider", "gcp", "--region", "europe-west1"]);
    assert_eq!(text(&found, "kind"), "predicted");
    assert_close(number(&found, "it_energy_kwh"), 25.0, 1e-12, "energy");
    assert_close(number(&found, "carbon_g"), 25.0 * 122.0, 1e-12, "carbon");
    assert_eq!(text(&found["intensity"], "zone"), "gcp/europe-west1");
    assert_eq!(text(&found["intensity"], "kind"), "published");
    // The calculator's own figure for Taiwan is 557 g/kWh, which it rounds to 0.56 kg before it multiplies.
    let taiwan = answer(&["--gpu", "A100", "--hours", "100", "--provider", "gcp", "--region", "asia-east1"]);
    let others = list(&taiwan, "published");
    let calculator = others.iter().find(|table| text(table, "source").contains("ML CO2")).expect("the calculator");
    assert_close(number(calculator, "carbon_g"), 25.0 * 557.0, 1e-12, "13.925 kg, not 14");
    assert_close(number(&taiwan, "carbon_g"), 25.0 * 451.0, 1e-12, "Google's own");
}

#[test]
fn each_line_is_apart() {
    let found = answer(&[
        "--watts",
        "250",
        "--gpus",
        "8",
        "--hours",
        "10",
        "--utilization",
        "0.5",
        "--cpu-watts",
        "200",
        "--country",
        "ITA",
        "--pue",
        "1.2",
        "--wue",
        "1.5",
        "--tariff",
        "0.25",
        "--currency",
        "CHF",
        "--embodied",
        "1460",
    ]);
    let it = (250.0 * 8.0 * 0.5 + 200.0) * 10.0 / 1000.0;
    assert_close(number(&found, "it_energy_kwh"), it, 1e-12, "computers");
    assert_close(number(&found, "energy_kwh"), 1.2 * it, 1e-12, "data centre");
    assert_close(number(&found, "carbon_g"), 1.2 * it * number(&found["intensity"], "g_per_kwh"), 1e-12, "carbon");
    assert_eq!(found["intensity"]["zone"], "ITA");
    assert_close(number(&found, "water_l"), 1.2 * it * 1.5, 1e-12, "water");
    assert_close(number(&found, "cost"), 1.2 * it * 0.25, 1e-12, "cost");
    // 1460 kg over four years of 365 days is a gram in 0.024 hours.
    assert_close(number(&found, "embodied_g"), 1_460_000.0 * 10.0 / (4.0 * 365.0 * 24.0), 1e-9, "making");
    assert_eq!(found["currency"], "CHF");
    let by_day = answer(&["--watts", "1000", "--hours", "1", "--tariff", "8-20=0.3,20-8=0.1"]);
    assert_close(number(&by_day, "cost"), 0.2, 1e-12, "the mean of a day");
    assert!(list(&by_day, "notes").iter().any(|note| note.as_str().is_some_and(|note| note.contains("evenly"))));
}

#[test]
fn an_unknown_place_is_unknown_and_no_error() {
    let ran = impact(&["--gpu", "A100", "--hours", "1"]);
    assert!(ran.stderr.contains("unknown") && ran.stderr.contains("--country"), "{}", ran.stderr);
    let table = ran.ok();
    assert!(table.contains("predicted, not measured") && table.contains("unknown"), "{table}");
    assert!(answer(&["--gpu", "A100", "--hours", "1"])["carbon_g"].is_null());
    let allowed = answer(&["--gpu", "A100", "--hours", "4", "--allow-world-average"]);
    assert_close(number(&allowed, "carbon_g"), 475.0, 1e-12, "the world");
    assert_eq!(allowed["intensity"]["kind"], "world-average");
}

#[test]
fn who_mistypes_is_asked() {
    for (arguments, answer) in [
        (&["--gpu", "RTX 4900", "--hours", "1"][..], "did you mean `RTX 4090`?"),
        (&["--gpu", "T4", "--hours", "1", "--country", "Itly"], "did you mean `ITA (Italy)`?"),
        (&["--gpu", "T4", "--hours", "1", "--provider", "gcp", "--region", "europe-wets1"], "`europe-west1`?"),
        (&["--gpu", "T4", "--hours", "1", "--compare", "gpc"], "gcp"),
        (&["--gpu", "T4", "--hours", "1", "--compare"], "--compare all"),
        (&["--gpu", "T4", "--hours=-1"], "0 to 1e6"),
        (&["--gpu", "T4", "--hours", "NaN"], "0 to 1e6"),
        (&["--gpu", "T4", "--hours", "1", "--utilization", "50"], "0 to 1"),
        (&["--gpu", "T4", "--gpus", "0", "--hours", "1"], "1 or more"),
        (&["--gpu", "T4", "--hours", "1", "--pue", "0.9"], "1 or more"),
        (&["--hours", "1"], "--gpu"),
    ] {
        let ran = impact(arguments);
        assert_eq!(ran.code, 1, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(answer), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn a_name_with_several_meanings_says_so() {
    let found = answer(&["--gpu", "A100", "--hours", "1"]);
    assert_eq!(found["hardware"]["accelerator"], "A100 PCIe 40/80GB");
    assert_eq!(found["hardware"]["also"], serde_json::json!(["A100 SXM4 80 GB"]));
    let exact = answer(&["--gpu", "A100 SXM4 80 GB", "--hours", "1"]);
    assert_close(number(&exact["hardware"], "power_w"), 400.0, 1e-12, "the other one");
    assert_eq!(exact["hardware"]["also"], serde_json::json!([]));
}

#[test]
fn regions_are_compared_the_fewest_grams_first() {
    let here = ["--gpu", "A100", "--hours", "100", "--provider", "gcp", "--region", "europe-west1"];
    let found = answer(&[&here[..], &["--compare"]].concat());
    let regions = list(&found, "regions");
    let grams: Vec<f64> = regions.iter().map(|region| number(region, "carbon_g")).collect();
    assert!(regions.len() > 30 && grams.is_sorted(), "{grams:?}");
    let mine: Vec<&Value> = regions.iter().filter(|region| region["is_here"] == true).collect();
    assert_eq!(mine.len(), 1);
    assert_close(number(mine[0], "carbon_g"), number(&found, "carbon_g"), 1e-12, "here");
    let both = answer(&["--gpu", "T4", "--hours", "1", "--compare", "aws,gcp"]);
    let providers: std::collections::BTreeSet<&str> =
        list(&both, "regions").iter().map(|region| text(region, "provider")).collect();
    assert_eq!(providers.into_iter().collect::<Vec<_>>(), ["aws", "gcp"]);
    let table = impact(&[&here[..], &["--compare"]].concat()).ok();
    assert!(table.contains("← here") && table.contains('█'), "{table}");
    let csv = impact(&["--gpu", "T4", "--hours", "1", "--compare", "aws,gcp", "--format", "csv"]).ok();
    assert!(csv.starts_with("provider,region,name,country,g_per_kwh,carbon_g,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + list(&both, "regions").len());
    let csv = impact(&["--gpu", "T4", "--hours", "1", "--format", "csv"]).ok();
    assert!(csv.starts_with("line,value,unit,how\nIT equipment,0.07,kWh,"), "{csv}");
    let markdown = impact(&["--gpu", "T4", "--hours", "1", "--format", "markdown"]).ok();
    assert!(markdown.contains("| IT equipment | 70.0 Wh |"), "{markdown}");
}
