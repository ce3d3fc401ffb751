//! Events and their statistics on the wire.

use crate::wire::{Fields, Value};

/// An event as it is in a line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RawEvent<'a> {
    /// The number of its name.
    pub(super) name: i64,
    /// When it began, in picoseconds since the start of its line.
    pub(super) offset: i64,
    /// How long it took, in picoseconds.
    pub(super) duration: i64,
    /// Whether it represents many runs and has no start.
    pub(super) is_sum: bool,
    /// The message from its first statistic on.
    rest: &'a [u8],
    /// Whether its message is damaged.
    pub(super) damaged: bool,
}

/// A statistic: a value and the number of its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stat<'a> {
    pub(super) id: i64,
    pub(super) value: StatValue<'a>,
}

/// The value of a statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StatValue<'a> {
    None,
    Integer(i64),
    Double,
    Text(&'a [u8]),
    /// The name of the statistic with this number.
    Reference(u64),
}

impl<'a> RawEvent<'a> {
    /// Reads an event up to its statistics, which are many and of interest in few events.
    #[inline]
    pub(super) fn read(message: &'a [u8]) -> RawEvent<'a> {
        RawEvent::usual(message).unwrap_or_else(|| RawEvent::unusual(message))
    }

    /// An event as profilers write it: name, start, duration, statistics.
    #[inline]
    fn usual(message: &'a [u8]) -> Option<RawEvent<'a>> {
        let mut fields = Fields::new(message);
        let (name, offset, duration) = (fields.integer(0x08)?, fields.integer(0x10)?, fields.integer(0x18));
        let rest = fields.rest();
        if duration.is_none() {
            // An instant, unless a duration follows the statistics after all.
            while fields.short_message(0x22).is_some() {}
        }
        let is_usual = fields.rest().first().is_none_or(|tag| *tag == 0x22 && duration.is_some());
        let duration = duration.unwrap_or(0);
        is_usual.then_some(RawEvent { name, offset, duration, is_sum: false, rest, damaged: false })
    }

    /// Any other event.
    fn unusual(message: &'a [u8]) -> RawEvent<'a> {
        let mut event = RawEvent::default();
        let mut fields = Fields::new(message);
        loop {
            let start = fields.offset();
            let Some((field, value)) = fields.next() else { break };
            match field {
                1 => event.name = value.signed(),
                2 => event.offset = value.signed(),
                3 => event.duration = value.signed(),
                4 if event.rest.is_empty() => event.rest = message.get(start..).unwrap_or_default(),
                5 => event.is_sum = true,
                _ => {}
            }
        }
        event.damaged = fields.damage().is_some();
        event
    }

    /// Its statistics.
    pub(super) fn stats(&self) -> impl Iterator<Item = Stat<'a>> + use<'a> {
        let mut fields = Fields::new(self.rest);
        std::iter::from_fn(move || next_message(&mut fields).map(Stat::read))
    }
}

/// The next event of a line, or the next statistic of an event: both are field 4.
#[inline]
pub(super) fn next_message<'a>(fields: &mut Fields<'a>) -> Option<&'a [u8]> {
    loop {
        if let Some(message) = fields.short_message(0x22) {
            return Some(message);
        }
        if let (4, value) = fields.next()? {
            return Some(value.bytes());
        }
    }
}

impl<'a> Stat<'a> {
    #[inline]
    pub(super) fn read(message: &'a [u8]) -> Stat<'a> {
        Stat::usual(message).unwrap_or_else(|| Stat::unusual(message))
    }

    /// A statistic with an integer or a reference, as profilers write it.
    #[inline]
    fn usual(message: &'a [u8]) -> Option<Stat<'a>> {
        let mut fields = Fields::new(message);
        let id = fields.integer(0x08)?;
        let value = match fields.rest().first()? {
            0x38 => StatValue::Reference(fields.integer(0x38)? as u64),
            tag @ (0x18 | 0x20) => StatValue::Integer(fields.integer(*tag)?),
            _ => return None,
        };
        fields.rest().is_empty().then_some(Stat { id, value })
    }

    /// Any other statistic.
    fn unusual(message: &'a [u8]) -> Stat<'a> {
        let mut stat = Stat { id: 0, value: StatValue::None };
        for (field, value) in Fields::new(message) {
            match field {
                1 => stat.id = value.signed(),
                2 => stat.value = StatValue::Double,
                3 | 4 => stat.value = StatValue::Integer(value.signed()),
                5 | 6 => stat.value = StatValue::Text(value.bytes()),
                7 => stat.value = StatValue::Reference(value.unsigned()),
                _ => {}
            }
        }
        stat
    }

    /// The statistics in the message of an event's name, which all events of that name share.
    pub(super) fn of_name(message: &'a [u8]) -> impl Iterator<Item = Stat<'a>> {
        Fields::new(message)
            .filter(|(field, _)| *field == 5)
            .map(|(_, value): (u64, Value<'a>)| Stat::read(value.bytes()))
    }
}

impl StatValue<'_> {
    /// The integer in it.
    pub(super) fn integer(self) -> Option<i64> {
        match self {
            StatValue::Integer(value) => Some(value),
            _ => None,
        }
    }
}
