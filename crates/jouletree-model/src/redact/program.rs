//! Secrets that a program takes in a place of its own: `curl -u name:password`, `sshpass -p password`, `wandb login KEY`.

use super::{REDACTED, is_plain};

/// Options whose value is `name:password`.
const NAME_AND_PASSWORD: [&str; 4] = ["-u", "--user", "--proxy-user", "-U"];
/// Programs whose `-p` is a password, perhaps in the same word.
const SHORT_PASSWORD: [&str; 7] =
    ["sshpass", "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"];
/// What `--pass` takes that is no password: passes of a training, and numbers.
const PASSES: [&str; 5] = ["forward", "backward", "optimizer", "other", "all"];

/// The programs that a command line has named so far.
#[derive(Default)]
pub(super) struct Programs {
    takes_short_password: bool,
    is_sshpass: bool,
}

impl Programs {
    /// Looks whether a word is one of them.
    pub(super) fn meet(&mut self, word: &str) {
        let name = word.rsplit('/').next().unwrap_or(word);
        self.takes_short_password |= SHORT_PASSWORD.contains(&name);
        self.is_sshpass |= name == "sshpass";
    }

    /// A word without the secret that it holds by its place; `None` if it holds none.
    pub(super) fn redacted(&self, before: Option<&str>, word: &str) -> Option<String> {
        if let Some(password) = word.strip_prefix("-p").filter(|_| self.takes_short_password) {
            return (!is_plain(password)).then(|| format!("-p{REDACTED}"));
        }
        let is_secret = match before? {
            // Elsewhere `-p` asks for the password, and the next word is something else.
            "-p" => self.is_sshpass,
            "--pass" | "-pass" => !PASSES.contains(&word) && !is_number(word),
            "--pat" => true,
            "login" => is_key(word),
            option if NAME_AND_PASSWORD.contains(&option) => return without_password(word),
            _ => false,
        };
        (is_secret && !word.starts_with('-') && !is_plain(word)).then(|| REDACTED.to_owned())
    }
}

/// `name:password` without the password. Two numbers are a user and a group.
fn without_password(word: &str) -> Option<String> {
    let (name, password) = word.split_once(':')?;
    let is_group = is_number(name) && is_number(password);
    let is_known = is_group || is_plain(password) || password.starts_with("//");
    (!is_known).then(|| format!("{name}:{REDACTED}"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A key as services give them: long, and of hexadecimal digits.
fn is_key(word: &str) -> bool {
    word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
