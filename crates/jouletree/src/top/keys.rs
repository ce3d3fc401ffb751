//! Bytes of a terminal, as keys. Keys that mean nothing here are left out.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const ESCAPE: u8 = 0x1b;
/// No sequence is longer.
const LONGEST: usize = 16;

/// Bytes that may become a key.
#[derive(Debug, Default)]
pub struct Keys {
    waiting: Vec<u8>,
}

/// What the first bytes are.
enum First {
    /// A key, and how many bytes it takes.
    Key(KeyEvent, usize),
    /// So many bytes that mean nothing.
    Nothing(usize),
    /// The beginning of something.
    Incomplete,
}

impl Keys {
    /// The keys that these bytes complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<KeyEvent> {
        self.waiting.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            match first(&self.waiting) {
                First::Key(key, length) => {
                    keys.push(key);
                    self.waiting.drain(..length);
                }
                First::Nothing(0) | First::Incomplete => return keys,
                First::Nothing(length) => drop(self.waiting.drain(..length)),
            }
        }
    }

    /// The key that waits for bytes that have not come: an escape alone.
    pub fn rest(&mut self) -> Option<KeyEvent> {
        let is_escape = self.waiting == [ESCAPE];
        self.waiting.clear();
        is_escape.then(|| key(KeyCode::Esc))
    }
}

fn first(bytes: &[u8]) -> First {
    match *bytes {
        [] => First::Nothing(0),
        [ESCAPE] => First::Incomplete,
        [ESCAPE, b'[' | b'O', ..] => sequence(bytes),
        [ESCAPE, ..] => First::Key(key(KeyCode::Esc), 1),
        [b' '..=b'~', ..] => {
            let letter = char::from(*bytes.first().unwrap_or(&b' '));
            First::Key(key(KeyCode::Char(letter)), 1)
        }
        [letter @ 1..=26, ..] => {
            let letter = char::from(b'a' + letter - 1);
            First::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL), 1)
        }
        _ => First::Nothing(1),
    }
}

/// A sequence that begins with an escape: `ESC [ B`, `ESC O B`, `ESC [ 1 ; 5 B`, `ESC [ 6 ~`, `ESC [ [ A`.
fn sequence(bytes: &[u8]) -> First {
    let rest = bytes.get(2..).unwrap_or_default();
    let Some(end) = rest.iter().position(|byte| matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'~')) else {
        return if bytes.len() > LONGEST { First::Nothing(bytes.len()) } else { First::Incomplete };
    };
    let length = end + 3;
    let number = rest.get(..end).and_then(|digits| digits.split(|byte| *byte == b';').next()).unwrap_or_default();
    let is_bracketed = bytes.get(1) == Some(&b'[');
    let code = match (rest.get(end), number) {
        (Some(b'A'), b"[") if is_bracketed => KeyCode::F(1),
        (Some(b'A'), _) => KeyCode::Up,
        (Some(b'B'), _) => KeyCode::Down,
        (Some(b'H'), _) | (Some(b'~'), b"1" | b"7") => KeyCode::Home,
        (Some(b'F'), _) | (Some(b'~'), b"4" | b"8") => KeyCode::End,
        (Some(b'~'), b"5") => KeyCode::PageUp,
        (Some(b'~'), b"6") => KeyCode::PageDown,
        (Some(b'P'), _) | (Some(b'~'), b"11") => KeyCode::F(1),
        _ => return First::Nothing(length),
    };
    First::Key(key(code), length)
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(bytes: &str) -> Vec<KeyCode> {
        let mut keys = Keys::default();
        let all: Vec<KeyEvent> = keys.take(bytes.as_bytes()).into_iter().chain(keys.rest()).collect();
        all.into_iter().map(|key| key.code).collect()
    }

    #[test]
    fn keys_are_known_by_their_bytes() {
        let letters = [KeyCode::Char('q'), KeyCode::Char('?'), KeyCode::Char(' ')];
        assert_eq!(codes("q? "), letters);
        assert_eq!(codes("\x1b[A\x1b[B\x1bOA\x1b[1;5B"), [KeyCode::Up, KeyCode::Down, KeyCode::Up, KeyCode::Down]);
        assert_eq!(codes("\x1b[5~\x1b[6~"), [KeyCode::PageUp, KeyCode::PageDown]);
        assert_eq!(
            codes("\x1b[H\x1b[F\x1b[1~\x1b[4~"),
            [KeyCode::Home, KeyCode::End, KeyCode::Home, KeyCode::End]
        );
        assert_eq!(codes("\x1bOP\x1b[11~\x1b[[A"), [KeyCode::F(1); 3]);
        // What is not known is left out, and nothing behind it.
        assert_eq!(codes("\x1b[15~q"), [KeyCode::Char('q')]);
        assert_eq!(codes("éq"), [KeyCode::Char('q')]);
        let [control] = Keys::default().take(b"\x03")[..] else { panic!("no key") };
        assert_eq!(control, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    }

    #[test]
    fn an_escape_alone_is_a_key_and_one_that_goes_on_is_another() {
        assert_eq!(codes("\x1b"), [KeyCode::Esc]);
        assert_eq!(codes("\x1bq"), [KeyCode::Esc, KeyCode::Char('q')]);
        let mut keys = Keys::default();
        assert!(keys.take(b"\x1b").is_empty() && keys.take(b"[").is_empty());
        assert_eq!(keys.take(b"B"), [key(KeyCode::Down)]);
        assert_eq!(keys.rest(), None);
        // A sequence without end is given up.
        assert!(keys.take(&[b"\x1b[".as_slice(), &[b'1'; 40]].concat()).is_empty());
        assert_eq!(keys.take(b"q"), [key(KeyCode::Char('q'))]);
    }
}
