//! Protocol buffers on the wire: a walker over fields that borrows everything and allocates nothing.
//!
//! Whatever the bytes, the walk ends: a length that reaches beyond its message, a number that does not end or a wire
//! type that does not exist stops it, and [`Fields::damage`] says where.

/// The fields of one message, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    damage: Option<usize>,
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    /// An integer, a truth value or an enumeration.
    Varint(u64),
    /// A string, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
    /// A double or a fixed integer.
    Fixed64(u64),
    /// A float or a fixed integer.
    Fixed32(u32),
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, at: 0, damage: None }
    }

    /// Where in the message the walk stopped because it could not go on.
    pub(crate) fn damage(&self) -> Option<usize> {
        self.damage
    }

    /// How far the walk has come.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The field that the walk stopped at, when only its end is missing: its number and what there is of it. The end
    /// of a file is the end of every message around it.
    pub(crate) fn cut(&self) -> Option<(u64, &'a [u8])> {
        let mut last = Fields { bytes: self.bytes, at: self.damage?, damage: None };
        let tag = last.varint()?;
        let length = last.varint()?;
        let there_is = self.bytes.get(last.at..)?;
        (tag & 7 == 2 && tag >> 3 > 0 && length > there_is.len() as u64).then_some((tag >> 3, there_is))
    }

    /// The next field, if it is a short message with this tag: the quick way through a long list of messages. `None`
    /// leaves everything to [`Fields::next`].
    #[inline]
    pub(crate) fn short_message(&mut self, tag: u8) -> Option<&'a [u8]> {
        let [found, length @ 0..=0x7f] = *self.bytes.get(self.at..self.at + 2)? else { return None };
        let end = self.at + 2 + usize::from(length);
        let message = self.bytes.get(self.at + 2..end).filter(|_| found == tag)?;
        self.at = end;
        Some(message)
    }

    /// The integer of the next field, if it has this tag.
    #[inline]
    pub(crate) fn integer(&mut self, tag: u8) -> Option<i64> {
        if self.bytes.get(self.at) != Some(&tag) {
            return None;
        }
        let start = self.at;
        self.at += 1;
        let value = self.varint();
        if value.is_none() {
            self.at = start;
        }
        value.map(|value| value as i64)
    }

    /// What has not been walked over.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    #[cold]
    fn stop<T>(&mut self, at: usize) -> Option<T> {
        self.damage = Some(at);
        self.at = self.bytes.len();
        None
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        if first < 0x80 {
            self.at += 1;
            return Some(u64::from(first));
        }
        self.long_varint()
    }

    /// A number of several bytes: up to eight are taken from one word, without a branch for each.
    #[inline]
    fn long_varint(&mut self) -> Option<u64> {
        let word = self.bytes.get(self.at..self.at + 8).and_then(|bytes| bytes.try_into().ok());
        if let Some(word) = word.map(u64::from_le_bytes) {
            let last = !word & 0x8080_8080_8080_8080;
            if last != 0 {
                // The bytes up to the first without a mark that more follow, then their sevens of bits together.
                let word = word & (last ^ (last - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
                let word = (word & 0x007f_007f_007f_007f) | (word & 0x7f00_7f00_7f00_7f00) >> 1;
                let word = (word & 0x0000_3fff_0000_3fff) | (word & 0x3fff_0000_3fff_0000) >> 2;
                self.at += last.trailing_zeros() as usize / 8 + 1;
                return Some((word & 0x0fff_ffff) | (word >> 32) << 28);
            }
        }
        self.slow_varint()
    }

    fn slow_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length))?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    #[inline]
    fn value(&mut self, wire_type: u64) -> Option<Value<'a>> {
        match wire_type {
            0 => self.varint().map(Value::Varint),
            1 => self.take(8)?.try_into().ok().map(|bytes| Value::Fixed64(u64::from_le_bytes(bytes))),
            2 => {
                let length = self.varint()?;
                self.take(length).map(Value::Bytes)
            }
            5 => self.take(4)?.try_into().ok().map(|bytes| Value::Fixed32(u32::from_le_bytes(bytes))),
            _ => None,
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u64, Value<'a>)> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let Some(tag) = self.varint() else { return self.stop(start) };
        match self.value(tag & 7) {
            Some(value) if tag >> 3 > 0 => Some((tag >> 3, value)),
            _ => self.stop(start),
        }
    }
}

