//! How deeply a program is nested, found without parsing it: a parser takes some kilobytes of memory for each level, and a
//! file of two megabytes can have a million of them.

/// Where brackets and prefix operators are nested more than `most` levels deep, in bytes; `None` where they are not. What
/// is in strings and comments does not count, but what f-strings compute does.
pub(crate) fn too_deep(source: &str, most: usize) -> Option<u32> {
    let bytes = source.as_bytes();
    // The prefix operators before each open bracket, all levels, and the operators before the next operand.
    let (mut open, mut depth, mut prefixes) = (Vec::new(), 0_usize, 0_usize);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begin = at;
        at += 1;
        let mut inside = 0;
        match byte {
            b'#' => at = skip(bytes, at, |byte| byte != b'\n'),
            b'\'' | b'"' => {
                prefixes = 0;
                (at, _) = string(bytes, begin);
            }
            b'(' | b'[' | b'{' => {
                open.push(prefixes);
                depth += 1 + std::mem::take(&mut prefixes);
            }
            b')' | b']' | b'}' => {
                depth -= open.pop().map_or(0, |prefixes| 1 + prefixes);
                prefixes = 0;
            }
            b'-' | b'+' | b'~' => prefixes += 1,
            b'\n' if depth == 0 => prefixes = 0,
            // A lambda without parameters ends in a colon, and lines may be continued.
            b' ' | b'\t' | b'\r' | b'\n' | b'\x0c' | b'\\' | b':' => {}
            byte if is_of_word(*byte) => {
                at = skip(bytes, at, is_of_word);
                let word = &bytes[begin..at];
                if matches!(bytes.get(at), Some(b'\'' | b'"')) && is_formatted(word) {
                    (at, inside) = string(bytes, at);
                }
                prefixes = if matches!(word, b"not" | b"lambda" | b"await") { prefixes + 1 } else { 0 };
            }
            _ => prefixes = 0,
        }
        if depth + prefixes + inside > most {
            return u32::try_from(begin).ok();
        }
    }
    None
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether the letters before a quote make it a string that computes.
fn is_formatted(word: &[u8]) -> bool {
    word.len() <= 2 && word.iter().any(|letter| b"fFtT".contains(letter))
}

fn skip(bytes: &[u8], from: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_skipped(*byte)).unwrap_or(rest.len())
}

/// Where a string ends that begins with the quote at `from`, and how deeply brackets in it are nested.
fn string(bytes: &[u8], from: usize) -> (usize, usize) {
    let quote = bytes[from];
    let is_triple = |at: usize| bytes.get(at..at + 3).is_some_and(|three| three.iter().all(|byte| *byte == quote));
    let width = if is_triple(from) { 3 } else { 1 };
    let mut at = from + width;
    let (mut depth, mut deepest) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if width == 1 => return (at, deepest),
            byte if *byte == quote && (width == 1 || is_triple(at)) => return (at + width, deepest),
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    (bytes.len(), deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nested_is_deep() {
        let nested = |open: &str, close: &str, times: usize| {
            format!("x = {}1{}\n", open.repeat(times), close.repeat(times))
        };
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("-", ""), ("not ", ""), ("lambda: ", ""), ("f(-", ")")]
        {
            assert_eq!(too_deep(&nested(open, close, 90), 200), None, "{open}");
            assert!(too_deep(&nested(open, close, 300), 200).is_some(), "{open}");
        }
        assert_eq!(too_deep(&nested("(", ")", 300), 200), Some(204));
        assert!(too_deep(&format!("f\"{{{}\"", "(".repeat(300)), 200).is_some());
        let flat = [
            "(),".repeat(1000),
            "f(-(x)), ".repeat(1000),
            format!("'{}'", "(".repeat(1000)),
            format!("# {}\n", "(".repeat(1000)),
            format!("\"\"\"it's {}\n\"\"\"", "[".repeat(1000)),
            "- 1 ".repeat(1000),
            "x = 1\n-y\n".repeat(1000),
            "'\\'(' ".repeat(1000),
            "f'{x}' ".repeat(1000),
            "a[1:-1], ".repeat(1000),
        ];
        for text in flat {
            assert_eq!(too_deep(&text, 200), None, "{}", &text[..9]);
        }
        for text in ["'''", "f'\\", ")))", "'", "f\"{"] {
            assert_eq!(too_deep(text, 1), None, "{text}");
        }
    }
}
