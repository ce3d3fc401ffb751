//! Protocol buffers for tests: a message is written field by field.

/// A message that is being written.
#[derive(Debug, Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn new() -> Message {
        Message::default()
    }

    /// Adds an integer.
    pub fn integer(mut self, field: u64, value: i64) -> Message {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    /// Adds a double.
    pub fn double(mut self, field: u64, value: f64) -> Message {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds text or bytes.
    pub fn text(mut self, field: u64, value: impl AsRef<[u8]>) -> Message {
        let value = value.as_ref();
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// Adds a message.
    pub fn message(self, field: u64, value: Message) -> Message {
        self.text(field, value.0)
    }

    /// Adds several messages under one field.
    pub fn messages(self, field: u64, values: impl IntoIterator<Item = Message>) -> Message {
        values.into_iter().fold(self, |message, value| message.message(field, value))
    }

    /// Adds integers packed together.
    pub fn packed(self, field: u64, values: &[i64]) -> Message {
        let mut packed = Message::new();
        values.iter().for_each(|value| packed.varint(*value as u64));
        self.text(field, packed.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
