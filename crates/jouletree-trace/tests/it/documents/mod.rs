//! Random trace documents together with what a reader must make of them.
//!
//! A document is written by hand, token by token, so that its style (white space, order of keys, how numbers and
//! strings are written) is as free as JSON allows.

pub mod kineto;
pub mod timeline;

/// What a reader must find.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    pub device: String,
    pub start_ns: i64,
    pub end_ns: i64,
    pub name: String,
    /// The thread or stream, whatever it is called.
    pub lane: String,
}

/// A document and what is in it.
#[derive(Debug, Default)]
pub struct Document {
    pub text: String,
    /// For every event with what it says: the byte after it, its device and category if it is a complete one, and
    /// the run of an operation that it represents, if any.
    pub events: Vec<Written>,
}

#[derive(Debug)]
pub struct Written {
    pub end: usize,
    pub counted: Option<(String, String)>,
    pub run: Option<Expected>,
}

impl Document {
    /// The runs that are complete before byte `cut`, in order.
    pub fn runs_before(&self, cut: usize) -> Vec<Expected> {
        let complete = self.events.iter().filter(|event| event.end <= cut);
        let mut runs: Vec<Expected> = complete.filter_map(|event| event.run.clone()).collect();
        runs.sort();
        runs
    }
}

/// The text of an event, and what [`Written`] keeps of it.
pub type Event = (String, Option<(String, String)>, Option<Expected>);

/// A small random number generator (splitmix64), so that a document follows from one number.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in `odds` times.
    pub fn once_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// How a document is written.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// White space between tokens.
    pub pretty: bool,
    /// Keys in any order.
    pub shuffled: bool,
    /// Up to how many bytes of arguments that are not needed an event has.
    pub padding: u64,
    /// Whether what a reader must know of the whole file precedes the events.
    pub header_first: bool,
}

/// Writes JSON in a style.
pub struct Writer {
    pub random: Random,
    pub style: Style,
}

impl Writer {
    pub fn space(&mut self) -> &'static str {
        if self.style.pretty { self.random.pick(&["", " ", "\n  ", "\t", "\r\n"]) } else { "" }
    }

    /// An object of these members, whose values are JSON already.
    pub fn object(&mut self, mut members: Vec<(&str, String)>) -> String {
        if self.style.shuffled {
            for index in (1..members.len()).rev() {
                members.swap(index, self.random.below(index as u64 + 1) as usize);
            }
        }
        let mut text = String::from("{");
        for (index, (key, value)) in members.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let [before, after, last] = [self.space(), self.space(), self.space()];
            text.push_str(&format!("{comma}{before}\"{key}\"{after}:{last}{value}"));
        }
        text + self.space() + "}"
    }

    /// A string, its characters written plainly or as escapes.
    pub fn string(&mut self, value: &str) -> String {
        let mut text = String::from("\"");
        for character in value.chars() {
            let must = matches!(character, '"' | '\\' | '\0'..='\x1f');
            if must || self.random.once_in(20) {
                match character {
                    '"' => text.push_str("\\\""),
                    '\\' => text.push_str("\\\\"),
                    '/' => text.push_str("\\/"),
                    '\n' => text.push_str("\\n"),
                    _ => {
                        for unit in character.encode_utf16(&mut [0; 2]) {
                            text.push_str(&format!("\\u{unit:04x}"));
                        }
                    }
                }
            } else {
                text.push(character);
            }
        }
        text + "\""
    }

    /// A number of nanoseconds as microseconds, in one of the ways in which one may write that.
    pub fn micros(&mut self, nanos: i64) -> String {
        let sign = if nanos < 0 { "-" } else { "" };
        let (whole, fraction) = (nanos.unsigned_abs() / 1000, nanos.unsigned_abs() % 1000);
        match self.random.below(8) {
            0 if fraction == 0 => format!("{sign}{whole}"),
            1 => format!("\"{sign}{whole}.{fraction:03}\""),
            2 => format!("{nanos}e-3"),
            3 => format!("{sign}{whole}.{fraction:03}000"),
            4 if fraction % 100 == 0 => format!("{sign}{whole}.{}", fraction / 100),
            _ => format!("{sign}{whole}.{fraction:03}"),
        }
    }

    /// A whole number, perhaps in a string.
    pub fn whole(&mut self, value: i64) -> String {
        if self.random.once_in(4) { format!("\"{value}\"") } else { value.to_string() }
    }

    /// Arguments that every reader must step over.
    pub fn padding(&mut self) -> Vec<(&'static str, String)> {
        const JUNK: [&str; 6] =
            ["[[1,2],[\"]\"]]", "{\"traceEvents\":[{\"ph\":\"X\"}]}", "\"}],\\\"\"", "-0.5e-7", "null", "false"];
        let mut members = Vec::new();
        if self.random.once_in(2) {
            members.push(("Input Dims", self.random.pick(&JUNK).to_owned()));
        }
        if self.style.padding > 0 {
            let length = self.random.below(self.style.padding) as usize;
            let value = "x\\\"{[é".repeat(length / 8);
            members.push(("Concrete Inputs", format!("[\"{value}\"]")));
        }
        members
    }

    /// A name with whatever a name may hold.
    pub fn name(&mut self) -> String {
        const PARTS: [&str; 12] =
            ["aten", "::", "mm", "/", "layer_", "7", "µ", "\"", "\\", "量子", "😀", " <float>(int*, …)"];
        let length = 1 + self.random.below(6);
        (0..length).map(|_| self.random.pick(&PARTS)).collect()
    }
}

/// Joins events to a document: `before` and `after` are members beside them.
pub fn assemble(
    writer: &mut Writer,
    before: &[(&str, String)],
    events: Vec<Event>,
    after: &[(&str, String)],
) -> Document {
    let mut document = Document { text: String::from("{"), ..Document::default() };
    let member = |(key, value): &(&str, String)| format!("\"{key}\":{value}");
    for pair in before {
        document.text += &(member(pair) + ",");
    }
    document.text += "\"traceEvents\":[";
    for (index, (text, counted, run)) in events.into_iter().enumerate() {
        document.text += if index > 0 { "," } else { "" };
        document.text += writer.space();
        document.text += &text;
        document.events.push(Written { end: document.text.len(), counted, run });
    }
    document.text += writer.space();
    document.text += "]";
    for pair in after {
        document.text += &(String::from(",") + &member(pair));
    }
    document.text += "}";
    document
}
