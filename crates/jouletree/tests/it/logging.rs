//! What is logged: nothing unless it is asked for, and never on standard output.

use crate::common::*;

const INPUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sample");

fn account(options: &[&str], variable: Option<&str>) -> Ran {
    let (trace, power) = (format!("{INPUT}/timeline-5.json.gz"), format!("{INPUT}/power.csv"));
    let mut command = jouletree();
    command.args(["account", &trace, "--power", &power]).args(options);
    variable.map(|text| command.env("JOULETREE_LOG", text));
    ended(command.output().expect("the command starts"))
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    let silent = account(&[], None);
    assert!(!silent.stderr.contains("INFO"), "{}", silent.stderr);
    for (options, variable) in [(&["-v"][..], None), (&[], Some("info")), (&[], Some("jouletree_trace=info"))] {
        let logged = account(options, variable);
        assert_eq!((logged.code, &logged.stdout), (silent.code, &silent.stdout));
        let lines = logged.stderr.lines();
        let (log, other): (Vec<_>, Vec<_>) = lines.partition(|line| line.contains(" jouletree_"));
        assert_eq!(other, silent.stderr.lines().collect::<Vec<_>>(), "everything else is as it was");
        assert!(log.iter().any(|line| line.contains("INFO") && line.contains("trace read")), "{log:?}");
        assert_eq!(
            log.iter().any(|line| line.contains("energy attributed")),
            variable != Some("jouletree_trace=info")
        );
    }
    assert_eq!(account(&[], Some("off")).stderr, silent.stderr);
}

#[test]
fn a_filter_that_is_none_is_an_error_that_says_what_is_one() {
    for (variable, part) in [("debgu", "jouletree_trace=debug"), ("h2=trace", "tokens")] {
        let ran = account(&[], Some(variable));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("JOULETREE_LOG") && ran.stderr.contains(part), "{}", ran.stderr);
    }
}
