//! The head of a file: enough of it to tell its format.

use std::collections::BTreeSet;
use std::fmt;

use crate::chrome::{ChromeEvent, ChromeVisitor, Ending, read_chrome};
use crate::error::TraceError;
use crate::input::Progress;
use crate::source::Source;

/// How many events are looked at.
const EVENTS: usize = 400;

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
    events: usize,
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
        let mut head = Head { start, ..Head::default() };
        let ending = read_chrome(&mut input, &mut head);
        head.cut = match ending {
            Ending::Cut { at, .. } => Some(at),
            _ => None,
        };
        head.is_json = head.events > 0 || !head.keys.is_empty() || ending == Ending::Complete;
        Ok(head)
    }
}

impl ChromeVisitor for Head {
    fn header(&mut self, key: &str, _value: &[u8]) {
        self.keys.insert(key.to_owned());
    }

    fn event(&mut self, event: &ChromeEvent<'_>, _offset: u64) -> bool {
        self.events += 1;
        if event.phase == b'X' {
            if !event.category.bytes.is_empty() {
                self.categories.insert(event.category.text());
            }
            self.names.insert(event.name.text());
            self.processes.insert(String::from_utf8_lossy(event.pid).into_owned());
            self.names_operations |= !event.args.name.bytes.is_empty() && !event.args.op.bytes.is_empty();
        }
        self.events < EVENTS
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
