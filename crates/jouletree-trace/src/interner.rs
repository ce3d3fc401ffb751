//! Strings as numbers: a trace repeats few names many times.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::json::RawStr;

/// The distinct strings of a file, numbered in the order in which they were first seen.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    strings: IndexSet<Box<[u8]>, FxBuildHasher>,
}

impl Interner {
    /// The number of a string in a file.
    #[inline]
    pub(crate) fn raw(&mut self, string: RawStr<'_>) -> u32 {
        if string.escaped { self.bytes(string.text().as_bytes()) } else { self.bytes(string.bytes) }
    }

    /// The number of a string.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> u32 {
        let index = match self.strings.get_index_of(bytes) {
            Some(index) => index,
            None => self.strings.insert_full(bytes.into()).0,
        };
        index as u32
    }

    /// The number of a string, if it has been seen.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.strings.get_index_of(text.as_bytes()).map(|index| index as u32)
    }

    /// The string with this number.
    pub(crate) fn get(&self, number: u32) -> std::borrow::Cow<'_, str> {
        let bytes = self.strings.get_index(number as usize).map(|bytes| &**bytes).unwrap_or_default();
        String::from_utf8_lossy(bytes)
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.strings.len()
    }
}