impl<'a> Value<'a> {
    /// The integer in it; zero for anything else.
    pub(crate) fn unsigned(self) -> u64 {
        match self {
            Value::Varint(value) | Value::Fixed64(value) => value,
            Value::Fixed32(value) => u64::from(value),
            Value::Bytes(_) => 0,
        }
    }

    /// The signed integer in it; zero for anything else.
    pub(crate) fn signed(self) -> i64 {
        self.unsigned() as i64
    }

    /// The bytes in it; none for anything else.
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The text in it.
    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// The message in it.
    pub(crate) fn message(self) -> Fields<'a> {
        Fields::new(self.bytes())
    }

    /// The integers in it: one, or many packed together.
    pub(crate) fn integers(self) -> impl Iterator<Item = i64> + 'a {
        let (single, mut packed) = match self {
            Value::Bytes(bytes) => (None, Fields::new(bytes)),
            value => (Some(value.signed()), Fields::new(&[])),
        };
        single.into_iter().chain(std::iter::from_fn(move || packed.varint().map(|value| value as i64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type() {
        let bytes = [8, 0x96, 1, 18, 2, b'h', b'i', 25, 1, 0, 0, 0, 0, 0, 0, 0, 37, 2, 0, 0, 0];
        let mut fields = Fields::new(&bytes);
        let found: Vec<(u64, Value<'_>)> = fields.by_ref().collect();
        let wanted =
            [(1, Value::Varint(150)), (2, Value::Bytes(b"hi")), (3, Value::Fixed64(1)), (4, Value::Fixed32(2))];
        assert_eq!(found, wanted);
        assert_eq!(fields.damage(), None);
        assert_eq!(Value::Bytes(&[1, 0x96, 1]).integers().collect::<Vec<_>>(), [1, 150]);
        assert_eq!(Value::Varint(u64::MAX).integers().collect::<Vec<_>>(), [-1]);
    }

    #[test]
    fn numbers_of_every_length() {
        for bits in 0..64 {
            for value in [1_u64 << bits, u64::MAX >> bits, (1 << bits) - 1] {
                for padding in [0, 1, 9] {
                    let mut bytes = Vec::new();
                    let mut rest = value;
                    while rest >= 0x80 {
                        bytes.push(rest as u8 | 0x80);
                        rest >>= 7;
                    }
                    bytes.push(rest as u8);
                    let length = bytes.len();
                    bytes.extend(std::iter::repeat_n(0xff, padding));
                    let mut fields = Fields::new(&bytes);
                    assert_eq!((fields.varint(), fields.offset()), (Some(value), length), "{value} {padding}");
                }
            }
        }
    }

    #[test]
    fn what_there_is_of_a_cut_field_is_told() {
        let cut = |bytes: &'static [u8]| {
            let mut fields = Fields::new(bytes);
            fields.by_ref().for_each(drop);
            fields.cut()
        };
        assert_eq!(cut(&[8, 1, 18, 5, b'x']), Some((2, &b"x"[..])));
        assert_eq!(cut(&[18, 1]), Some((2, &b""[..])));
        assert_eq!(cut(&[18, 1, b'x']), None);
        assert_eq!(cut(&[18]), None);
        assert_eq!(cut(&[25, 1]), None);
    }

    #[test]
    fn quick_ways_lead_to_the_same_place() {
        let bytes = [8, 0x96, 1, 18, 2, b'h', b'i', 18, 3, b'x'];
        let mut fields = Fields::new(&bytes);
        assert_eq!(fields.short_message(18), None);
        assert_eq!((fields.integer(16), fields.integer(8)), (None, Some(150)));
        assert_eq!(fields.short_message(18), Some(&b"hi"[..]));
        assert_eq!((fields.short_message(18), fields.rest()), (None, &bytes[7..]));
        assert_eq!((fields.next(), fields.damage()), (None, Some(7)));
        let mut cut = Fields::new(&[8, 0x96]);
        assert_eq!((cut.integer(8), cut.offset()), (None, 0));
    }

    #[test]
    fn damage_ends_the_walk_and_is_told() {
        for (bytes, at) in [
            (&[8][..], 0),
            (&[8, 1, 18, 5, b'x'][..], 2),
            (&[8, 1, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1][..], 2),
            (&[15, 1][..], 0),
            (&[0, 1][..], 0),
            (&[18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1][..], 0),
        ] {
            let mut fields = Fields::new(bytes);
            assert!(fields.by_ref().count() <= 1);
            assert_eq!(fields.damage(), Some(at), "{bytes:?}");
        }
    }
}
