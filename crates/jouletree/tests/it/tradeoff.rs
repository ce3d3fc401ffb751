//! `jouletree tradeoff` from outside.

use crate::common;

use std::fs;

use common::*;

const MODELS: &str = "name,accuracy,energy_j,sd_j,kind\n\
                      tiny,82.1,1.2,0.1,measured\n\
                      wide,81.0,3.0,0.2,measured\n\
                      small,88.4,4.1,0.3,predicted\n\
                      base,92.5,11.7,0.5,predicted\n\
                      odd,88.2,4.2,0.4,predicted\n";

#[test]
fn the_front_the_budget_and_the_target() {
    let files = Files::new();
    let models = files.write("models.csv", MODELS);
    let arguments =
        ["tradeoff", &models, "--budget", "5", "--target", "90", "--per-million-queries", "--tariff", "0.1319"];
    let choice = run(arguments.iter().chain(&["--format", "json"])).json();
    assert_eq!(choice["front"], serde_json::json!(["tiny", "small", "base"]));
    assert_eq!((text(&choice, "best_under_budget"), text(&choice, "cheapest_for_target")), ("small", "base"));
    let row = |name: &str| {
        let rows = list(&choice, "models");
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!((text(row("wide"), "standing"), text(row("odd"), "standing")), ("behind", "perhaps"));
    assert_close(number(row("base"), "kwh_per_million"), 3.25, 1e-12, "kWh");
    assert_close(number(row("base"), "cost_per_million"), 3.25 * 0.1319, 1e-12, "money");
    let table = run(arguments).ok();
    for wanted in
        ["the most accurate for 5.00 J: small", "the cheapest with an accuracy of 90: base", "0.43 USD", "perhaps"]
    {
        assert!(table.contains(wanted), "no `{wanted}` in\n{table}");
    }
    let batch = run(["tradeoff", &models, "--per-million-queries", "--queries", "16", "--format", "csv"]).ok();
    assert!(
        batch.lines().any(|line| line.starts_with("base,92.5,11.7,") && line.contains(",0.203125,")),
        "{batch}"
    );
    let none = run(["tradeoff", &models, "--budget", "0.1", "--target", "99"]).ok();
    assert!(none.contains("raise --budget") && none.contains("lower --target"), "{none}");
}

#[test]
fn the_figure_is_drawn_in_every_form() {
    let files = Files::new();
    let models = files.write("models.csv", MODELS);
    for (name, begin) in [("f.svg", &b"<svg"[..]), ("f.pdf", b"%PDF"), ("f.png", b"\x89PNG")] {
        let figure = files.path(name);
        // A second time over the first.
        for _ in 0..2 {
            run(["tradeoff", &models, "--figure", &figure, "--budget", "5", "--target", "85"]).ok();
        }
        assert!(fs::read(&figure).expect("a figure").starts_with(begin), "{name}");
    }
    let svg = fs::read_to_string(files.path("f.svg")).expect("a figure");
    assert!(svg.contains(">tiny<") && svg.contains("Energy (J, partly predicted)"), "{svg}");
    let ran = run(["tradeoff", &models, "--figure", &files.path("f.gif")]);
    assert!(ran.code == 1 && ran.stderr.contains(".svg, .pdf or .png") && ran.stdout.is_empty(), "{}", ran.stderr);
}

#[test]
fn wrong_tables_are_named() {
    let files = Files::new();
    for (content, wanted) in [
        ("", "no models"),
        ("name,accuracy\na,1\n", "no column `energy_j`"),
        ("name,accuracy,energy_j\na,1,0\n", "line 2: `energy` is `0`"),
        ("name,accuracy,energy_j\na,x,1\n", "line 2: `accuracy` is `x`"),
    ] {
        let models = files.write("models.csv", content);
        let ran = run(["tradeoff", &models]);
        assert!(
            ran.code == 1 && ran.stderr.contains("models.csv") && ran.stderr.contains(wanted),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(run(["tradeoff", &files.path("models.csv"), "--tariff", "0.1"]).code, 2);
}
