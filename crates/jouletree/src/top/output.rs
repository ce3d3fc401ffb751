//! Where a view goes: a screen, lines, or nowhere.

use std::io::{ErrorKind, Write, stdout};

use anyhow::{Context, Result};
use rustix::io::Errno;

use super::args::TopFormat;
use super::input::{Action, Choices, action};
use super::keyboard::Keyboard;
use super::screen::{self, Theme};
use super::terminal::Screen;
use super::view::View;
use super::{json, lines};

/// A place for views.
pub enum Output {
    /// The terminal.
    Screen {
        /// As long as this lives, it is a screen.
        screen: Box<Screen>,
        /// Its keys.
        keyboard: Keyboard,
        /// What the person before it chose.
        choices: Choices,
        /// How it looks.
        theme: Theme,
    },
    /// Standard output, line by line.
    Lines {
        /// Whether they are for programs.
        is_json: bool,
        /// The first incident that was not written yet.
        incidents_from: u64,
    },
    /// The terminal or reader is gone.
    Nothing,
}

/// What the person at the other end wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// More of it.
    GoOn,
    /// No more of it.
    End,
    /// The same, and that the command ends, too.
    Interrupt,
    /// Nothing: the terminal is gone.
    Gone,
}

impl Output {
    /// Opens it.
    pub fn open(format: TopFormat) -> Result<Output> {
        Ok(match format {
            TopFormat::Screen => Output::Screen {
                keyboard: Keyboard::open()?,
                screen: Box::new(Screen::enter()?),
                choices: Choices::default(),
                theme: Theme::of_environment(),
            },
            TopFormat::Text => Output::Lines { is_json: false, incidents_from: 0 },
            TopFormat::Json => Output::Lines { is_json: true, incidents_from: 0 },
        })
    }

    /// Shows a view, if it has something to show. A reader that has seen enough (`| head`) wants no more.
    pub fn show(&mut self, view: &View) -> Result<Wish> {
        match self {
            Output::Screen { keyboard, .. } if keyboard.is_gone() => Ok(Wish::Gone),
            Output::Screen { screen, keyboard, choices, theme } => {
                match screen.draw(|frame| screen::draw(frame, view, choices, *theme)) {
                    Err(_) if keyboard.is_gone() => Ok(Wish::Gone),
                    drawn => drawn.map(|()| Wish::GoOn),
                }
            }
            Output::Lines { .. } if view.elapsed.0 == 0 => Ok(Wish::GoOn),
            Output::Lines { is_json, incidents_from } => {
                let text = if *is_json { json::line(view, *incidents_from)? } else { lines::line(view) };
                *incidents_from = view.incidents.last().map_or(*incidents_from, |last| last.number + 1);
                write(&text)
            }
            Output::Nothing => Ok(Wish::GoOn),
        }
    }

    /// What the keys say that were pressed meanwhile.
    pub fn listen(&mut self, view: &View) -> Result<Wish> {
        let Output::Screen { keyboard, choices, .. } = self else { return Ok(Wish::GoOn) };
        let pressed = keyboard.look();
        let mut is_changed = pressed.is_resized;
        for key in pressed.keys {
            match action(key) {
                Some(Action::Interrupt) => return Ok(Wish::Interrupt),
                Some(action) if choices.apply(action, view) => return Ok(Wish::End),
                Some(_) => is_changed = true,
                None => {}
            }
        }
        if pressed.is_gone {
            return Ok(Wish::Gone);
        }
        if is_changed { self.show(view) } else { Ok(Wish::GoOn) }
    }
}

/// Writes to standard output; what its reader wants then.
pub fn write(text: &str) -> Result<Wish> {
    let mut output = stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(Wish::GoOn),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Wish::End),
        Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => Ok(Wish::Gone),
        Err(error) => Err(error).context("cannot write to standard output"),
    }
}
