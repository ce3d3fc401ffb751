//! The help, over everything else.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::theme::Theme;

/// Short lines first: a small screen shows as much as fits.
const TEXT: &str = "\
q, Esc   quit
s        sort by watts, joules, cpu, pid
p        pause the screen; metering goes on
↑ ↓      scroll (also PgUp PgDn Home End)
?        this help

now      mean of the last second; – not known
ours     the tree's part of a socket
listed   that of all processes shown
others   other and ended ones, interrupts
idle     of CPUs that had nothing to do
unknown  no share is known

A socket is cut by CPU time, and what is ours
goes to its processes by theirs: a rule, no
measurement. Parts (indented) are inside
their device and are never added to it.";

pub fn draw(frame: &mut Frame, theme: Theme) {
    let width = TEXT.lines().map(|line| line.chars().count()).max().unwrap_or(0) + 4;
    let height = TEXT.lines().count() + 2;
    let length = |size: usize| Constraint::Length(u16::try_from(size).unwrap_or(u16::MAX));
    let [row] = Layout::vertical([length(height)]).flex(Flex::Center).areas(frame.area());
    let [area] = Layout::horizontal([length(width)]).flex(Flex::Center).areas(row);
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" help ").title_style(theme.head());
    frame.render_widget(Paragraph::new(TEXT).block(block), area);
}
