//! How deeply a program is nested, found without parsing it: a parser takes some kilobytes of memory for each level, and a
//! file of two megabytes can have a million of them.

/// Where a program is nested more than `most` levels deep, in bytes; `None` where it is not. Levels are brackets, prefix
/// operators, and what is nested to the right: powers, ternaries, lambdas and their defaults. What is in strings and
/// comments does not count, but what f-strings compute does.
pub(crate) fn too_deep(source: &str, most: usize) -> Option<u32> {
    let bytes = source.as_bytes();
    let (mut around, mut depth) = (Vec::new(), 0_usize);
    let mut level = Level::default();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let begin = at;
        at += 1;
        let mut inside = 0;
        match byte {
            b'#' => at = skip(bytes, at, |byte| byte != b'\n'),
            b'\'' | b'"' => {
                level.operand();
                (at, _) = string(bytes, begin);
            }
            b'(' | b'[' | b'{' => {
                depth += 1 + level.depth();
                around.push(std::mem::take(&mut level));
            }
            b')' | b']' | b'}' => {
                level = around.pop().map_or_else(Level::default, |outer| {
                    depth -= 1 + outer.depth();
                    outer
                });
                level.operand();
            }
            b'-' | b'+' | b'~' => level.sign(),
            b'*' if bytes.get(at) == Some(&b'*') => {
                at += 1;
                level.power();
            }
            b'\n' | b';' if around.is_empty() => level = Level::default(),
            // Lines may be continued.
            b'\\' => at += usize::from(bytes.get(at) == Some(&b'\r')) + usize::from(at < bytes.len()),
            b' ' | b'\t' | b'\r' | b'\n' | b'\x0c' => {}
            b',' => level.comma(),
            b':' => level.colon(),
            b'.' => {}
            byte if is_of_word(*byte) => {
                at = skip(bytes, at, is_of_word);
                let word = &bytes[begin..at];
                if matches!(bytes.get(at), Some(b'\'' | b'"')) && is_formatted(word) {
                    (at, inside) = string(bytes, at);
                }
                level.word(word);
            }
            _ => level.operator(),
        }
        if depth + level.depth() + inside > most {
            return u32::try_from(begin).ok();
        }
    }
    None
}

/// What is open between two brackets.
#[derive(Default)]
struct Level {
    /// The prefix operators before the next operand.
    prefixes: usize,
    /// The powers, with the signs of their exponents, whose exponent goes on.
    powers: usize,
    /// The ternaries and lambdas that go on.
    open: usize,
    /// The lambdas whose parameters go on.
    parameters: usize,
    is_after_operand: bool,
}

impl Level {
    fn depth(&self) -> usize {
        self.prefixes + self.powers + self.open
    }

    fn operand(&mut self) {
        (self.prefixes, self.is_after_operand) = (0, true);
    }

    /// An operator that binds less than a power.
    fn operator(&mut self) {
        (self.prefixes, self.powers, self.is_after_operand) = (0, 0, false);
    }

    fn sign(&mut self) {
        if self.is_after_operand {
            self.operator();
        } else if self.powers > 0 {
            self.powers += 1;
        } else {
            self.prefixes += 1;
        }
    }

    fn power(&mut self) {
        // Without a left operand it unpacks a mapping.
        self.powers += usize::from(self.is_after_operand);
        self.is_after_operand = false;
    }

    fn comma(&mut self) {
        self.operator();
        // A comma between parameters ends no lambda.
        if self.parameters == 0 {
            self.open = 0;
        }
    }

    fn colon(&mut self) {
        match self.parameters.checked_sub(1) {
            Some(parameters) => (self.parameters, self.is_after_operand) = (parameters, false),
            None => *self = Level::default(),
        }
    }

