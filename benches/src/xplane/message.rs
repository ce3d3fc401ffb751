//! Protocol buffers, as far as the benchmarks write and take them apart.

/// A protocol buffer that is being written.
#[derive(Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    /// Adds an integer.
    pub fn integer(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    /// Adds text or bytes.
    pub fn text(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    /// Adds a message.
    pub fn message(&mut self, field: u64, value: &Message) {
        self.text(field, &value.0);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A field of a message: its tag, its number or length, and all its bytes.
pub struct Field<'a> {
    /// Number and wire type.
    pub tag: u64,
    /// The number that it is, or its length.
    pub value: u64,
    /// Tag and content.
    pub bytes: &'a [u8],
}

impl<'a> Field<'a> {
    /// What is in it, for a message or text.
    pub fn content(&self) -> &'a [u8] {
        &self.bytes[self.bytes.len() - self.value as usize..]
    }
}

/// The fields of a message that is whole.
pub fn fields(message: &[u8]) -> Vec<Field<'_>> {
    let varint = |at: &mut usize| {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = message[*at];
            *at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < message.len() {
        let start = at;
        let tag = varint(&mut at);
        let value = if tag & 7 == 1 { 8 } else { varint(&mut at) };
        at += if tag & 7 == 0 { 0 } else { value as usize };
        found.push(Field { tag, value, bytes: &message[start..at] });
    }
    found
}
