//! The warnings about a run, the same in the terminal and in the page.

use jouletree_model::{Nanos, Warning};
use jouletree_run::RunFolder;

/// So many incidents are printed; all that are kept are in the JSON.
const MOST_INCIDENTS: usize = 10;
/// The word of the incident that sums up skipped readings.
const LATE: &str = "late";

/// What a person should know about a run's recording: what was wrong with it, what happened, what limits its numbers.
pub fn warnings(run: &RunFolder) -> Vec<Warning> {
    let mut warnings = run.manifest().warnings.clone();
    let Some(recording) = &run.manifest().recording else { return warnings };
    let about = "the recording";
    for incident in recording.incidents.iter().take(MOST_INCIDENTS) {
        let device = incident.device.as_ref().map_or(about.to_owned(), |device| match &incident.domain {
            Some(domain) => format!("{device} {domain}"),
            None => device.to_string(),
        });
        let warning = Warning::new(device, incident.message.as_str());
        let after = Nanos(incident.t_ns) - Nanos(recording.began_ns);
        // Skipped readings are summed up, and at no time in particular.
        let is_sum = incident.kind == LATE;
        warnings.push(if is_sum { warning } else { warning.at(format!("after {after}")) });
    }
    let more = recording.incidents.len().saturating_sub(MOST_INCIDENTS) as u64 + recording.incidents_left_out;
    if more > 0 {
        warnings.push(Warning::new(about, format!("{more} more incidents are in `show --format json`")));
    }
    warnings.extend(recording.remarks.iter().map(|remark| Warning::new(about, remark.as_str())));
    warnings
}

/// Warnings that say the same, once, with what they are about.
pub fn summed(warnings: &[Warning]) -> Vec<Warning> {
    let mut groups: Vec<(Vec<String>, &Warning)> = Vec::new();
    for warning in warnings {
        let about = match &warning.position {
            Some(position) => format!("{}, {position}", warning.source),
            None => warning.source.clone(),
        };
        match groups.iter_mut().find(|(_, known)| known.message == warning.message) {
            Some((sources, _)) if sources.contains(&about) => {}
            Some((sources, _)) => sources.push(about),
            None => groups.push((vec![about], warning)),
        }
    }
    let sum = |(sources, warning): (Vec<String>, &Warning)| match sources.as_slice() {
        [_] => warning.clone(),
        [first, second] => Warning::new(format!("{first} and {second}"), warning.message.as_str()),
        [first, second, rest @ ..] => {
            Warning::new(format!("{first}, {second} and {} more", rest.len()), warning.message.as_str())
        }
        [] => warning.clone(),
    };
    groups.into_iter().map(sum).collect()
}

/// The same for those who look again: what was said at the end of the recording and changes no number is left out.
pub fn lasting_warnings(run: &RunFolder) -> Vec<Warning> {
    let incidents = run.manifest().recording.iter().flat_map(|recording| &recording.incidents);
    let late: Vec<&str> =
        incidents.filter(|incident| incident.kind == LATE).map(|it| it.message.as_str()).collect();
    warnings(run).into_iter().filter(|warning| !late.contains(&warning.message.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_several_is_said_once() {
        let warning = |source: &str, message: &str| Warning::new(source, message);
        let all = [
            warning("process 1", "no steps"),
            warning("process 2", "no steps").at("after 1 s"),
            warning("cpu:0", "a gap"),
            warning("process 3", "no steps"),
            warning("process 4", "no steps"),
            warning("process 4", "no steps"),
        ];
        let lines: Vec<String> = summed(&all).iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["process 1, process 2, after 1 s and 2 more: no steps", "cpu:0: a gap"]);
        assert_eq!(summed(&all[1..3])[0].to_string(), "process 2: after 1 s: no steps");
    }
}
