//! What a page or a card discloses about the machine it was made on: by default paths relative to where its run is; if asked,
//! nothing that names a machine, a user, a folder or a process.

use std::collections::BTreeSet;
use std::env;
use std::path::{self, Path};

use jouletree_model::{Device, Warning};
use jouletree_run::{Manifest, RunFolder};

/// Users of every machine, whose names are words of the language, too.
const COMMON_USERS: [&str; 4] = ["root", "user", "admin", "home"];
/// Names that say nothing about a machine.
const COMMON_HOSTS: [&str; 3] = ["host", "localhost", "localdomain"];

/// What texts may disclose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disclosure {
    /// The folder that the run is in.
    here: Option<String>,
    /// The user's own folder.
    home: Option<String>,
    /// Names that must not appear, with what is written instead; `None` where names and folders may appear.
    hidden: Option<Vec<(String, String)>>,
}

impl Disclosure {
    /// Everything, with paths relative to the folder that holds this run, or to that of the user. The current folder decides
    /// nothing: wherever a page is made again, it is the same.
    pub fn relative(run: &Path) -> Disclosure {
        let run = path::absolute(run).ok();
        let here = run.as_deref().and_then(Path::parent).map(|path| path.display().to_string());
        let home = env::var("HOME").ok();
        // A replacement of `/` would be one of every path.
        let is_folder = |path: &String| path.len() > 1 && path.starts_with('/');
        Disclosure { here: here.filter(is_folder), home: home.filter(is_folder), hidden: None }
    }

    /// Nothing that names the machines, users, folders and processes of these runs, or those of this process.
    pub fn anonymous(folders: &[RunFolder]) -> Disclosure {
        let relative = folders.first().map(|run| Disclosure::relative(run.path())).unwrap_or_default();
        let mut hosts: BTreeSet<String> = BTreeSet::new();
        for manifest in folders.iter().map(RunFolder::manifest) {
            hosts.extend(manifest.recording.iter().filter_map(|recording| recording.host.name.clone()));
            hosts.extend(manifest.sources.iter().filter_map(|source| source.host.clone()));
            hosts.extend(
                devices(manifest).filter(|device| !device.is_on_unnamed_host()).map(|it| it.host().to_owned()),
            );
        }
        let short: Vec<String> =
            hosts.iter().filter_map(|host| Some(host.split_once('.')?.0.to_owned())).collect();
        hosts.extend(short);
        hosts.retain(|host| host.len() > 1 && !COMMON_HOSTS.contains(&host.as_str()));
        let digits = hosts.len().to_string().len();
        let mut hidden: Vec<(String, String)> =
            hosts.into_iter().zip(1..).map(|(host, number)| (host, format!("host{number:0digits$}"))).collect();
        // The longest first: a short name may begin a long one.
        hidden.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let named = env::var("USER").ok();
        let owner = relative.home.as_deref().and_then(|home| Path::new(home).file_name());
        for user in [named, owner.map(|name| name.to_string_lossy().into_owned())].into_iter().flatten() {
            if user.len() > 1 && !COMMON_USERS.contains(&user.as_str()) {
                hidden.push((user, "user".to_owned()));
            }
        }
        Disclosure { hidden: Some(hidden), ..relative }
    }

    /// Whether names and folders are left out.
    pub fn is_anonymous(&self) -> bool {
        self.hidden.is_some()
    }

    /// A text as it may be shown.
    pub fn text(&self, text: &str) -> String {
        self.shown(text, false)
    }

    /// A command as it may be shown. Of relative paths, which are not distinguished from layers in other texts, only names of
    /// files are left, too.
    pub fn command(&self, text: &str) -> String {
        self.shown(text, true)
    }

    /// The name of a folder or file, or all of its path.
    pub fn path(&self, path: &Path) -> String {
        self.command(&path.display().to_string())
    }

    /// A warning as it may be shown.
    pub fn warning(&self, warning: &Warning) -> Warning {
        Warning {
            source: self.command_if_path(&warning.source),
            position: warning.position.as_deref().map(|text| self.text(text)),
            message: self.text(&warning.message),
        }
    }

    /// A device, its machine by a number.
    pub fn device(&self, device: &Device) -> Device {
        let hidden = self.hidden.iter().flatten().find(|(name, _)| name == device.host());
        hidden.map_or_else(|| device.clone(), |(_, number)| device.clone().on(number))
    }

    /// What a warning is about: a file, or a device that looks like one.
    fn command_if_path(&self, source: &str) -> String {
        let is_device = source.split([',', ' ']).next().is_some_and(|word| word.parse::<Device>().is_ok());
        if is_device { self.text(source) } else { self.command(source) }
    }

    fn shown(&self, text: &str, is_command: bool) -> String {
        let mut shown = text.to_owned();
        for (folder, inside, itself) in [(&self.here, "", "."), (&self.home, "~/", "~")] {
            let Some(folder) = folder else { continue };
            shown = replaced(&shown, &format!("{folder}/"), inside, |before, _| !goes_on(before));
            shown = replaced(&shown, folder, itself, |before, after| !goes_on(before) && !goes_on(after));
        }
        let Some(hidden) = &self.hidden else { return shown };
        shown = without_folders(&shown, is_command);
        for (name, instead) in hidden {
            shown = replaced(&shown, name, instead, |before, after| {
                !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
            });
        }
        without_processes(&shown)
    }
}

