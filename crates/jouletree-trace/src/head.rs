//! The head of a file: enough of it to recognise its format.

use std::collections::BTreeSet;
use std::fmt;

use crate::chrome::{ChromeEvent, ChromeVisitor, Ending, read_chrome};
use crate::error::TraceError;
use crate::input::Progress;
use crate::source::Source;

/// How many events are looked at, those that only name processes and threads aside.
const EVENTS: usize = 400;

/// How long a first line may be that is looked at: the header of a table.
const LINE: usize = 1 << 14;

/// What the beginning of a file shows.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The first bytes, unpacked.
    pub(crate) start: Vec<u8>,
    /// The keys beside the list of events, as far as they come before it.
    pub(crate) keys: BTreeSet<String>,
    /// The categories of complete events.
    pub(crate) categories: BTreeSet<String>,
    /// The names of complete events.
    pub(crate) names: BTreeSet<String>,
    /// The processes of complete events.
    pub(crate) processes: BTreeSet<String>,
    /// Whether complete events name an operation and its type in their arguments.
    pub(crate) names_operations: bool,
    /// The first line, as far as it is text.
    pub(crate) line: String,
    /// How many events say what runs when: complete ones, and beginnings and ends.
    pub(crate) timed_events: usize,
    events: usize,
    metadata_events: usize,
    is_json: bool,
    /// Where the file ends, when it ends in the middle.
    cut: Option<u64>,
}

impl Head {
    pub(crate) fn of(source: &Source) -> Result<Head, TraceError> {
        let mut input = source.open(&Progress::default())?;
        let start = input.window()[..input.window().len().min(64)].to_vec();
        if let (true, Some(error)) = (start.is_empty(), input.failure()) {
            let error = std::io::Error::new(error.kind(), error.to_string());
            return Err(TraceError::Io { file: source.name().to_owned(), error });
        }
        while input.window().len() < LINE && !input.window().contains(&b'\n') && input.more() {}
        let line = first_line(input.window());
        let mut head = Head { start, line, ..Head::default() };
        let ending = read_chrome(&mut input, &mut head);
        head.cut = match ending {
            Ending::Cut { at, .. } => Some(at),
            _ => None,
        };
        head.is_json = head.events > 0 || !head.keys.is_empty() || ending == Ending::Complete;
        Ok(head)
    }
}

/// The first line of a text without its end; empty for what is not text or too long.
fn first_line(window: &[u8]) -> String {
    let end = window.iter().position(|byte| *byte == b'\n').unwrap_or(window.len());
    let line = std::str::from_utf8(&window[..end]).unwrap_or_default();
    if line.len() > LINE { String::new() } else { line.trim_end_matches('\r').to_owned() }
}

impl ChromeVisitor for Head {
    fn header(&mut self, key: &str, _value: &[u8]) {
        self.keys.insert(key.to_owned());
    }

    fn event(&mut self, event: &ChromeEvent<'_>, _offset: u64) -> bool {
        self.events += 1;
        self.metadata_events += usize::from(event.phase == b'M');
        self.timed_events += usize::from(matches!(event.phase, b'X' | b'B' | b'E') && !event.ts.is_empty());
        if event.phase == b'X' {
            if !event.category.bytes.is_empty() {
                self.categories.insert(event.category.text());
            }
            self.names.insert(event.name.text());
            self.processes.insert(String::from_utf8_lossy(event.pid).into_owned());
            self.names_operations |= !event.args.name.bytes.is_empty() && !event.args.op.bytes.is_empty();
        }
        self.events - self.metadata_events < EVENTS
    }
}

impl Head {
    fn write_cut(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cut {
            Some(at) => write!(f, ", and it is cut short at byte {at}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &BTreeSet<String>| names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        if self.start.is_empty() {
            write!(f, "it is empty")
        } else if !self.is_json {
            write!(
                f,
                "it begins with `{}`",
                self.start.escape_ascii().to_string().chars().take(48).collect::<String>()
            )
        } else if self.events == 0 {
            write!(f, "it is JSON without trace events")?;
            if !self.keys.is_empty() {
                write!(f, " (keys: {})", list(&self.keys))?;
            }
            self.write_cut(f)
        } else if self.categories.is_empty() {
            write!(f, "its events have no category")?;
            self.write_cut(f)
        } else {
            write!(f, "its events are of the categories [{}]", list(&self.categories))?;
            self.write_cut(f)
        }
    }
}
