//! What keeps a zone from being used, in words, with the step that would mend it.

use std::io;
use std::path::Path;

use super::zone::Zone;
use crate::Unusable;
use crate::remedy::{SETCAP, is_guest};

/// The counter's file cannot be opened.
pub(super) fn cannot_open(zone: &Zone, error: &io::Error) -> Unusable {
    let file = zone.energy_file();
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Unusable { reason: "only root may read it".to_owned(), remedy: Some(readable(zone)) }
        }
        io::ErrorKind::NotFound => Unusable {
            reason: format!("the zone {} counts no energy: it has no energy_uj", zone.id),
            remedy: None,
        },
        _ => Unusable { reason: format!("{} cannot be opened: {error}", file.display()), remedy: None },
    }
}

/// Every way to make the counters readable, the most careful first; the same words for every zone of a tree.
fn readable(zone: &Zone) -> String {
    let is_class = |path: &&Path| {
        path.file_name().is_none_or(|name| !name.to_string_lossy().contains(':') && name != zone.control())
    };
    let class = zone.path.ancestors().find(is_class).unwrap_or(&zone.path);
    // A path with blanks would be several to the shell; that of a machine has none.
    let files = class.join("*:*/energy_uj");
    let files = files.display();
    format!(
        "run the daemon as root and be its client:\n    sudo jouletree daemon\n\
         or let this program alone read them:\n    {SETCAP}\n\
         or let a group read them, until the machine restarts (its members could then learn what other users compute: \
         PLATYPUS, CVE-2020-8694):\n    \
         sudo groupadd -f jouletree && sudo usermod -aG jouletree \"$USER\"\n    \
         sudo chgrp jouletree {files}\n    sudo chmod g+r {files}\n\
         and for good, by a rule that is applied whenever a zone appears (log in again to be of the group):\n    \
         printf '%s\\n' {RULE} | sudo tee /etc/udev/rules.d/60-jouletree.rules\n    \
         sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=powercap --action=add"
    )
}

/// Lines of one rule. Zones have a colon in their names; control types have none, and no counter.
const RULE: &str = "'SUBSYSTEM==\"powercap\", ACTION==\"add\", KERNEL==\"*:*\", \\' \
    'RUN+=\"/bin/chgrp jouletree %S%p/energy_uj\", \\' 'RUN+=\"/bin/chmod g+r %S%p/energy_uj\"'";

/// The counter's largest value is not known, so a wrap cannot be distinguished from a counter that was set back.
pub(super) fn no_range(zone: &Zone) -> Unusable {
    let file = zone.path.join("max_energy_range_uj");
    Unusable {
        reason: format!("{} says no range, and without it a wrap would be counted wrongly", file.display()),
        remedy: Some(format!("see what it says; reloading the driver may help:\n    cat {}", file.display())),
    }
}

/// The zone's name is not known.
pub(super) fn unknown_name(zone: &Zone) -> Unusable {
    match (&zone.name, &zone.parent) {
        (None, _) if !zone.path.exists() => Unusable {
            reason: format!("the zone {} is listed but hidden, as containers do", zone.id),
            remedy: Some(
                "let the container see it:\n    docker run -v /sys/devices/virtual/powercap:/sys/devices/virtual/powercap:ro \
                 --security-opt systempaths=unconfined …"
                    .to_owned(),
            ),
        },
        (None, _) => Unusable { reason: format!("the zone {} has no name that can be read", zone.id), remedy: None },
        (Some(name), Some(parent)) => {
            Unusable { reason: format!("it is not known what `{name}` in `{parent}` meters"), remedy: None }
        }
        (Some(name), None) => Unusable { reason: format!("it is not known what `{name}` meters"), remedy: None },
    }
}

/// The dies of a socket count differently, and cannot be added up.
pub(super) fn unlike_dies(zones: &[&Zone]) -> Unusable {
    let ids: Vec<&str> = zones.iter().map(|zone| zone.id.as_str()).collect();
    Unusable { reason: format!("the dies {} wrap at different counts", ids.join(", ")), remedy: None }
}

/// There is no zone at all.
pub(super) fn nothing_here(class: &Path, processor: &str) -> Unusable {
    if is_guest(processor) {
        return Unusable {
            reason: "this is a virtual machine, and its host does not pass counters of energy on".to_owned(),
            remedy: None,
        };
    }
    Unusable {
        reason: format!("there is no zone in {}", class.display()),
        remedy: Some("load the driver (for AMD, too):\n    sudo modprobe intel_rapl_msr".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_only_root_may_read_comes_with_every_way_to_read_it() {
        let zone = Zone {
            id: "intel-rapl:0".into(),
            name: None,
            path: "class/intel-rapl/intel-rapl:0".into(),
            parent: None,
        };
        let why = cannot_open(&zone, &io::ErrorKind::PermissionDenied.into());
        assert_eq!(why.reason, "only root may read it");
        let remedy = why.remedy.unwrap();
        for way in [
            "sudo jouletree daemon",
            "setcap cap_dac_read_search,",
            "chmod g+r class/*:*/energy_uj",
            "udev",
            "PLATYPUS",
        ] {
            assert!(remedy.contains(way), "{way}: {remedy}");
        }
        let other = cannot_open(&zone, &io::Error::other("it burns"));
        assert_eq!(other.reason, "class/intel-rapl/intel-rapl:0/energy_uj cannot be opened: it burns");
    }
}
