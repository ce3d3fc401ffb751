//! The table of processes.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Row, Table};

use super::super::input::Choices;
use super::super::ledger::Entry;
use super::super::view::{Sort, View};
use super::theme::Theme;

/// Below this width there is no room for energies.
const NARROW: u16 = 50;

pub fn draw(frame: &mut Frame, area: Rect, view: &View, choices: &Choices, theme: Theme) {
    if area.height == 0 {
        return;
    }
    let is_wide = area.width >= NARROW;
    // Threads of the kernel that have done nothing yet only hide what others do.
    let is_shown = |entry: &&Entry| entry.energy.0 > 0.0 || !entry.command.starts_with('[');
    let sorted: Vec<&Entry> = view.sorted(choices.sort).into_iter().filter(is_shown).collect();
    // The last processes are not scrolled out of sight.
    let room = usize::from(area.height - 1);
    let first = choices.scroll.min(sorted.len().saturating_sub(room));
    let rows = sorted.iter().skip(first).take(room).map(|entry| Row::new(cells(entry, is_wide)));
    let mark = |sort: Sort, name: &str| if choices.sort == sort { format!("{name}▾") } else { name.to_owned() };
    let more = match first {
        0 => format!("command ({}; watts by CPU time)", sorted.len()),
        first => format!("command ({} … of {}; watts by CPU time)", first + 1, sorted.len()),
    };
    let mut head =
        vec![right(mark(Sort::Pid, "pid")), right(mark(Sort::Cpu, "cpu %")), right(mark(Sort::Watts, "watts"))];
    let mut widths = vec![Constraint::Length(8), Constraint::Length(6), Constraint::Length(8)];
    if is_wide {
        head.push(right(mark(Sort::Joules, "joules")));
        widths.push(Constraint::Length(8));
    }
    head.push(Cell::from(more));
    widths.push(Constraint::Fill(1));
    let table = Table::new(rows, widths).header(Row::new(head).style(theme.head()));
    frame.render_widget(table, area);
}

fn cells<'c>(entry: &Entry, is_wide: bool) -> Vec<Cell<'c>> {
    let mut cells = vec![
        right(entry.pid.to_string()),
        right(format!("{:.1}", 100.0 * entry.cpus)),
        right(entry.power.to_string()),
    ];
    if is_wide {
        cells.push(right(entry.energy.to_string()));
    }
    cells.push(Cell::from(entry.command.clone()));
    cells
}

fn right<'c>(text: String) -> Cell<'c> {
    Cell::from(Text::from(Line::from(text).alignment(Alignment::Right)))
}
