//! What keeps the `power` unit from being used, in words, with the step that would mend it.

use std::fs;
use std::io;
use std::path::Path;

use jouletree_host::Roots;

use crate::{Unusable, remedy};

/// The kernel shows no such unit.
pub(super) fn no_unit(roots: &Roots) -> Unusable {
    let processor = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    if remedy::is_guest(&processor) {
        let reason = "this is a virtual machine, and its host does not pass counters of energy on".to_owned();
        return Unusable { reason, remedy: None };
    }
    Unusable {
        reason: "the kernel shows no performance events of energy".to_owned(),
        remedy: Some("load the driver, where the processor has counters:\n    sudo modprobe rapl".to_owned()),
    }
}

/// It is there and holds nothing.
pub(super) fn no_event(folder: &Path) -> Unusable {
    Unusable { reason: format!("{} has no events of energy", folder.display()), remedy: None }
}

pub(super) fn no_cpus(folder: &Path, said: Option<&str>) -> Unusable {
    let reason = match said {
        Some(said) => format!("{} says `{said}`, which is no list of CPUs", folder.join("cpumask").display()),
        None => format!("{} does not say which CPUs to ask", folder.join("cpumask").display()),
    };
    Unusable { reason, remedy: None }
}

pub(super) fn unknown_event(name: &str) -> Unusable {
    Unusable { reason: format!("it is not known what `{name}` meters"), remedy: None }
}

/// Without the scale a count is no energy.
pub(super) fn no_scale(folder: &Path, name: &str) -> Unusable {
    let file = folder.join("events").join(format!("{name}.scale"));
    Unusable {
        reason: format!("{} and its `.unit` do not say how many joules a count is", file.display()),
        remedy: Some(format!("see what they say:\n    cat {}*", folder.join("events").join(name).display())),
    }
}

pub(super) fn not_described(folder: &Path, name: &str, error: &io::Error) -> Unusable {
    let reason = format!("{} does not describe `{name}` as it should: {error}", folder.display());
    Unusable { reason, remedy: None }
}

/// The kernel refuses to open the event.
pub(super) fn cannot_open(error: &io::Error) -> Unusable {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Unusable {
            reason: "the kernel lets only the privileged count events of a whole CPU".to_owned(),
            remedy: Some(format!(
                "let this program alone do so:\n    {}\nor everybody, until the machine restarts (it could betray what \
                 other users compute: PLATYPUS, CVE-2020-8694):\n    sudo sysctl kernel.perf_event_paranoid=0",
                remedy::SETCAP
            )),
        },
        io::ErrorKind::Unsupported | io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => {
            Unusable { reason: format!("the kernel shows the event and does not have it: {error}"), remedy: None }
        }
        _ if remedy::too_many_files(error) => {
            Unusable { reason: error.to_string(), remedy: Some(remedy::MORE_FILES.to_owned()) }
        }
        _ => Unusable { reason: format!("the event cannot be opened: {error}"), remedy: None },
    }
}
