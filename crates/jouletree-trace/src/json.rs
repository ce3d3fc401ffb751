//! A scanner over JSON text that looks only at what is asked for.
//!
//! Trace files are large and mostly made of unneeded arguments. This scanner hands out borrowed slices and steps
//! over everything else without building values, which a general parser cannot do at the same speed. It promises to
//! find the end of every well-formed value; it does not check that what it steps over is well formed inside.

/// Why a piece of JSON could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text ends in the middle; more of it may help.
    End,
    /// The text at this offset is not what JSON allows there.
    Wrong { at: usize, expected: &'static str },
}

/// A string as it is in the text, without its quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RawStr<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) escaped: bool,
}

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct Scanner<'a> {
    length: usize,
    /// What has not been read yet.
    rest: &'a [u8],
}

/// How much deeper a byte leads, modulo 2³².
const DEPTH: [u32; 256] = {
    let mut depth = [0; 256];
    depth[b'{' as usize] = 1;
    depth[b'[' as usize] = 1;
    depth[b'}' as usize] = u32::MAX;
    depth[b']' as usize] = u32::MAX;
    depth
};

/// Whether a byte can be in a number.
const NUMERIC: [bool; 256] = {
    let mut numeric = [false; 256];
    let bytes = b"0123456789.-+eE";
    let mut index = 0;
    while index < bytes.len() {
        numeric[bytes[index] as usize] = true;
        index += 1;
    }
    numeric
};

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of every byte of `word` that equals `byte`, up to and including the first such byte.
#[inline]
const fn equal_bytes(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * byte as u64);
    difference.wrapping_sub(ONES) & !difference & HIGHS
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { length: text.len(), rest: text }
    }

    /// How far the text has been read.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    /// What has not been read yet.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[cold]
    fn wrong<T>(&self, expected: &'static str) -> Result<T, Stop> {
        if self.rest.is_empty() { Err(Stop::End) } else { Err(Stop::Wrong { at: self.offset(), expected }) }
    }

    /// The next eight bytes, if there are so many.
    #[inline]
    fn word(&self) -> Option<u64> {
        self.rest.first_chunk::<8>().map(|chunk| u64::from_le_bytes(*chunk))
    }

    /// The next byte that is not white space, which is not consumed.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Stop> {
        match self.rest.first() {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => self.peek_after_space(),
        }
    }

    fn peek_after_space(&mut self) -> Result<u8, Stop> {
        while let Some(word) = self.word() {
            // The high bit of every byte above a space: JSON's white space is all below, and nothing else may be.
            let solid = (((word & !HIGHS) + ONES * (0x7f - b' ') as u64) | word) & HIGHS;
            self.rest = &self.rest[solid.trailing_zeros() as usize / 8..];
            if solid != 0 {
                break;
            }
        }
        while let Some((byte, rest)) = self.rest.split_first() {
            if *byte > b' ' {
                return Ok(*byte);
            }
            self.rest = rest;
        }
        Err(Stop::End)
    }

    /// Consumes `byte` after white space.
    #[inline]
    pub(crate) fn require(&mut self, byte: u8, expected: &'static str) -> Result<(), Stop> {
        if self.accept(byte)? { Ok(()) } else { self.wrong(expected) }
    }

    /// Consumes `byte` after white space if it is there.
    #[inline]
    pub(crate) fn accept(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == byte;
        self.rest = &self.rest[usize::from(found)..];
        Ok(found)
    }

    /// Steps to the next member of an object or array that `close` ends: `false` when there is none. `first` says
    /// that nothing has been read of it yet.
    #[inline]
    pub(crate) fn next_member(&mut self, first: &mut bool, close: u8) -> Result<bool, Stop> {
        let byte = self.peek()?;
        if byte == b',' && !*first {
            self.rest = &self.rest[1..];
            return Ok(true);
        }
        if byte == close {
            self.rest = &self.rest[1..];
            return Ok(false);
        }
        if std::mem::take(first) { Ok(true) } else { self.wrong("`,` or the end of the list") }
    }

    /// Consumes a key and its colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<RawStr<'a>, Stop> {
        let key = self.string()?;
        self.require(b':', "`:`")?;
        Ok(key)
    }

    /// Consumes a string.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<RawStr<'a>, Stop> {
        self.require(b'"', "a string")?;
        let body = self.rest;
        let escaped = self.skip_string_body()?;
        Ok(RawStr { bytes: &body[..body.len() - self.rest.len() - 1], escaped })
    }

    /// Steps over the rest of a string and its closing quote; returns whether it holds an escape.
    #[inline]
    fn skip_string_body(&mut self) -> Result<bool, Stop> {
        let mut escaped = false;
        loop {
            // Eight bytes at a time up to a quote or a backslash.
            while let Some(word) = self.word() {
                let hits = equal_bytes(word, b'"') | equal_bytes(word, b'\\');
                self.rest = &self.rest[hits.trailing_zeros() as usize / 8..];
                if hits != 0 {
                    break;
                }
            }
            match self.rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok(escaped);
                }
                [b'\\', _, rest @ ..] => {
                    escaped = true;
                    self.rest = rest;
                }
                [] | [b'\\'] => {
                    self.rest = &[];
                    return Err(Stop::End);
                }
                [_, rest @ ..] => self.rest = rest,
            }
        }
    }

    /// Consumes a number and returns its text.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<&'a [u8], Stop> {
        self.peek()?;
        let length = self.rest.iter().position(|byte| !NUMERIC[usize::from(*byte)]);
        // A number at the very end may go on in the next piece of the text.
        let length = length.ok_or(Stop::End)?;
        if length == 0 {
            return self.wrong("a number");
        }
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(number)
    }

    /// Consumes a number, or the number inside a string; anything else is stepped over and is `None`.
    #[inline]
    pub(crate) fn lenient_number(&mut self) -> Result<Option<&'a [u8]>, Stop> {
        match self.peek()? {
            b'0'..=b'9' | b'-' => self.number().map(Some),
            b'"' => self.string().map(|text| Some(text.bytes)),
            _ => self.skip_value().map(|()| None),
        }
    }

    /// Consumes a value of any kind and returns its text.
    pub(crate) fn raw_value(&mut self) -> Result<&'a [u8], Stop> {
        self.peek()?;
        let value = self.rest;
        self.skip_value()?;
        Ok(&value[..value.len() - self.rest.len()])
    }

    /// Steps over a value of any kind.
    pub(crate) fn skip_value(&mut self) -> Result<(), Stop> {
        match self.peek()? {
            b'"' => {
                self.rest = &self.rest[1..];
                self.skip_string_body().map(drop)
            }
            b'{' | b'[' => self.skip_nested(),
            b'0'..=b'9' | b'-' => self.number().map(drop),
            _ => self.skip_word(),
        }
    }

    /// Steps over an object or an array by counting brackets outside of strings.
    fn skip_nested(&mut self) -> Result<(), Stop> {
        let mut depth = 0_u32;
        loop {
            let stop = self.rest.iter().position(|byte| {
                depth = depth.wrapping_add(DEPTH[usize::from(*byte)]);
                depth == 0 || *byte == b'"'
            });
            self.rest = &self.rest[stop.ok_or(Stop::End)? + 1..];
            if depth == 0 {
                return Ok(());
            }
            self.skip_string_body()?;
        }
    }

    /// Steps over `true`, `false`, `null` and what sloppy writers put in their place (`NaN`, `Infinity`).
    fn skip_word(&mut self) -> Result<(), Stop> {
        match self.rest.iter().position(|byte| !byte.is_ascii_alphabetic()) {
            Some(0) => self.wrong("a value"),
            Some(length) => {
                self.rest = &self.rest[length..];
                Ok(())
            }
            None => Err(Stop::End),
        }
    }
}

