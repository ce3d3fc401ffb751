//! The font of the figures: what it can write, how wide a text is, and texts that are made to fit.
//!
//! The font has neither kerning nor ligatures, so that a text is as wide as its characters together, wherever it is drawn.

use std::sync::LazyLock;

use ttf_parser::Face;

/// The file of the font.
pub static FONT: &[u8] = include_bytes!("../../fonts/DejaVuSansCondensed.ttf");
/// Replaces a character that the font does not have.
const UNKNOWN: char = '\u{fffd}';
/// Replaces what was left out.
const LEFT_OUT: char = '…';
/// Of longer texts the middle is left out at once: no figure has room for more.
const LONGEST: usize = 400;
/// After these a line may end.
const BREAKS: [char; 6] = ['/', '_', '.', '-', ' ', ':'];

/// How far a letter reaches above its line, as a part of the size.
pub const CAP: f64 = 0.73;
/// The distance of two lines, as a part of the size.
pub const LINE: f64 = 1.24;

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(FONT, 0).ok());

/// A text with only what the font has, on one line.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        let letter = match letter {
            letter if letter.is_whitespace() => ' ',
            letter if glyph_width(letter).is_some() => letter,
            _ => UNKNOWN,
        };
        // Viewers make one space of several.
        if letter != ' ' || !printable.ends_with(' ') && !printable.is_empty() {
            printable.push(letter);
        }
    }
    printable.truncate(printable.trim_end().len());
    printable
}

/// How wide a printable text is at this size.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|letter| glyph_width(letter).unwrap_or(1.0)).sum::<f64>() * size
}

/// A text as it fits into a width: its middle is left out if need be; empty when not even a few letters fit.
pub fn fitted(text: &str, room: f64, size: f64) -> String {
    lines(text, room, size, 1).pop().unwrap_or_default()
}

/// A text on at most so many lines, each of which fits: its middle is left out if need be; no line when not even a few letters
/// fit.
pub fn lines(text: &str, room: f64, size: f64, most: usize) -> Vec<String> {
    let letters: Vec<char> = printable(&beginning_and_end(text)).chars().collect();
    let of = |kept: usize| broken(&shortened(&letters, kept), room, size).filter(|lines| lines.len() <= most);
    if let Some(lines) = of(letters.len()) {
        return lines;
    }
    // The fewest letters that do not fit; fewer letters never need more room.
    let (mut fits, mut too_many) = (0, letters.len());
    while fits + 1 < too_many {
        let middle = (fits + too_many) / 2;
        if of(middle).is_some() { fits = middle } else { too_many = middle }
    }
    if fits < 3 { Vec::new() } else { of(fits).unwrap_or_default() }
}

fn glyph_width(letter: char) -> Option<f64> {
    let face = FACE.as_ref()?;
    let glyph = face.glyph_index(letter).filter(|glyph| glyph.0 != 0)?;
    Some(f64::from(face.glyph_hor_advance(glyph)?) / f64::from(face.units_per_em()))
}

fn beginning_and_end(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let end = text.chars().skip(count - LONGEST / 2);
    text.chars().take(LONGEST / 2).chain([LEFT_OUT]).chain(end).collect()
}

/// So many letters, most of them from the end, which says more about a path than its beginning.
fn shortened(letters: &[char], kept: usize) -> Vec<char> {
    if kept >= letters.len() {
        return letters.to_vec();
    }
    let first = kept * 2 / 5;
    let last = letters.len() - (kept - first);
    letters[..first].iter().copied().chain([LEFT_OUT]).chain(letters[last..].iter().copied()).collect()
}

/// Whether a line may end after a letter: at a sign, or before a capital letter in the middle of a name.
fn ends_word(letters: &[char], at: usize) -> bool {
    let is_small = letters.get(at).is_some_and(|letter| letter.is_lowercase());
    let is_capital_next = letters.get(at + 1).is_some_and(|letter| letter.is_uppercase());
    letters.get(at).is_some_and(|letter| BREAKS.contains(letter)) || is_small && is_capital_next
}

/// The text in lines that fit; `None` when a single letter does not.
fn broken(letters: &[char], room: f64, size: f64) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    let mut rest = letters;
    while !rest.is_empty() {
        let mut used = 0.0;
        let fitting = rest
            .iter()
            .take_while(|letter| {
                used += glyph_width(**letter).unwrap_or(1.0) * size;
                used <= room
            })
            .count();
        let end = match fitting {
            0 => return None,
            all if all == rest.len() => all,
            some => {
                let at_break = (0..some).rev().find(|at| ends_word(rest, *at));
                // A line that is nearly empty looks worse than a word that is cut.
                at_break.map(|at| at + 1).filter(|end| *end * 3 > some).unwrap_or(some)
            }
        };
        let line: String = rest[..end].iter().collect();
        lines.push(line.trim().to_owned());
        rest = &rest[end..];
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_grow_with_the_size() {
        assert!((width("ab", 10.0) - width("a", 10.0) - width("b", 10.0)).abs() < 1e-9);
        assert!((width("query", 14.0) - 2.0 * width("query", 7.0)).abs() < 1e-9);
        assert!(width("i", 7.0) < width("W", 7.0));
    }

    #[test]
    fn what_the_font_lacks_is_marked_and_lines_are_joined() {
        assert_eq!(printable(" a\n\t b\u{0}\u{1b}層 "), "a b\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(printable("αβ µ → … <é>"), "αβ µ → … <é>");
        assert_eq!(printable("\n \t"), "");
    }

    #[test]
    fn texts_fit_and_lose_only_their_middle() {
        let path = "bert/encoder/layer_0/attention/self/query/MatMul";
        assert_eq!(fitted(path, 1000.0, 7.0), path);
        for room in 0..200 {
            let fitted = fitted(path, f64::from(room), 7.0);
            assert!(width(&fitted, 7.0) <= f64::from(room), "{room}: {fitted}");
            if let Some((first, last)) = fitted.split_once(LEFT_OUT) {
                assert!(path.starts_with(first) && path.ends_with(last) && last.len() >= first.len(), "{fitted}");
            }
        }
        assert_eq!(fitted(path, 1.0, 7.0), "");
        let long = fitted(&"x".repeat(4000), 100.0, 7.0);
        assert!(long.contains(LEFT_OUT) && width(&long, 7.0) > 80.0, "{long}");
    }

    #[test]
    fn lines_end_where_words_do() {
        let two = lines("attention/self/query", 40.0, 7.0, 3);
        assert_eq!(two, ["attention/", "self/query"]);
        assert_eq!(lines("cudaStreamSynchronize", 60.0, 7.0, 2), ["cudaStream", "Synchronize"]);
        let cut = lines(&"word_".repeat(100), 40.0, 7.0, 2);
        assert_eq!(cut.len(), 2);
        assert!(cut.concat().contains(LEFT_OUT) && cut.iter().all(|line| width(line, 7.0) <= 40.0), "{cut:?}");
        assert!(lines("abc", 0.5, 7.0, 2).is_empty());
        assert!(lines("", 10.0, 7.0, 2).is_empty());
    }
}
