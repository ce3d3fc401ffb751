//! Keys, and what they do to what is shown.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::{Sort, View};

/// What the person at the terminal chose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choices {
    /// What processes are sorted by.
    pub sort: Sort,
    /// The first process that is shown.
    pub scroll: usize,
    /// Whether the help is shown.
    pub help: bool,
    /// What was shown when it was paused; measuring goes on.
    pub paused: Option<Box<View>>,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// To end.
    Quit,
    /// To end the command, too.
    Interrupt,
    /// To sort by something else.
    Sort,
    /// To hold what is shown, or to go on.
    Pause,
    /// To show or hide the help.
    Help,
    /// To scroll by so many processes.
    Scroll(isize),
    /// To scroll to the first process.
    Home,
    /// To scroll to the last process.
    End,
}

/// What a key asks for, if anything.
pub fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c') if is_control => Action::Interrupt,
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Action::Quit,
        KeyCode::Char('s' | 'S') => Action::Sort,
        KeyCode::Char('p' | 'P' | ' ') => Action::Pause,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Action::Help,
        KeyCode::Up | KeyCode::Char('k') => Action::Scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Scroll(1),
        KeyCode::PageUp => Action::Scroll(-10),
        KeyCode::PageDown => Action::Scroll(10),
        KeyCode::Home => Action::Home,
        KeyCode::End => Action::End,
        _ => return None,
    })
}

impl Choices {
    /// Does what a key asks for; whether to end.
    pub fn apply(&mut self, action: Action, view: &View) -> bool {
        let last = self.shown(view).processes.len().saturating_sub(1);
        match action {
            // Out of the help first.
            Action::Quit if self.help => self.help = false,
            Action::Quit | Action::Interrupt => return true,
            Action::Sort => (self.sort, self.scroll) = (self.sort.next(), 0),
            Action::Pause => {
                self.paused = match self.paused {
                    Some(_) => None,
                    None => Some(Box::new(view.clone())),
                }
            }
            Action::Help => self.help = !self.help,
            Action::Scroll(by) => self.scroll = self.scroll.saturating_add_signed(by).min(last),
            Action::Home => self.scroll = 0,
            Action::End => self.scroll = last,
        }
        false
    }

    /// What is shown of what there is.
    pub fn shown<'v>(&'v self, view: &'v View) -> &'v View {
        self.paused.as_deref().unwrap_or(view)
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::samples::busy_view;
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn keys_do_what_the_help_says() {
        assert_eq!(action(key(KeyCode::Char('q'))), Some(Action::Quit));
        assert_eq!(action(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Action::Interrupt));
        assert_eq!(action(key(KeyCode::Char('c'))), None);
        let release = KeyEvent { kind: KeyEventKind::Release, ..key(KeyCode::Char('q')) };
        assert_eq!(action(release), None);
    }

    #[test]
    fn scrolling_stays_among_the_processes() {
        let view = busy_view();
        let mut choices = Choices::default();
        choices.apply(Action::Scroll(-5), &view);
        assert_eq!(choices.scroll, 0);
        choices.apply(Action::Scroll(1000), &view);
        assert_eq!(choices.scroll, view.processes.len() - 1);
        choices.apply(Action::Sort, &view);
        assert_eq!((choices.sort, choices.scroll), (Sort::Joules, 0));
    }

    #[test]
    fn a_pause_holds_what_was_shown() {
        let (view, mut later) = (busy_view(), busy_view());
        later.processes.clear();
        let mut choices = Choices::default();
        choices.apply(Action::Pause, &view);
        assert_eq!(choices.shown(&later).processes.len(), view.processes.len());
        choices.apply(Action::Pause, &later);
        assert!(choices.shown(&later).processes.is_empty());
    }

    #[test]
    fn quit_leaves_the_help_first() {
        let (view, mut choices) = (busy_view(), Choices { help: true, ..Choices::default() });
        assert!(!choices.apply(Action::Quit, &view));
        assert!(choices.apply(Action::Quit, &view));
    }
}