    fn word(&mut self, word: &[u8]) {
        match word {
            b"not" | b"await" => {
                self.is_after_operand = false;
                self.sign();
            }
            b"lambda" => {
                self.operator();
                (self.open, self.parameters) = (self.open + 1, self.parameters + 1);
            }
            b"else" => {
                self.operator();
                self.open += 1;
            }
            b"and" | b"or" | b"in" | b"is" | b"if" | b"for" | b"return" | b"yield" | b"from" => self.operator(),
            _ => self.operand(),
        }
    }
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

/// Where a string ends that begins with the quote at `from`, and how deeply what it computes may be nested: by brackets, and
/// at most by everything else that nests.
fn string(bytes: &[u8], from: usize) -> (usize, usize) {
    let quote = bytes[from];
    let is_triple = |at: usize| bytes.get(at..at + 3).is_some_and(|three| three.iter().all(|byte| *byte == quote));
    let width = if is_triple(from) { 3 } else { 1 };
    let mut at = from + width;
    // Of the interpolation at hand: its brackets, and whatever else may nest in it.
    let (mut depth, mut others, mut deepest) = (0_usize, 0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' if width == 1 => return (at, deepest),
            byte if *byte == quote && (width == 1 || is_triple(at)) => return (at + width, deepest),
            // A doubled brace is text.
            b'{' if depth == 0 && bytes.get(at + 1) == Some(&b'{') => at += 1,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                others = if depth == 0 { 0 } else { others };
            }
            _ if depth == 0 => {}
            b'-' | b'+' | b'~' | b'*' => others += 1,
            _ => others += usize::from(NESTING.iter().any(|word| bytes[at..].starts_with(word))),
        }
        deepest = deepest.max(depth + others);
        at += 1;
    }
    (bytes.len(), deepest)
}

/// The words that nest what follows them.
const NESTING: [&[u8]; 4] = [b"lambda", b"else", b"not", b"await"];

#[cfg(test)]
mod tests {
    use super::*;

    const TO_THE_RIGHT: [(&str, &str); 10] = [
        ("x**", ""),
        ("x ** -", ""),
        ("x ** f(y)[z] ** ", ""),
        ("x \\\n** ", ""),
        ("x if y else ", ""),
        ("x if y < 1 else z + ", ""),
        ("lambda a, b: ", ""),
        ("lambda a=", ": 1"),
        ("lambda a, b=[1], c=", ": 1"),
        ("x if y else lambda *a: ", ""),
    ];

    #[test]
    fn only_what_is_nested_is_deep() {
        let nested = |open: &str, close: &str, times: usize| {
            format!("x = {}1{}\n", open.repeat(times), close.repeat(times))
        };
        for (open, close) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("-", ""), ("not ", ""), ("lambda: ", ""), ("f(-", ")")]
                .into_iter()
                .chain(TO_THE_RIGHT)
        {
            assert_eq!(too_deep(&nested(open, close, 60), 200), None, "{open}");
            assert!(too_deep(&nested(open, close, 300), 200).is_some(), "{open}");
        }
        assert_eq!(too_deep(&nested("(", ")", 300), 200), Some(204));
        for text in ["(", "lambda a=", "x**", "x if y else ", "-", "not "] {
            assert!(too_deep(&format!("f\"{{{}\"", text.repeat(300)), 200).is_some(), "{text}");
        }
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
            "x ** 2 + ".repeat(1000),
            "x ** -2 < y and ".repeat(1000),
            "f(**x, **y), ".repeat(1000),
            "x if y else z, ".repeat(1000),
            "(lambda a, b=1: a), ".repeat(1000),
            "{a: b if c else d}, ".repeat(1000),
            "if x: y = 1\nelse: y = 2\n".repeat(1000),
            "x = y if z else 1;".repeat(1000),
            "not x or ".repeat(1000),
            format!("f'{}'", "{x - 1}".repeat(1000)),
            format!("f'{{{{{}}}}}'", "a-b: c; ".repeat(1000)),
        ];
        for text in flat {
            assert_eq!(too_deep(&text, 200), None, "{}", &text[..9]);
        }
        for text in ["'''", "f'\\", ")))", "'", "f\"{"] {
            assert_eq!(too_deep(text, 1), None, "{text}");
        }
    }
}
