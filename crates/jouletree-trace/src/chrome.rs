//! Chrome trace events: the JSON that TensorFlow timelines, Kineto and others are written in.
//!
//! Events are handed on one by one as they are found, so that a file cut short (a killed training) still yields
//! everything before the cut.

use crate::input::Input;
use crate::json::{RawStr, Scanner, Stop, integer};

/// One trace event, with those of its arguments that some reader needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChromeEvent<'a> {
    /// What sort of event it is: `X` for a complete one. Zero when the event does not say.
    pub(crate) phase: u8,
    pub(crate) category: RawStr<'a>,
    pub(crate) name: RawStr<'a>,
    /// Process and thread, numbers or strings as they are written.
    pub(crate) pid: &'a [u8],
    pub(crate) tid: &'a [u8],
    /// Start and duration in decimal microseconds.
    pub(crate) ts: &'a [u8],
    pub(crate) dur: &'a [u8],
    /// The flow it belongs to.
    pub(crate) id: Option<i64>,
    pub(crate) args: Args<'a>,
    /// All arguments as they are written, for readers that need others.
    pub(crate) args_text: &'a [u8],
}

/// The arguments that some reader needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args<'a> {
    pub(crate) name: RawStr<'a>,
    pub(crate) op: RawStr<'a>,
    pub(crate) inputs: Vec<RawStr<'a>>,
    pub(crate) sequence: Option<i64>,
    pub(crate) forward_thread: Option<i64>,
    pub(crate) correlation: Option<i64>,
    pub(crate) device: Option<i64>,
    pub(crate) event_index: Option<i64>,
}

