//! The screen: a view and the choices of the person before it, drawn. At whatever size: what matters least goes first,
//! and numbers are never cut.

mod devices;
mod help;
mod processes;
#[cfg(test)]
pub mod samples;
mod sockets;
mod theme;

use jouletree_model::Watts;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

pub use theme::Theme;

use super::input::Choices;
use super::view::{IncidentRow, TreeRow, View};
use super::words;

/// The last incidents that are shown.
const INCIDENTS: usize = 3;
/// Processes are shown in at least so many lines, their head included.
const PROCESSES: u16 = 3;
/// On a screen of so many lines there is room for empty ones.
const TALL: u16 = 30;

/// Draws everything.
pub fn draw(frame: &mut Frame, view: &View, choices: &Choices, theme: Theme) {
    let shown = choices.shown(view);
    let area = frame.area();
    let heights = Heights::of(shown, area.height);
    let spacing = u16::from(heights.is_spaced);
    let [title, devices, sockets, tree, processes, incidents, status] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(heights.devices + spacing),
        Constraint::Length(heights.sockets),
        Constraint::Length(heights.tree + spacing * heights.tree.max(heights.sockets.min(1))),
        Constraint::Fill(1),
        Constraint::Length(heights.incidents),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Line::from(title_text(shown, choices, title.width)).style(theme.title()), title);
    devices::draw(frame, Rect { height: devices.height.min(heights.devices), ..devices }, shown, theme);
    sockets::draw(frame, sockets, shown, theme);
    if let Some(row) = &shown.tree {
        frame.render_widget(Line::from(tree_text(row, shown.ours())), Rect { height: tree.height.min(1), ..tree });
    }
    processes::draw(frame, processes, shown, choices, theme);
    let last = shown.incidents.iter().skip(shown.incidents.len().saturating_sub(usize::from(heights.incidents)));
    for (row, line) in incidents.rows().zip(last.map(incident_text)) {
        frame.render_widget(Line::styled(line, theme.alert()), row);
    }
    frame.render_widget(status_line(shown, choices, theme, status.width), status);
    if choices.help {
        help::draw(frame, theme);
    }
}

/// How many lines each part gets.
#[derive(Debug, PartialEq, Eq)]
struct Heights {
    devices: u16,
    sockets: u16,
    tree: u16,
    incidents: u16,
    is_spaced: bool,
}

impl Heights {
    fn of(view: &View, height: u16) -> Heights {
        let lines = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        // The title, the status and some processes come first.
        let mut left = height.saturating_sub(2 + PROCESSES);
        let mut take = |wanted: u16, least: u16| {
            let taken = if left >= least { wanted.min(left) } else { 0 };
            left -= taken;
            taken
        };
        let tree = take(u16::from(view.tree.is_some()), 1);
        let sum = usize::from(view.devices.len() > 1);
        let devices = take(lines(1 + view.devices.len() + sum), 2);
        let rows = lines(1 + view.sockets.len());
        let sockets = if view.sockets.is_empty() { 0 } else { take(rows, rows) };
        let incidents = take(lines(view.incidents.len().min(INCIDENTS)), 1);
        Heights { devices, sockets, tree, incidents, is_spaced: height >= TALL && left > 6 }
    }
}

fn title_text(view: &View, choices: &Choices, width: u16) -> String {
    let pause = if choices.paused.is_some() { "  PAUSED" } else { "" };
    let left = format!(" jouletree top  {}{pause}", words::headline(view));
    let clock = format!("  {} ", words::clock(view.elapsed));
    // A long command is cut so that the time fits.
    let room = usize::from(width).saturating_sub(left.chars().count() + clock.chars().count() + 2);
    let subject = match view.subject.chars().count() {
        length if length <= room => view.subject.clone(),
        _ => view.subject.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
    };
    padded(&left, &(subject + &clock), usize::from(width))
}

fn tree_text(row: &TreeRow, ours: Option<Watts>) -> String {
    if row.is_over {
        return "tree: all its processes have ended".to_owned();
    }
    let plural = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let processes = plural(row.processes, "process", "processes");
    let threads = plural(row.threads, "thread", "threads");
    let (power, memory) = (words::power(ours), words::bytes(row.memory));
    format!("tree: {power}  {:.2} CPUs  {memory}  {processes}  {threads}", row.cpus)
}

fn incident_text(row: &IncidentRow) -> String {
    let about = row.about().map(|about| format!("{about}: ")).unwrap_or_default();
    format!("{:>7} {about}{}", words::clock(row.elapsed), row.what)
}

fn status_line(view: &View, choices: &Choices, theme: Theme, width: u16) -> Line<'static> {
    let own = format!("overhead {}", words::power(view.own_power));
    let late = format!("late p99 {}", view.sampler.late_p99);
    let lost = if view.lost > 0 { format!("{} samples lost  ", view.lost) } else { String::new() };
    let keys = format!("q quit  s sort: {}  p pause  ? help", choices.sort.as_str());
    let (short, width) = ("q quit  s sort  ? help".to_owned(), usize::from(width));
    let sides = [(keys, format!("{lost}{late}  {own}")), (short.clone(), own), (short, String::new())];
    let fitting = sides.iter().find(|(left, right)| left.chars().count() + right.chars().count() < width);
    let (left, right) = fitting.unwrap_or(&sides[2]);
    Line::from(Span::styled(padded(left, right, width), theme.quiet()))
}

/// Text on both sides of a line; where both do not fit, the left one is kept.
fn padded(left: &str, right: &str, width: usize) -> String {
    match width.checked_sub(left.chars().count() + right.chars().count()) {
        Some(room) => format!("{left}{}{right}", " ".repeat(room)),
        None => left.to_owned(),
    }
}

#[cfg(test)]
mod tests;
