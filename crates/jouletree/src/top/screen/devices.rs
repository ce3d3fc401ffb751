//! Devices, their parts below them, and their sum.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Row, Table};

use super::super::history::SECONDS;
use super::super::view::{DeviceRow, View};
use super::super::words;
use super::theme::Theme;

/// Columns of fixed width: name, power, energy, each with a blank after it.
const NAME: u16 = 11;
const NUMBER: u16 = 8;
/// The kind alone, and with its interval.
const KIND: u16 = 9;
const KIND_AND_INTERVAL: u16 = 29;

pub fn draw(frame: &mut Frame, area: Rect, view: &View, theme: Theme) {
    if area.height == 0 {
        return;
    }
    let widths = Widths::of(area.width);
    let mut rows = rows(view, usize::from(area.height - 1), &widths, theme);
    if view.devices.is_empty() {
        rows.push(Row::new(["no device", "–"]));
    }
    let mut head = vec![Cell::from("device"), right("now", Style::new())];
    if widths.line > 0 {
        head.push(Cell::from(format!("last {SECONDS} s")));
    }
    head.extend([right("energy", Style::new()), Cell::from("kind")]);
    let table = Table::new(rows, widths.constraints()).header(Row::new(head).style(theme.head()));
    frame.render_widget(table, area);
}

/// As many as fit: parts are left out first, then the last devices.
fn rows<'r>(view: &View, room: usize, widths: &Widths, theme: Theme) -> Vec<Row<'r>> {
    let has_sum = view.devices.iter().filter(|row| row.domain.is_none()).count() > 1;
    let room_for_devices = room.saturating_sub(usize::from(has_sum)).max(1);
    let are_parts_shown = view.devices.len() <= room_for_devices;
    let shown: Vec<&DeviceRow> =
        view.devices.iter().filter(|row| are_parts_shown || row.domain.is_none()).collect();
    let mut rows: Vec<Row> = shown.iter().take(room_for_devices).map(|row| device(row, widths, theme)).collect();
    if has_sum && rows.len() < room {
        rows.push(sum(view, widths, theme));
    }
    rows
}

fn device<'r>(row: &DeviceRow, widths: &Widths, theme: Theme) -> Row<'r> {
    let style = theme.kind(row.kind);
    let mut cells = vec![Cell::from(row.name()), right(&words::power(row.power), style)];
    if widths.line > 0 {
        cells.push(Cell::from(words::sparkline(&row.minute, usize::from(widths.line))).style(style));
    }
    let kind = if widths.kind >= KIND_AND_INTERVAL { words::kind(row) } else { row.kind.to_string() };
    cells.extend([right(&row.energy.to_string(), Style::new()), Cell::from(kind).style(style)]);
    let whole = Row::new(cells);
    if row.domain.is_some() { whole.style(theme.quiet()) } else { whole }
}

fn sum<'r>(view: &View, widths: &Widths, theme: Theme) -> Row<'r> {
    let mut cells = vec![Cell::from("all devices"), right(&words::power(view.power), Style::new())];
    if widths.line > 0 {
        cells.push(Cell::from(""));
    }
    let kind = view.kind.map(|kind| kind.to_string()).unwrap_or_default();
    cells.extend([right(&view.energy.to_string(), Style::new()), Cell::from(kind)]);
    Row::new(cells).style(theme.head())
}

fn right<'c>(text: &str, style: Style) -> Cell<'c> {
    Cell::from(Text::from(Line::from(text.to_owned()).alignment(Alignment::Right))).style(style)
}

/// The widths of the columns that depend on that of the screen.
struct Widths {
    /// The last minute; zero leaves it out.
    line: u16,
    kind: u16,
}

impl Widths {
    fn of(width: u16) -> Widths {
        let numbers = NAME + 1 + 2 * (NUMBER + 1);
        let left = width.saturating_sub(numbers);
        let kind = if left > KIND_AND_INTERVAL + 11 { KIND_AND_INTERVAL } else { KIND };
        let line = left.saturating_sub(kind + 1).min(SECONDS as u16);
        Widths { line: if line >= 8 { line } else { 0 }, kind }
    }

    fn constraints(&self) -> Vec<Constraint> {
        let mut widths = vec![Constraint::Length(NAME), Constraint::Length(NUMBER)];
        if self.line > 0 {
            widths.push(Constraint::Length(self.line));
        }
        widths.extend([Constraint::Length(NUMBER), Constraint::Fill(1)]);
        widths
    }
}
