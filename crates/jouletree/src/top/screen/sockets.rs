//! Who used each socket.

use jouletree_model::Watts;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Row, Table};

use super::super::cpu_socket::Powers;
use super::super::view::{SocketRow, View};
use super::super::words;
use super::theme::Theme;

/// On a screen as narrow as this only powers fit, and not all of them.
const NARROW: u16 = 50;
/// On one as wide as this there is room for energies, too.
const WIDE: u16 = 100;

pub fn draw(frame: &mut Frame, area: Rect, view: &View, theme: Theme) {
    if area.height == 0 {
        return;
    }
    // Without a tree, ours are all processes that are listed.
    let ours = if view.tree.is_some() { "ours" } else { "listed" };
    let mut head = vec!["socket", ours, "others", "idle"];
    if area.width >= NARROW {
        head.push("unknown");
    }
    if area.width >= WIDE {
        head.extend([
            if view.tree.is_some() { "ours so far" } else { "listed so far" },
            "others",
            "idle",
            "unknown",
        ]);
    }
    let widths = head.iter().enumerate().map(|(at, _)| match at {
        0 => Constraint::Length(8),
        5 => Constraint::Length(14),
        _ => Constraint::Length(9),
    });
    let widths: Vec<Constraint> = widths.collect();
    let rows = view.sockets.iter().map(|row| Row::new(cells(row, head.len())));
    let head =
        Row::new(head.iter().enumerate().map(|(at, name)| cell(at, (*name).to_owned()))).style(theme.head());
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

fn cells<'c>(row: &SocketRow, columns: usize) -> Vec<Cell<'c>> {
    let power = |part: fn(&Powers) -> Watts| words::power(row.powers.as_ref().map(part));
    let sum = &row.sum;
    let all = [
        format!("cpu:{}", row.socket),
        power(|powers| powers.ours),
        power(|powers| powers.others),
        power(|powers| powers.idle),
        power(|powers| powers.unknown),
        sum.ours.to_string(),
        sum.others.to_string(),
        sum.idle.to_string(),
        sum.unknown.to_string(),
    ];
    all.into_iter().take(columns).enumerate().map(|(at, text)| cell(at, text)).collect()
}

fn cell<'c>(at: usize, text: String) -> Cell<'c> {
    let alignment = if at == 0 { Alignment::Left } else { Alignment::Right };
    Cell::from(Text::from(Line::from(text).alignment(alignment)))
}
