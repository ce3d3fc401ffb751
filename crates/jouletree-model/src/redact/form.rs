//! Secrets that are known by their form, wherever they are: tokens of well-known services, and passwords in addresses.

use super::REDACTED;

/// How tokens of a service begin, and how many letters follow at least.
const PREFIXES: [(&str, usize); 31] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("gldt-", 16),
    ("hf_", 16),
    ("api_org_", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AIza", 30),
    ("ya29.", 16),
    ("eyJ", 30),
    ("npm_", 20),
    ("pypi-", 20),
    ("dop_v1_", 20),
    ("nvapi-", 20),
    ("gsk_", 20),
    ("r8_", 20),
    ("hvs.", 20),
];
/// Addresses to which a message can be sent by anyone who has them: what follows is the secret.
const WEBHOOKS: [&str; 5] = [
    "://hooks.slack.com/services/",
    "://discord.com/api/webhooks/",
    "://discordapp.com/api/webhooks/",
    "://api.telegram.org/bot",
    ".webhook.office.com/webhookb2/",
];
/// A token has a stretch of so many letters and digits, with no sign between.
const STRETCH: usize = 10;

/// Whether a word is a token of a well-known service.
fn is_credential(word: &str) -> bool {
    PREFIXES.iter().any(|(prefix, least)| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= *least && is_random(rest))
    })
}

/// Whether a text looks as if it was drawn: it has a long stretch of letters and digits that is no word.
fn is_random(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|stretch| {
        let has = |is: fn(&u8) -> bool| stretch.as_bytes().iter().any(is);
        let is_mixed = has(u8::is_ascii_digit) || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        stretch.len() >= STRETCH && (is_mixed || stretch.len() >= 20)
    })
}

/// A text without such tokens and without passwords in addresses.
pub fn without_credentials(text: &str) -> String {
    without_tokens(&without_bearer(&without_webhooks(&without_passwords(text))))
}

fn without_webhooks(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let next = |text: &str| WEBHOOKS.iter().filter_map(|hook| Some(text.find(hook)? + hook.len())).min();
    while let Some(start) = next(rest) {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '<' | '>' | ')' | ',');
        let end = rest.find(is_end).unwrap_or(rest.len());
        result.push_str(if end > 0 { REDACTED } else { "" });
        rest = &rest[end..];
    }
    result.push_str(rest);
    result
}

fn without_tokens(text: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_letter) {
        let end = rest[start..].find(|letter| !is_letter(letter)).map_or(rest.len(), |length| start + length);
        result.push_str(&rest[..start]);
        let word = &rest[start..end];
        result.push_str(if is_credential(word) { REDACTED } else { word });
        rest = &rest[end..];
    }
    result.push_str(rest);
    result
}

/// `Bearer x` and `Basic x`, as in headers.
fn without_bearer(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let schemes = ["bearer ", "basic "];
    let next = |text: &str| {
        let small = text.to_ascii_lowercase();
        schemes.iter().filter_map(|scheme| Some(small.find(scheme)? + scheme.len())).min()
    };
    while let Some(start) = next(rest) {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | ',' | ';' | ')');
        let end = rest.find(is_end).unwrap_or(rest.len());
        let value = &rest[..end];
        let is_token = value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit() || byte == b'=');
        result.push_str(if is_token { REDACTED } else { value });
        rest = &rest[end..];
    }
    result.push_str(rest);
    result
}

/// `scheme://user:password@host`.
fn without_passwords(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://").map(|at| at + 3) {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let is_end =
            |letter: char| letter.is_whitespace() || matches!(letter, '/' | '?' | '#' | '"' | '\'' | '<' | '>');
        let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let Some((who, _)) = authority.rsplit_once('@') else { continue };
        match who.split_once(':') {
            Some((user, password)) if !password.is_empty() => {
                result.push_str(user);
                result.push(':');
                result.push_str(REDACTED);
            }
            // A token in the place of a user.
            None if who.len() >= 16 => result.push_str(REDACTED),
            _ => result.push_str(who),
        }
        rest = &rest[who.len()..];
    }
    result.push_str(rest);
    result
}
