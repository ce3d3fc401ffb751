//! Secrets that a program takes in a place of its own: `curl -u name:password`, `sshpass -p password`, `wandb login KEY`.

use super::name::names_secret;
use super::{REDACTED, is_plain};

/// Options whose value is `name:password`.
const NAME_AND_PASSWORD: [&str; 4] = ["-u", "--user", "--proxy-user", "-U"];
/// Programs whose `-p` is a password in the same word.
const SHORT_PASSWORD: [&str; 10] =
    ["sshpass", "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "7z", "7za", "7zr"];
/// Programs with the option whose next word is a password.
const OPTIONS: [(&str, &str); 10] = [
    ("sshpass", "-p"),
    ("redis-cli", "-a"),
    ("zip", "-P"),
    ("unzip", "-P"),
    ("sqlcmd", "-P"),
    ("bcp", "-P"),
    ("ldapsearch", "-w"),
    ("ldapmodify", "-w"),
    ("vault", "login"),
    ("openssl", "-k"),
];
/// Programs whose `-p` is a password after `login`; elsewhere it is a port.
const LOGIN: [&str; 7] = ["docker", "podman", "nerdctl", "helm", "oc", "az", "skopeo"];
/// Words before the name and the value of a setting: `aws configure set NAME VALUE`.
const SETTERS: [&str; 5] = ["set", "config", "modify", "configure", "add"];
/// What `--pass` takes that is no password: passes of a training, and numbers.
const PASSES: [&str; 5] = ["forward", "backward", "optimizer", "other", "all"];

/// The programs that a command line has named so far.
#[derive(Default)]
pub(super) struct Programs {
    takes_short_password: bool,
    /// Those of [`OPTIONS`], by their places.
    options: Vec<&'static str>,
    has_login: bool,
    logs_in: bool,
    sets: bool,
    /// Whether the last word is the name of a setting that is a secret.
    names_setting: bool,
}

impl Programs {
    /// Looks whether a word is one of them.
    pub(super) fn meet(&mut self, word: &str) {
        let name = word.rsplit('/').next().unwrap_or(word);
        self.takes_short_password |= SHORT_PASSWORD.contains(&name);
        self.options.extend(OPTIONS.iter().filter(|(program, _)| *program == name).map(|(_, option)| *option));
        self.has_login |= LOGIN.contains(&name);
        self.logs_in |= self.has_login && word == "login";
        self.names_setting = self.sets && word.contains(['_', '.']) && names_secret(word);
        self.sets |= SETTERS.contains(&word);
    }

    /// A word without the secret that it holds by its place; `None` if it holds none.
    pub(super) fn redacted(&self, before: Option<&str>, word: &str) -> Option<String> {
        if let Some(password) = word.strip_prefix("-p").filter(|_| self.takes_short_password) {
            return (!is_plain(password)).then(|| format!("-p{REDACTED}"));
        }
        if let Some((name, value)) = word.strip_prefix("--from-literal=").and_then(|pair| pair.split_once('=')) {
            return (!is_plain(value)).then(|| format!("--from-literal={name}={REDACTED}"));
        }
        let is_secret = match before? {
            option if self.options.contains(&option) => true,
            // Elsewhere `-p` asks for the password, and the next word is something else.
            "-p" => self.logs_in,
            "-passin" | "-passout" => {
                let is_kept = word.strip_prefix("pass:").is_none_or(is_plain);
                return (!is_kept).then(|| format!("pass:{REDACTED}"));
            }
            "--pass" | "-pass" => !PASSES.contains(&word) && !is_number(word),
            "--pat" => true,
            "login" => is_key(word),
            option if NAME_AND_PASSWORD.contains(&option) => return without_password(word),
            _ => self.names_setting,
        };
        (is_secret && !word.starts_with('-') && !is_plain(word)).then(|| REDACTED.to_owned())
    }
}

/// `name:password`, or `name%password`, without the password. Two numbers are a user and a group.
fn without_password(word: &str) -> Option<String> {
    let sign = if word.contains(':') { ':' } else { '%' };
    let (name, password) = word.split_once(sign)?;
    let is_group = is_number(name) && is_number(password);
    let is_known = is_group || is_plain(password) || password.starts_with("//");
    (!is_known).then(|| format!("{name}{sign}{REDACTED}"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A key as services give them: long, and of hexadecimal digits.
fn is_key(word: &str) -> bool {
    word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
