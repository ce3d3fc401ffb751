//! The view as lines of text, for logs and terminals that are none; and the summary at the end.

use jouletree_model::{DeviceClass, Joules, Nanos};

use super::view::{DeviceRow, SocketRow, Sort, View};
use super::words;

/// So many processes are named.
const PROCESSES: usize = 3;

/// What there is to say now, in one line.
pub fn line(view: &View) -> String {
    let devices: Vec<String> = view
        .devices
        .iter()
        .filter(|row| row.domain.is_none())
        .map(|row| format!("{} {} {}", row.name(), words::power(row.power), words::kind(row)))
        .collect();
    let mut parts = vec![words::clock(view.elapsed), devices.join(", ")];
    if let Some(tree) = &view.tree {
        parts.push(format!("ours {} by CPU time, {:.2} CPUs", words::power(view.ours()), tree.cpus));
    } else {
        let most = view.sorted(Sort::Watts).into_iter().filter(|entry| entry.power.0 > 0.0).take(PROCESSES);
        let most: Vec<String> = most.map(|entry| format!("{} {}", entry.power, program(&entry.command))).collect();
        if !most.is_empty() {
            parts.push(format!("by CPU time: {}", most.join(", ")));
        }
    }
    parts.push(format!("overhead {}", words::power(view.own_power)));
    parts.join("  ") + "\n"
}

/// What is left to say when all is over.
pub fn summary(view: &View) -> String {
    let mut text = format!("{}: {}\n", view.subject, view.elapsed);
    for row in &view.devices {
        text += &device(row, view.elapsed);
        let is_socket = row.device.class() == DeviceClass::Cpu && row.domain.is_none();
        if let Some(socket) = view.sockets.iter().find(|socket| is_socket && socket.socket == row.device.index()) {
            text += &parts_of(socket, view.tree.is_some());
        }
    }
    text += &format!("jouletree itself used {} of this\n", view.own_energy);
    text
}

fn parts_of(row: &SocketRow, has_tree: bool) -> String {
    let (sum, unknown) = (&row.sum, row.sum.unknown + row.waiting);
    let ours = if has_tree { "ours" } else { "of listed processes" };
    let unknown = if unknown > Joules::ZERO { format!(", {unknown} unknown") } else { String::new() };
    format!("  by CPU time: {} {ours}, {} of others, {} idle{unknown}\n", sum.ours, sum.others, sum.idle)
}

fn device(row: &DeviceRow, elapsed: Nanos) -> String {
    let name = row.domain.as_ref().map_or_else(|| row.name(), |domain| format!("  of it {domain}"));
    let mean =
        if row.known > Nanos(0) { format!(", {} on average", row.energy / row.known) } else { String::new() };
    let interval = row.interval.zip(row.power).filter(|(_, power)| power.0 > 0.0).map(|((low, high), power)| {
        let times = |end: f64| Joules(row.energy.0 * end / power.0);
        format!(", 95 %: {} … {}", times(low.0), times(high.0))
    });
    // The first and the last reading are never at the very ends.
    let missing = elapsed - row.known;
    let gap = if missing > Nanos(500_000_000) { format!(", {missing} not known") } else { String::new() };
    format!("{name}: {} {}{}{mean}{gap}\n", row.energy, row.kind, interval.unwrap_or_default())
}

/// The name of a command's program, without its path and arguments.
fn program(command: &str) -> &str {
    let first = command.split(' ').next().unwrap_or(command);
    first.rsplit('/').next().unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::super::screen::samples::{busy_view, estimated_view};
    use super::*;

    #[test]
    fn a_line_says_what_kind_its_numbers_are() {
        let text = line(&estimated_view());
        assert!(text.starts_with("0:39  cpu:0 12.5 W estimated 6.25 W … 18.8 W"), "{text}");
        assert!(text.contains("by CPU time: 1.25 W python, 625 mW python, 417 mW python"), "{text}");
        let text = line(&busy_view());
        assert!(
            text.contains("gpu:0 312 W derived") && text.contains("ours 45.5 W by CPU time, 4.25 CPUs"),
            "{text}"
        );
        assert!(text.ends_with("overhead 24.0 mW\n") && text.lines().count() == 1, "{text}");
    }

    #[test]
    fn the_summary_balances_in_words() {
        let text = summary(&estimated_view());
        assert!(text.contains("cpu:0: 488 J estimated, 95 %: 244 J … 731 J, 12.5 W on average\n"), "{text}");
        let text = summary(&busy_view());
        assert!(text.contains("  of it core: 1.56 kJ measured"), "{text}");
        assert!(
            text.contains("  by CPU time: 1.56 kJ ours, 389 J of others, 438 J idle, 6.12 J unknown\n"),
            "{text}"
        );
    }
}
