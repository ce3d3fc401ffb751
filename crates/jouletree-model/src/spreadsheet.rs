//! Text in CSV files that spreadsheets open: names come from traces and programs, and must not become formulas.

use std::borrow::Cow;

/// What a formula begins with, also as wide letters; a spreadsheet drops blanks of these kinds before it looks.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text as a cell of a CSV file: one that a spreadsheet would take for a formula gets a `'` in front, as OWASP
/// recommends, and control characters are replaced. Numbers stay as they are.
pub fn in_spreadsheet(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(FORMULA) && text.parse::<f64>().is_err();
    if !is_formula && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let visible = text.chars().map(|letter| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    });
    let sign = if is_formula { "'" } else { "" };
    Cow::Owned(sign.chars().chain(visible).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn formulas_become_text() {
        for (text, cell) in [
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("+1+1", "'+1+1"),
            ("-cmd", "'-cmd"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("\r=1", "' =1"),
            ("＝1", "'＝1"),
            ("a\u{1b}[31mb\nc", "a\u{fffd}[31mb c"),
            ("layer_0/MatMul", "layer_0/MatMul"),
            ("-1.5e-3", "-1.5e-3"),
            ("+7", "+7"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(in_spreadsheet(text), cell, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_cell_is_a_formula(text in "[=+@\t\r\n\u{1b}a-c0-9 -]{0,8}") {
            let cell = in_spreadsheet(&text);
            prop_assert!(!cell.starts_with(FORMULA) || cell.parse::<f64>().is_ok(), "{:?}", cell);
            prop_assert!(!cell.contains(char::is_control));
            prop_assert_eq!(in_spreadsheet(&cell), cell.clone());
        }
    }
}