/// Takes what a trace file holds.
pub(crate) trait ChromeVisitor {
    /// A value beside the list of events.
    fn header(&mut self, key: &str, value: &[u8]);
    /// An event that begins at byte `offset` of the unpacked file. `false` ends the reading.
    fn event(&mut self, event: &ChromeEvent<'_>, offset: u64) -> bool;
}

/// How the reading of a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At the end of the JSON value, or where the visitor ended it.
    Complete,
    /// The text is cut at this byte; an incomplete event, if any, begins at the second number.
    Cut { at: u64, why: Option<String> },
    /// The text is not JSON, or not a trace, at this byte.
    Wrong { at: u64, expected: &'static str },
}

/// Reads a trace file, an object with `traceEvents` or a bare list of events, to its end or as far as it goes.
pub(crate) fn read_chrome(input: &mut Input, visitor: &mut impl ChromeVisitor) -> Ending {
    match read_document(input, visitor) {
        Ok(()) => Ending::Complete,
        Err(Stop::End) => {
            let at = input.offset() + input.window().len() as u64;
            Ending::Cut { at, why: input.failure().map(ToString::to_string) }
        }
        Err(Stop::Wrong { at, expected }) => Ending::Wrong { at: input.offset() + at as u64, expected },
    }
}

/// Reads one piece of the document, asking for more text until the piece is complete, and consumes it.
fn piece<T>(input: &mut Input, mut read: impl FnMut(&mut Scanner<'_>, u64) -> Result<T, Stop>) -> Result<T, Stop> {
    loop {
        let mut scanner = Scanner::new(input.window());
        match read(&mut scanner, input.offset()) {
            Ok(value) => {
                let length = scanner.offset();
                input.consume(length);
                return Ok(value);
            }
            Err(Stop::End) if input.more() => {}
            Err(stop) => return Err(stop),
        }
    }
}

fn read_document(input: &mut Input, visitor: &mut impl ChromeVisitor) -> Result<(), Stop> {
    let opening = piece(input, |scanner, _| match scanner.peek()? {
        b'[' => scanner.require(b'[', "[").map(|()| b'['),
        _ => scanner.require(b'{', "`{` or `[`: a trace is a JSON object or list").map(|()| b'{'),
    })?;
    if opening == b'[' {
        return read_events(input, visitor).map(drop);
    }
    let mut first = true;
    loop {
        let mut begins_events = false;
        let more = piece(input, |scanner, _| {
            let mut first = first;
            if !scanner.next_member(&mut first, b'}')? {
                return Ok(false);
            }
            let key = scanner.key()?;
            begins_events = key.bytes == b"traceEvents" && scanner.accept(b'[')?;
            if !begins_events {
                let value = scanner.raw_value()?;
                visitor.header(&key.text(), value);
            }
            Ok(true)
        })?;
        first = false;
        if !more || (begins_events && !read_events(input, visitor)?) {
            return Ok(());
        }
    }
}

/// Reads events up to the end of their list; `false` when the visitor has had enough.
fn read_events(input: &mut Input, visitor: &mut impl ChromeVisitor) -> Result<bool, Stop> {
    let mut first = true;
    loop {
        // As many events as the window holds are read from one borrow of it.
        let mut progress = 0;
        let step = {
            let base = input.offset();
            let mut scanner = Scanner::new(input.window());
            read_window(&mut scanner, base, &mut first, &mut progress, visitor)
        };
        match step {
            Ok(more) => {
                input.consume(progress);
                return Ok(more);
            }
            Err(Stop::End) => {
                input.consume(progress);
                if !input.more() {
                    return Err(Stop::End);
                }
            }
            Err(stop) => return Err(stop),
        }
    }
}

fn read_window<'a>(
    scanner: &mut Scanner<'a>,
    base: u64,
    first: &mut bool,
    progress: &mut usize,
    visitor: &mut impl ChromeVisitor,
) -> Result<bool, Stop> {
    let mut event = ChromeEvent::default();
    loop {
        let mut still_first = *first;
        if !scanner.next_member(&mut still_first, b']')? {
            *progress = scanner.offset();
            return Ok(true);
        }
        if scanner.peek()? == b'{' {
            let at = base + scanner.offset() as u64;
            read_event(scanner, &mut event)?;
            *progress = scanner.offset();
            *first = false;
            if !visitor.event(&event, at) {
                return Ok(false);
            }
        } else {
            scanner.skip_value()?;
            *progress = scanner.offset();
            *first = false;
        }
    }
}

fn read_event<'a>(scanner: &mut Scanner<'a>, event: &mut ChromeEvent<'a>) -> Result<(), Stop> {
    let mut inputs = std::mem::take(&mut event.args.inputs);
    inputs.clear();
    *event = ChromeEvent { args: Args { inputs, ..Args::default() }, ..ChromeEvent::default() };
    scanner.require(b'{', "an event")?;
    let mut first = true;
    while scanner.next_member(&mut first, b'}')? {
        match scanner.key()?.bytes {
            b"ph" => event.phase = text(scanner)?.bytes.first().copied().unwrap_or(0),
            b"cat" => event.category = text(scanner)?,
            b"name" => event.name = text(scanner)?,
            b"pid" => event.pid = scanner.lenient_number()?.unwrap_or_default(),
            b"tid" => event.tid = scanner.lenient_number()?.unwrap_or_default(),
            b"ts" => event.ts = scanner.lenient_number()?.unwrap_or_default(),
            b"dur" => event.dur = scanner.lenient_number()?.unwrap_or_default(),
            b"id" => event.id = whole_number(scanner)?,
            b"args" if scanner.peek()? == b'{' => {
                let text = scanner.rest();
                read_args(scanner, &mut event.args)?;
                event.args_text = &text[..text.len() - scanner.rest().len()];
            }
            _ => scanner.skip_value()?,
        }
    }
    Ok(())
}

fn read_args<'a>(scanner: &mut Scanner<'a>, args: &mut Args<'a>) -> Result<(), Stop> {
    scanner.require(b'{', "arguments")?;
    let mut first = true;
    while scanner.next_member(&mut first, b'}')? {
        match scanner.key()?.bytes {
            b"name" => args.name = text(scanner)?,
            b"op" => args.op = text(scanner)?,
            b"Sequence number" => args.sequence = whole_number(scanner)?,
            b"Fwd thread id" => args.forward_thread = whole_number(scanner)?,
            b"correlation" => args.correlation = whole_number(scanner)?,
            b"device" => args.device = whole_number(scanner)?,
            b"Ev Idx" => args.event_index = whole_number(scanner)?,
            [b'i', b'n', b'p', b'u', b't', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
                let input = text(scanner)?;
                if !input.bytes.is_empty() {
                    args.inputs.push(input);
                }
            }
            _ => scanner.skip_value()?,
        }
    }
    Ok(())
}

/// A string; any other value is stepped over and is empty.
#[inline]
fn text<'a>(scanner: &mut Scanner<'a>) -> Result<RawStr<'a>, Stop> {
    if scanner.peek()? == b'"' { scanner.string() } else { scanner.skip_value().map(|()| RawStr::default()) }
}

#[inline]
fn whole_number(scanner: &mut Scanner<'_>) -> Result<Option<i64>, Stop> {
    Ok(scanner.lenient_number()?.and_then(integer))
}
