//! What keeps a zone from being used, in words, with the step that would mend it.

use std::io;
use std::path::Path;

use super::zone::Zone;
use crate::Unusable;

/// The counter's file cannot be opened.
pub(super) fn cannot_open(zone: &Zone, error: &io::Error) -> Unusable {
    let file = zone.energy_file();
    match error.kind() {
        io::ErrorKind::PermissionDenied => Unusable {
            reason: format!("only root may read {} (it could betray what other users compute)", file.display()),
            remedy: Some(readable(zone)),
        },
        io::ErrorKind::NotFound => Unusable {
            reason: format!("the zone {} counts no energy: it has no energy_uj", zone.id),
            remedy: None,
        },
        _ => Unusable { reason: format!("{} cannot be opened: {error}", file.display()), remedy: None },
    }
}

/// Every way to make a counter readable, the most careful first.
fn readable(zone: &Zone) -> String {
    let file = zone.energy_file();
    let file = file.display();
    format!(
        "run the daemon as root, `sudo jouletree daemon`, and be its client; or let this program read it, \
         `sudo setcap cap_dac_read_search+ep \"$(command -v jouletree)\"`; or let a group read it, \
         `sudo chgrp jouletree {file} && sudo chmod g+r {file}`; or everybody, `sudo chmod a+r {file}`. The last two \
         hold until the machine restarts; for good, put into /etc/udev/rules.d/60-jouletree.rules: \
         SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chgrp jouletree %S%p/energy_uj\", \
         RUN+=\"/bin/chmod g+r %S%p/energy_uj\""
    )
}

/// The counter's largest value is not known, so a wrap could not be told from a counter that was set back.
pub(super) fn no_range(zone: &Zone) -> Unusable {
    let file = zone.path.join("max_energy_range_uj");
    Unusable {
        reason: format!("{} says no range, and without it a wrap would be counted wrongly", file.display()),
        remedy: Some(format!("see what `cat {}` says; reloading the driver may help", file.display())),
    }
}

/// The zone's name is not known.
pub(super) fn unknown_name(zone: &Zone) -> Unusable {
    match (&zone.name, &zone.parent) {
        (None, _) if !zone.path.exists() => Unusable {
            reason: format!("the zone {} is listed but hidden, as containers do", zone.id),
            remedy: Some(
                "let the container see it: `docker run -v /sys/devices/virtual/powercap:/sys/devices/virtual/powercap:ro \
                 --security-opt systempaths=unconfined …`"
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
    let is_guest = processor.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    if is_guest {
        return Unusable {
            reason: "this is a virtual machine, and its host does not pass counters of energy on".to_owned(),
            remedy: None,
        };
    }
    Unusable {
        reason: format!("there is no zone in {}", class.display()),
        remedy: Some("load the driver, `sudo modprobe intel_rapl_msr` (for AMD, too)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_only_root_may_read_comes_with_every_way_to_read_it() {
        let zone = Zone { id: "intel-rapl:0".into(), name: None, path: "zone".into(), parent: None };
        let why = cannot_open(&zone, &io::ErrorKind::PermissionDenied.into());
        assert!(why.reason.contains("only root may read zone/energy_uj"));
        let remedy = why.remedy.unwrap();
        for way in
            ["jouletree daemon", "setcap cap_dac_read_search+ep", "chmod a+r zone/energy_uj", "chgrp", "udev"]
        {
            assert!(remedy.contains(way), "{way}: {remedy}");
        }
        let other = cannot_open(&zone, &io::Error::other("it burns"));
        assert_eq!(other.reason, "zone/energy_uj cannot be opened: it burns");
    }
}