impl RawStr<'_> {
    /// The string with its escapes undone; bytes that are not UTF-8 become replacement characters.
    pub(crate) fn text(&self) -> String {
        if self.escaped {
            let quoted = [b"\"", self.bytes, b"\""].concat();
            if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
                return text;
            }
        }
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

/// A decimal number of microseconds as whole nanoseconds, exactly: never through floating point, which cannot hold
/// epoch microseconds with their fractions. Digits below a nanosecond are rounded to the nearest.
pub(crate) fn nanos_from_micros(text: &[u8]) -> Option<i64> {
    // Almost every time stamp is whole or has three decimals.
    if let [whole @ .., b'.', a, b, c] = text
        && let Some(micros) = few_digits(whole)
        && let Some(nanos) = few_digits(&[*a, *b, *c])
    {
        return micros.checked_mul(1000)?.checked_add(nanos);
    }
    match few_digits(text) {
        Some(micros) => micros.checked_mul(1000),
        None => scaled_decimal(text, 3),
    }
}

/// A number of one to eighteen digits and nothing else, which always fits.
#[inline]
fn few_digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    let mut value = 0;
    let mut wrong = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        wrong |= u8::from(digit > 9);
        value = value * 10 + i64::from(digit & 15);
    }
    (wrong == 0).then_some(value)
}