/// The devices that a run has anything of.
fn devices(manifest: &Manifest) -> impl Iterator<Item = &Device> {
    let balances = manifest.recording.iter().flat_map(|recording| &recording.balance);
    let sensors = manifest.recording.iter().flat_map(|recording| &recording.sensors);
    let accounted = manifest.devices.iter().map(|balance| &balance.device);
    accounted
        .chain(balances.map(|it| &it.device))
        .chain(sensors.map(|it| &it.device))
        .chain(&manifest.trace.devices)
}

/// Whether a path goes on with this sign, so that what is beside it is not the whole of it.
fn goes_on(sign: Option<char>) -> bool {
    sign.is_some_and(|sign| sign.is_alphanumeric() || "_-.~/".contains(sign))
}

/// A text with a name replaced wherever the signs around it allow.
fn replaced(text: &str, name: &str, instead: &str, is_whole: fn(Option<char>, Option<char>) -> bool) -> String {
    let mut made = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(name) {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        if at >= from && is_whole(before, after) {
            made += &text[from..at];
            made += instead;
            from = at + name.len();
        }
    }
    made + &text[from..]
}

/// A text in which only the last names of paths are left. Relative paths are taken for paths in commands only.
fn without_folders(text: &str, is_command: bool) -> String {
    let is_end = |sign: char| sign.is_whitespace() || "'\"`=,;:()[]<>|".contains(sign);
    let mut made = String::with_capacity(text.len());
    for word in text.split_inclusive(is_end) {
        let end = word.chars().next_back().filter(|sign| is_end(*sign)).map_or(0, char::len_utf8);
        let (path, end) = word.split_at(word.len() - end);
        // What follows `https:` is an address.
        let is_address = path.starts_with("//") && !path.starts_with("///");
        let is_path = (path.len() > 1 && path.starts_with('/') && !is_address)
            || path.starts_with("~/")
            || path.starts_with("../")
            || (is_command && path.contains('/') && !is_address);
        let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        made += if is_path { last } else { path };
        made += end;
    }
    made
}

/// A text without the numbers of processes.
fn without_processes(text: &str) -> String {
    let mut made = text.to_owned();
    for word in ["process ", "pid ", "PID "] {
        let mut parts = made.split(word);
        let mut rest = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let after = part.trim_start_matches(|sign: char| sign.is_ascii_digit());
            rest += if after.len() < part.len() { word.trim_end() } else { word };
            rest += after;
        }
        made = rest;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disclosure(hidden: Option<&[(&str, &str)]>) -> Disclosure {
        let owned = |(name, instead): &(&str, &str)| ((*name).to_owned(), (*instead).to_owned());
        Disclosure {
            here: Some("/data/zoe/work".to_owned()),
            home: Some("/people/zoe".to_owned()),
            hidden: hidden.map(|names| names.iter().map(owned).collect()),
        }
    }

    #[test]
    fn paths_are_relative() {
        let shown = |text: &str| disclosure(None).text(text);
        assert_eq!(shown("python /data/zoe/work/train.py"), "python train.py");
        assert_eq!(shown("/people/zoe/.venv/bin/python -u x.py"), "~/.venv/bin/python -u x.py");
        assert_eq!(shown("--out=/data/zoe/work"), "--out=.");
        assert_eq!(shown("/data/zoe/worker/x and /srv/people/zoe"), "/data/zoe/worker/x and /srv/people/zoe");
        assert_eq!(shown("bert/encoder is slow."), "bert/encoder is slow.");
    }

    #[test]
    fn nothing_names_machine_user_folder_or_process() {
        let anonymous = disclosure(Some(&[("gpu01", "host1"), ("zoe", "user")]));
        let shown = |text: &str| anonymous.text(text);
        assert_eq!(shown("/srv/secret/run.json: line 3"), "run.json: line 3");
        assert_eq!(shown("process 4711 on gpu01.example wrote ~/x/y"), "process on host1.example wrote y");
        assert_eq!(shown("file:///people/zoe/x.json"), "file:x.json");
        assert_eq!(shown("see https://example.org/a/b"), "see https://example.org/a/b");
        assert_eq!(shown("bert/encoder, zoe and zoe's"), "bert/encoder, user and user's");
        assert_eq!(shown("a process that ended"), "a process that ended");
        let command = "'/opt/my env/bin/python' examples/bert/train.py --out=/tmp/zoe/out";
        let found = anonymous.command(command);
        assert_eq!(found, "'my python' train.py --out=out");
        assert_eq!(anonymous.device(&"gpu01/cpu:0".parse().unwrap()).to_string(), "host1/cpu:0");
        let warning = Warning::new("/data/zoe/work/t.json", "bert/encoder is in /data/zoe/work/u.json");
        let found = anonymous.warning(&warning);
        assert_eq!((found.source.as_str(), found.message.as_str()), ("t.json", "bert/encoder is in u.json"));
    }
}
