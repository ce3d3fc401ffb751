//! An XSpace as it is in the file: planes with the slices of their lines, and the tables of names behind them.
//!
//! Names of events and of statistics come after the lines that use them, so a plane is gone through twice: here for
//! where everything is, in `events` for the events. A plane or a line that is cut short gives what there is of it.

use jouletree_model::{Nanos, Warning};

use crate::wire::{Fields, Value};

use super::ids::IdTable;
use super::stats::{Stat, StatValue};

/// A whole file.
#[derive(Default)]
pub(super) struct Space<'a> {
    pub(super) planes: Vec<Plane<'a>>,
    /// The first machine that is named.
    pub(super) host: Option<String>,
    /// What the writer complained about.
    pub(super) complaints: Vec<String>,
    /// Where the file is damaged or ends too early.
    pub(super) damage: Option<usize>,
}

/// A source of events: the host, or a device.
#[derive(Default)]
pub(super) struct Plane<'a> {
    pub(super) name: String,
    pub(super) lines: Vec<&'a [u8]>,
    pub(super) events: IdTable<EventName<'a>>,
    pub(super) stats: IdTable<&'a [u8]>,
    /// Statistics of the plane as a whole.
    pub(super) own: Vec<Stat<'a>>,
}

/// What all events with one number have in common.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EventName<'a> {
    pub(super) name: &'a [u8],
    pub(super) display: &'a [u8],
    /// The message in the file, for its statistics.
    pub(super) message: &'a [u8],
}

/// The header of a line.
#[derive(Debug, Default)]
pub(super) struct LineHead {
    pub(super) id: i64,
    pub(super) name: String,
    /// What the offsets of its events count from.
    pub(super) start: Nanos,
}

impl<'a> Space<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Space<'a> {
        let mut space = Space::default();
        let mut fields = Fields::new(bytes);
        for (field, value) in fields.by_ref() {
            match field {
                1 => space.add_plane(value.bytes(), bytes),
                2 | 3 => space.complaints.push(value.text()),
                4 if space.host.is_none() => {
                    space.host = Some(value.text()).filter(|host| !host.is_empty());
                }
                _ => {}
            }
        }
        space.note_damage(bytes, bytes, fields.damage());
        if let Some((1, rest)) = fields.cut() {
            space.add_plane(rest, bytes);
        }
        space
    }

    /// Notes damage at `at` in `part` of the file; the first is the one to report.
    fn note_damage(&mut self, file: &[u8], part: &[u8], at: Option<usize>) {
        let at = at.map(|at| position(file, part) + at);
        self.damage = [self.damage, at].into_iter().flatten().min();
    }

    fn add_plane(&mut self, plane: &'a [u8], file: &'a [u8]) {
        let mut found = Plane::default();
        let mut fields = Fields::new(plane);
        for (field, value) in fields.by_ref() {
            found.take(field, value);
        }
        self.note_damage(file, plane, fields.damage());
        if let Some((3, rest)) = fields.cut() {
            found.lines.push(rest);
        }
        found.events.close();
        found.stats.close();
        self.planes.push(found);
    }

    /// The instant at which the profile began, if a plane says so.
    pub(super) fn profile_start(&self) -> Option<Nanos> {
        let stats = self.planes.iter().flat_map(|plane| plane.own.iter().map(move |stat| (plane, stat)));
        let start = stats.filter_map(|(plane, stat)| {
            let named = plane.stats.get(stat.id).is_some_and(|name| **name == *b"profile_start_time");
            stat.value.integer().filter(|start| named && *start > 0)
        });
        start.map(Nanos).next()
    }
}

impl<'a> Plane<'a> {
    fn take(&mut self, field: u64, value: Value<'a>) {
        match field {
            2 => self.name = value.text(),
            3 => self.lines.push(value.bytes()),
            4 => {
                let (id, message) = entry(value);
                let mut name = EventName { message, ..EventName::default() };
                for (field, value) in Fields::new(message) {
                    match field {
                        2 => name.name = value.bytes(),
                        4 => name.display = value.bytes(),
                        _ => {}
                    }
                }
                self.events.insert(id, name);
            }
            5 => {
                let (id, message) = entry(value);
                let name = Fields::new(message).filter(|(field, _)| *field == 2).map(|(_, value)| value.bytes());
                self.stats.insert(id, name.last().unwrap_or_default());
            }
            6 => self.own.push(Stat::read(value.bytes())),
            _ => {}
        }
    }

    /// The number of the statistic with this name.
    pub(super) fn stat_id(&self, name: &str) -> Option<i64> {
        self.stats.iter().find(|(_, known)| **known == name.as_bytes()).map(|(id, _)| id)
    }

    /// The text that a statistic holds or refers to.
    pub(super) fn text(&self, value: StatValue<'a>) -> Option<&'a [u8]> {
        match value {
            StatValue::Text(text) => Some(text),
            StatValue::Reference(id) => self.stats.get(id as i64).copied(),
            _ => None,
        }
    }
}

impl LineHead {
    /// Reads what precedes the events of a line; behind them too, if that is not enough.
    pub(super) fn read(line: &[u8]) -> LineHead {
        let mut head = LineHead::default();
        for (field, value) in Fields::new(line) {
            match field {
                1 => head.id = value.signed(),
                2 => head.name = value.text(),
                3 => head.start = Nanos(value.signed()),
                4 if head.start != Nanos(0) && !head.name.is_empty() => break,
                11 if head.name.is_empty() => head.name = value.text(),
                _ => {}
            }
        }
        head
    }

    /// Its name without what distinguishes it from others of its kind: `tf_Compute/2080002745` is one of `tf_Compute`.
    pub(super) fn kind(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// The key and the value of an entry in a map; the value knows its key as well.
fn entry(value: Value<'_>) -> (i64, &[u8]) {
    let (mut key, mut message) = (0, &[][..]);
    for (field, value) in value.message() {
        match field {
            1 => key = value.signed(),
            2 => message = value.bytes(),
            _ => {}
        }
    }
    (key, message)
}

/// Where in the file a part of it begins.
pub(super) fn position(file: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(file.as_ptr() as usize).min(file.len())
}

/// The warnings that come with a file as a whole.
pub(super) fn warnings(space: &Space<'_>, file: &str) -> Vec<Warning> {
    const SHOWN: usize = 8;
    let shown = space.complaints.iter().take(SHOWN).map(|text| format!("the profiler says: {text}"));
    shown.map(|message| Warning::new(file, message)).collect()
}