/// A decimal number in any form, times ten to the `places`, exactly: `1.5` with three places is 1500. Digits below one
/// are rounded to the nearest.
pub(crate) fn scaled_decimal(text: &[u8], places: i32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut value = 0_i64;
    let mut fraction: Option<i32> = None;
    let mut round_up = false;
    let mut any = false;
    for (index, byte) in digits.iter().enumerate() {
        match (byte, fraction) {
            (b'0'..=b'9', Some(read)) if read >= places => {
                if read == places {
                    round_up = *byte >= b'5';
                }
                fraction = Some(read.saturating_add(1));
            }
            (b'0'..=b'9', _) => {
                any = true;
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                fraction = fraction.map(|read| read + 1);
            }
            (b'.', None) => fraction = Some(0),
            (b'e' | b'E', _) => {
                return scaled_scientific(negative, &digits[..index], &digits[index + 1..], places);
            }
            _ => return None,
        }
    }
    if !any {
        return None;
    }
    for _ in fraction.unwrap_or(0).min(places)..places {
        value = value.checked_mul(10)?;
    }
    value = value.checked_add(i64::from(round_up))?;
    Some(if negative { -value } else { value })
}

/// The same for `1.5e6`, by moving the point in the text.
fn scaled_scientific(negative: bool, mantissa: &[u8], exponent: &[u8], places: i32) -> Option<i64> {
    let exponent: i32 = std::str::from_utf8(exponent).ok()?.parse().ok()?;
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let mut digits: Vec<u8> = mantissa.iter().copied().filter(|byte| *byte != b'.').collect();
    let point = i32::try_from(point).ok()?.checked_add(exponent)?;
    if !(-32..=32).contains(&point) || digits.len() > 64 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    for _ in point..0 {
        digits.insert(0, b'0');
    }
    let point = point.max(0) as usize;
    while digits.len() < point {
        digits.push(b'0');
    }
    digits.insert(point, b'.');
    digits.insert(0, b'0');
    scaled_decimal(&digits, places).map(|value| if negative { -value } else { value })
}

/// A whole number, if the text is one.
#[inline]
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    few_digits(text).or_else(|| std::str::from_utf8(text).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_over_whatever_json_allows() {
        let text = br#"{"a": [1, {"b": "]}\""}, null], "c": -1.5e3, "d": "x\\", "e": true} tail"#;
        let mut scanner = Scanner::new(text);
        scanner.skip_value().unwrap();
        assert_eq!(&text[scanner.offset()..], b" tail");
    }

    #[test]
    fn every_prefix_of_a_value_asks_for_more() {
        let text = br#"{"name": "a\"b", "list": [1, 2, {"x": null}], "n": 12}"#;
        for length in 0..text.len() {
            assert_eq!(Scanner::new(&text[..length]).skip_value(), Err(Stop::End), "{length}");
        }
        assert_eq!(Scanner::new(text).skip_value(), Ok(()));
    }

    #[test]
    fn says_where_the_text_is_wrong() {
        assert_eq!(Scanner::new(b"  ?").skip_value(), Err(Stop::Wrong { at: 2, expected: "a value" }));
        assert_eq!(Scanner::new(b"12").string(), Err(Stop::Wrong { at: 0, expected: "a string" }));
    }

    #[test]
    fn strings_are_found_across_words_and_unescaped() {
        let mut scanner = Scanner::new(br#""0123456789abcdef" "tab\there" "\u00b5s""#);
        assert_eq!(scanner.string().unwrap().text(), "0123456789abcdef");
        assert_eq!(scanner.string().unwrap().text(), "tab\there");
        assert_eq!(scanner.string().unwrap().text(), "µs");
    }

    #[test]
    fn microseconds_become_exact_nanoseconds() {
        for (text, nanos) in [
            ("1712195495406752.797", Some(1_712_195_495_406_752_797)),
            ("3914857310336.756", Some(3_914_857_310_336_756)),
            ("1794770717482593", Some(1_794_770_717_482_593_000)),
            ("68.0", Some(68_000)),
            ("0.0004", Some(0)),
            ("0.0005", Some(1)),
            ("-1.25", Some(-1250)),
            ("1.5e3", Some(1_500_000)),
            ("25E-1", Some(2500)),
            ("1e-40", None),
            ("99999999999999999999", None),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("abc", None),
        ] {
            assert_eq!(nanos_from_micros(text.as_bytes()), nanos, "{text}");
        }
    }
}
