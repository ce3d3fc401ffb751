//! Secrets in command lines: what is kept of a command is free of passwords, keys and tokens, as far as they can be
//! recognised.
//!
//! A value is a secret by its name (`--api-key X`, `API_KEY=X`, `?token=X`, `Authorization: X`), by its place (the
//! password in `scheme://user:password@host` or `--user name:password`; `program` knows more) or by its form (`ghp_…`, `AKIA…`). Everything else stays as it is: a name
//! is judged word by word, so that `--tokenizer`, `--max-tokens`, `--pad-token` and `--num-keys` name no secrets.

mod form;
mod name;
mod program;

use form::without_credentials;
use name::{is_flag, names_secret};

/// What is written in the place of a secret.
pub const REDACTED: &str = "REDACTED";

/// The words of a command line without secrets. As many words come out as go in; words without secrets are unchanged.
pub fn redacted<S: AsRef<str>>(words: &[S]) -> Vec<String> {
    let mut result = Vec::with_capacity(words.len());
    let mut is_expected = false;
    let mut before: Option<&str> = None;
    let mut programs = program::Programs::default();
    for word in words {
        let word = word.as_ref();
        let is_value = is_expected && !is_option(word);
        is_expected = option_name(word).is_some_and(|name| names_secret(name) && !is_flag(name));
        result.push(match programs.redacted(before, word) {
            Some(known) => known,
            None if is_value && !is_plain(word) => REDACTED.to_owned(),
            None => of_word(word),
        });
        programs.meet(word);
        before = Some(word);
    }
    result
}

/// A text without secrets: a word of a command line, which may be a whole command itself, or a piece of a program.
fn of_word(word: &str) -> String {
    let whole = word.trim_start_matches(['-', '+']);
    if let Some((name, value)) = whole.split_once('=')
        && is_name(name)
        && names_secret(name)
        && !value.contains(char::is_whitespace)
        // Else it was done before.
        && !value.trim_start_matches(['"', '\'']).starts_with(REDACTED)
    {
        let dashes = &word[..word.len() - whole.len()];
        return if is_plain(value) { word.to_owned() } else { format!("{dashes}{name}={REDACTED}") };
    }
    without_credentials(&without_named(word))
}

/// A text in which the values of secret names are replaced: `name=value`, `name: value`, `--name value`.
fn without_named(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name_letter) {
        let end = rest[start..].find(|letter| !is_name_letter(letter)).map_or(rest.len(), |length| start + length);
        let (before, name, after) = (&rest[..start], &rest[start..end], &rest[end..]);
        result.push_str(before);
        result.push_str(name);
        rest = after;
        let bare = name.trim_start_matches('-');
        let is_query = before.ends_with(['?', '&']);
        if !(names_secret(bare) || is_query && is_signature(bare)) {
            continue;
        }
        let is_option = bare.len() < name.len() && !is_flag(bare);
        let Some(between) = separator(after, is_option) else { continue };
        let value = value_of(&after[between..], &after[..between]);
        let is_next_option = is_option && value.quote.is_none() && value.text.starts_with('-');
        if is_plain(value.text) || is_next_option {
            continue;
        }
        result.push_str(&after[..between]);
        result.extend(value.quote);
        result.push_str(REDACTED);
        result.extend(value.quote);
        rest = &after[between + value.length..];
    }
    result.push_str(rest);
    result
}

/// How many bytes are between a name and its value, if what follows the name is one: `=`, `:`, perhaps with quotes and
/// blanks around, or blanks alone after an option.
fn separator(after: &str, is_option: bool) -> Option<usize> {
    let rest = after.strip_prefix(['"', '\'']).unwrap_or(after);
    // `os.environ["TOKEN"] = value`
    let rest = if rest.len() < after.len() { rest.strip_prefix(']').unwrap_or(rest) } else { rest };
    let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let before = after.len() - rest.len() + blanks(rest);
    let sign = after[before..].chars().next()?;
    // `a::b` and `key://` are no values; `==` compares.
    let is_doubled = after[before..].chars().nth(1).is_some_and(|next| next == sign || sign == ':' && next == '/');
    match sign {
        '=' | ':' if !is_doubled => Some(before + 1 + blanks(&after[before + 1..])),
        _ if is_option && before > 0 => Some(before),
        _ => None,
    }
}

/// A value in a text.
struct Value<'a> {
    text: &'a str,
    /// The quotes that it is in.
    quote: Option<char>,
    /// Its length with them, in bytes.
    length: usize,
}

/// The value at the beginning of a text, behind what is between it and its name.
fn value_of<'a>(text: &'a str, between: &str) -> Value<'a> {
    let is_end = |letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '&' | ')' | ']' | '}');
    if let Some(quote) = text.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
        let inner = &text[1..];
        let value = &inner[..inner.find(quote).unwrap_or(inner.len())];
        let closed = (value.len() + 2).min(text.len());
        // A shell joins what follows at once.
        let more = text[closed..].find(is_end).unwrap_or(text.len() - closed);
        let value = if more > 0 { &text[..closed + more] } else { value };
        return Value { text: value, quote: Some(quote), length: closed + more };
    }
    // A header has its value up to the end of the line; `Bearer x` is one value.
    let is_header = between.contains(": ") && !between.contains(['"', '\'']);
    let is_end = |letter: char| match is_header {
        true => matches!(letter, '\n' | '\r' | '"' | '\''),
        false => is_end(letter) || matches!(letter, '"' | '\''),
    };
    let value = &text[..text.find(is_end).unwrap_or(text.len())];
    Value { text: value, quote: None, length: value.len() }
}

/// The name of an option that takes the next word as its value.
fn option_name(word: &str) -> Option<&str> {
    let name = word.trim_start_matches('-');
    (name.len() < word.len() && is_name(name)).then_some(name)
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_letter)
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

/// Names of signatures in an address, which give access to anyone who has it.
fn is_signature(name: &str) -> bool {
    ["sig", "signature", "x-amz-signature", "x-amz-credential", "x-goog-signature", "x-goog-credential"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

/// A value that says whether there is a secret, or names the place where it is kept; not the secret itself.
fn is_plain(value: &str) -> bool {
    let words = ["", "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "-", REDACTED];
    let value = value.trim_matches(['"', '\'']);
    let variable =
        value.strip_prefix('$').map(|name| name.trim_matches(['{', '}'])).filter(|name| !name.is_empty());
    let is_capital = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let is_variable = variable.is_some_and(|name| name.chars().all(is_capital));
    words.iter().any(|word| word.eq_ignore_ascii_case(value)) || is_variable
}

#[cfg(test)]
mod tests;
