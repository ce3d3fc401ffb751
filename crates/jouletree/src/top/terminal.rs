//! The terminal while it is a screen. Whatever ends this program, but for `kill -9`, gives it back as it was: leaving in
//! order, an error, a signal (which ends the loop in order) and a panic.

use std::io::{self, Stdout, stdout};
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// What other threads said of their panics, printed after the screen is gone.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A terminal that is a screen as long as this lives.
pub struct Screen {
    /// There until this is dropped.
    terminal: Option<Terminal<CrosstermBackend<Stdout>>>,
}

impl Screen {
    /// Makes the terminal a screen.
    pub fn enter() -> Result<Screen> {
        give_back_on_panic();
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).context("cannot draw on this terminal")?;
        // From here on, dropping gives it back.
        let screen = Screen { terminal: Some(terminal) };
        enable_raw_mode().context("cannot read single keys from this terminal; try `--format text`")?;
        // Cleared by hand: ratatui would ask where the cursor is, which not every terminal answers.
        execute!(stdout(), EnterAlternateScreen, Hide, Clear(ClearType::All))
            .context("cannot draw on this terminal")?;
        Ok(screen)
    }

    /// Draws on it.
    pub fn draw(&mut self, draw: impl FnOnce(&mut ratatui::Frame)) -> Result<()> {
        if let Some(terminal) = &mut self.terminal {
            terminal.draw(draw).context("cannot draw on this terminal")?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = give_back();
        // Ratatui's drop would print an error, and panic because that fails, too.
        if let Some(mut terminal) = self.terminal.take()
            && terminal.show_cursor().is_err()
        {
            std::mem::forget(terminal);
        }
        for panic in PANICS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            writeln_stderr!("{panic}");
        }
    }
}

fn give_back() -> io::Result<()> {
    let raw = disable_raw_mode();
    execute!(stdout(), LeaveAlternateScreen, Show)?;
    raw
}

/// A panic of this thread ends the program: the terminal is given back before it is printed. Those of other threads (a
/// sensor's) do not, and would be drawn over: they are printed at the end.
fn give_back_on_panic() {
    let announce = panic::take_hook();
    let drawing = thread::current().id();
    panic::set_hook(Box::new(move |panic: &PanicHookInfo| {
        if thread::current().id() == drawing {
            let _ = give_back();
            announce(panic);
        } else {
            PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(panic.to_string());
        }
    }));
}
