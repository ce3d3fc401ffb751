//! Styles: the sixteen colours that every terminal has, or none where the user wants none. What a colour says is also
//! said in words.

use jouletree_model::Kind;
use ratatui::style::{Color, Modifier, Style};

use crate::colour;

/// How things look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether there are colours.
    pub has_colour: bool,
}

impl Theme {
    /// As the user wants it.
    pub fn of_environment() -> Theme {
        // It is drawn on terminals only.
        Theme { has_colour: colour::is_wanted(true) }
    }

    /// Numbers of a kind.
    pub fn kind(self, kind: Kind) -> Style {
        self.coloured(match kind {
            Kind::Measured => Color::Green,
            Kind::Derived => Color::Cyan,
            Kind::Estimated => Color::Yellow,
            Kind::Predicted => Color::Magenta,
        })
    }

    /// The first line.
    pub fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    /// The head of a table.
    pub fn head(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What matters less.
    pub fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What should be seen.
    pub fn alert(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn coloured(self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }
}
