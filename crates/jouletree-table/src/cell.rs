//! A cell of a table: one line of text, perhaps with a lead that draws a tree and a style, or a bar.

use clap::builder::styling::Style;
use ratatui::text::Span;

use crate::colour;

/// What of a name that does not fit is worth keeping.
#[derive(Clone, Copy)]
pub enum Keep {
    /// The end, as of a path.
    End,
    /// The beginning, as of a kernel's name.
    Start,
}

/// The content of one column of one row.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// Lines that show what a name is below of.
    pub lead: String,
    /// What it says.
    pub text: String,
    /// How that looks.
    pub style: Style,
    /// The share that a bar shows; it has no text before its width is known.
    pub bar: Option<f64>,
}

impl Cell {
    /// A name in a tree.
    pub fn below(lead: &str, name: &str) -> Cell {
        Cell { lead: lead.to_owned(), ..Cell::from(name) }
    }

    /// A bar as long as this share of the column.
    pub fn bar(share: f64) -> Cell {
        Cell { bar: Some(share.clamp(0.0, 1.0)), style: colour::bar(share), ..Cell::default() }
    }

    /// It in this style.
    pub fn styled(self, style: Style) -> Cell {
        Cell { style, ..self }
    }

    /// How many columns of a terminal it takes.
    pub fn width(&self) -> usize {
        width(&self.lead) + width(&self.text)
    }

    /// Draws a bar of at most this width, in eighths of a character.
    pub fn draw(&mut self, most: usize) {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        if let Some(share) = self.bar {
            let eighths = (share * (most * 8) as f64).round() as usize;
            self.text = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
        }
    }

    /// Shortens its text so that all of it takes at most `room`, with a mark where something is missing.
    pub fn shorten(&mut self, room: usize, keep: Keep) {
        if self.width() <= room {
            return;
        }
        let room = room.saturating_sub(width(&self.lead) + 1);
        self.text = match keep {
            Keep::Start => self.text.chars().scan(room, fits).chain(['…']).collect(),
            Keep::End => {
                let end: Vec<char> = self.text.chars().rev().scan(room, fits).collect();
                ['…'].into_iter().chain(end.into_iter().rev()).collect()
            }
        };
    }

    /// Its text for a terminal, with colours or without.
    pub fn written(&self, has_colour: bool) -> String {
        painted(&self.lead, colour::quiet(), has_colour) + &painted(&self.text, self.style, has_colour)
    }
}

/// A character, while there is room for it.
fn fits(room: &mut usize, character: char) -> Option<char> {
    *room = room.checked_sub(width(character.encode_utf8(&mut [0; 4])))?;
    Some(character)
}

/// How many columns of a terminal a text takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A text in a style, if there are colours.
pub fn painted(text: &str, style: Style, has_colour: bool) -> String {
    if has_colour && !text.is_empty() && style != Style::new() {
        return format!("{style}{text}{style:#}");
    }
    text.to_owned()
}

/// Names come from traces: a line end would break a table, and an escape code could do anything to a terminal.
impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        let visible = |character: char| match character {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            character if character.is_control() => '\u{fffd}',
            character => character,
        };
        Cell { text: text.chars().map(visible).collect(), ..Cell::default() }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_without_escape_codes() {
        assert_eq!(Cell::from("a\nb\tc\u{1b}[31m").text, "a b c\u{fffd}[31m");
    }

    #[test]
    fn widths_are_those_of_the_terminal() {
        assert_eq!(Cell::from("注意").width(), 4);
        let mut cell = Cell::below("├─ ", "注意力机制");
        cell.shorten(10, Keep::Start);
        assert_eq!((cell.text.as_str(), cell.width()), ("注意力…", 10));
        let mut cell = Cell::from("encoder/注意力");
        cell.shorten(6, Keep::End);
        assert_eq!(cell.text, "…意力");
    }

    #[test]
    fn colours_take_no_room() {
        let cell = Cell::below("└─ ", "bert").styled(colour::head());
        assert_eq!((cell.width(), cell.written(false).as_str()), (7, "└─ bert"));
        assert_eq!(cell.written(true), "\u{1b}[2m└─ \u{1b}[0m\u{1b}[1mbert\u{1b}[0m");
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        let drawn = |share: f64, most: usize| {
            let mut cell = Cell::bar(share);
            cell.draw(most);
            cell.text
        };
        assert_eq!(drawn(1.0, 4), "████");
        assert_eq!(drawn(0.5, 5), "██▌");
        assert_eq!(drawn(0.001, 8), "");
        assert_eq!(drawn(7.0, 2), "██");
    }
}
