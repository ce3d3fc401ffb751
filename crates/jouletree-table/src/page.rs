//! A result for people: titles, sentences and tables one after another, written for a terminal, for a file or as Markdown.

use std::io::{IsTerminal, stderr, stdout};

use ratatui::crossterm::terminal;

use crate::cell::{Cell, painted};
use crate::columns::Columns;
use crate::{colour, markdown, paragraph};

/// How a result looks where it is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Lines of text, as wide as the terminal if it is one.
    Text {
        /// The width of the terminal.
        width: Option<usize>,
        /// Whether there are colours.
        has_colour: bool,
    },
    /// Markdown as GitHub reads it.
    Markdown,
}

impl Look {
    /// As standard output wants it.
    pub fn of_stdout() -> Look {
        Look::of(stdout().is_terminal())
    }

    /// As standard error wants it.
    pub fn of_stderr() -> Look {
        Look::of(stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Look {
        let width = if is_terminal { terminal_width() } else { None };
        Look::Text { width, has_colour: colour::is_wanted(is_terminal) }
    }
}

/// How wide the terminal is; `None` where there is none.
pub fn stdout_width() -> Option<usize> {
    if stdout().is_terminal() { terminal_width() } else { None }
}

fn terminal_width() -> Option<usize> {
    terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}

enum PageElement {
    Title(String),
    Words(Cell),
    /// An empty line, where there would not be one anyway.
    Gap,
    Table(Columns),
}

/// Titles, sentences and tables.
#[derive(Default)]
pub struct Page {
    parts: Vec<PageElement>,
}

impl Page {
    /// A page with nothing but a table.
    pub fn of(table: Columns) -> Page {
        let mut page = Page::default();
        page.table(table);
        page
    }

    /// Begins a part.
    pub fn title(&mut self, title: impl Into<String>) {
        self.parts.push(PageElement::Title(title.into()));
    }

    /// Adds a line of words, unless there are none.
    pub fn words(&mut self, words: impl Into<Cell>) {
        let words = words.into();
        if words.width() > 0 {
            self.parts.push(PageElement::Words(words));
        }
    }

    /// Leaves a line empty.
    pub fn gap(&mut self) {
        self.parts.push(PageElement::Gap);
    }

    /// Adds a table.
    pub fn table(&mut self, table: Columns) {
        self.parts.push(PageElement::Table(table));
    }

    /// Everything on it as text.
    pub fn written(self, look: Look) -> String {
        let mut text = String::new();
        for part in self.parts {
            if look == Look::Markdown && !text.is_empty() && !matches!(part, PageElement::Gap) {
                text.push('\n');
            }
            text += &match (part, look) {
                (PageElement::Title(title), Look::Markdown) => format!("### {}\n", markdown::escaped(&title)),
                (PageElement::Title(title), Look::Text { has_colour, .. }) => {
                    format!("\n{}\n", painted(&title, colour::head(), has_colour))
                }
                (PageElement::Words(words), Look::Markdown) => format!("{}\n", markdown::escaped(&words.text)),
                (PageElement::Words(words), Look::Text { width: Some(room), has_colour })
                    if words.width() > room =>
                {
                    let lines = paragraph::entry("", &words.text, 2, room);
                    let line = |line: &str| painted(line, words.style, has_colour) + "\n";
                    lines.lines().map(line).collect()
                }
                (PageElement::Words(words), Look::Text { has_colour, .. }) => {
                    format!("{}\n", words.written(has_colour))
                }
                (PageElement::Gap, Look::Markdown) => String::new(),
                (PageElement::Gap, Look::Text { .. }) => "\n".to_owned(),
                (PageElement::Table(table), look) => table.written(look),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut table = Columns::new(&["layer", "energy", ""]).names(0).left(2);
        table.row(vec![Cell::from("(all)"), "12.0 J".into(), Cell::bar(1.0)]);
        table.row(vec![Cell::below("└─ ", "a|b\nc"), "3.00 J".into(), Cell::bar(0.25)]);
        let mut page = Page::default();
        page.words("one of *two*");
        page.words("");
        page.title("by layer");
        page.table(table);
        page
    }

    #[test]
    fn parts_stand_one_below_the_other() {
        let text = page().written(Look::Text { width: None, has_colour: false });
        let lines = ["one of *two*", "", "by layer", "layer     energy", "(all)     12.0 J  ████████████████████"];
        assert_eq!(text, lines.map(|line| format!("{line}\n")).concat() + "└─ a|b c  3.00 J  █████\n");
    }

    #[test]
    fn sentences_are_as_wide_as_the_terminal() {
        let mut page = Page::default();
        page.words("a sentence that is too long for one line");
        let text = page.written(Look::Text { width: Some(24), has_colour: false });
        assert_eq!(text, "a sentence that is too\n  long for one line\n");
    }

    #[test]
    fn markdown_parts_its_blocks_and_keeps_the_tree() {
        let lines = [
            "one of \\*two\\*",
            "",
            "### by layer",
            "",
            "| layer | energy |",
            "| --- | ---: |",
            "| `(all)` | 12.0 J |",
            "| `└─\u{a0}a\\|b c` | 3.00 J |",
        ];
        assert_eq!(page().written(Look::Markdown), lines.map(|line| format!("{line}\n")).concat());
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let plain = page().written(Look::Text { width: Some(30), has_colour: false });
        let coloured = page().written(Look::Text { width: Some(30), has_colour: true });
        let mut text = String::new();
        let mut pieces = coloured.split('\u{1b}');
        text += pieces.next().unwrap();
        pieces.for_each(|piece| text += piece.split_once('m').unwrap().1);
        assert_eq!(text, plain);
        assert!(coloured.contains('\u{1b}') && !plain.contains('\u{1b}'));
    }
}
