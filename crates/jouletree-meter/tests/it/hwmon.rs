//! Hardware monitors are known by their drivers and labels; what is not known is listed and left out.

use test_support::powercap as common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread::sleep;

use jouletree_host::Now;
use jouletree_meter::{ReadError, hwmon};
use jouletree_model::Kind;
use jouletree_model::sampling::Mono;

use common::{MS, roots, usable, words};

/// A chip with its files, on a bus at an address.
fn chip(root: &Path, number: u32, address: &str, files: &[(&str, &str)]) {
    let device = root.join("devices").join(address);
    let folder = device.join(format!("hwmon/hwmon{number}"));
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), format!("{text}\n")).unwrap();
    }
    symlink(&device, folder.join("device")).unwrap();
    let class = root.join("class/hwmon");
    fs::create_dir_all(&class).unwrap();
    symlink(&folder, class.join(format!("hwmon{number}"))).unwrap();
}

#[test]
fn cards_are_numbered_by_their_places_after_those_of_others() {
    let root = tempfile::tempdir().unwrap();
    let card = [("name", "amdgpu"), ("power1_average", "35000000"), ("power1_cap", "300000000")];
    chip(root.path(), 0, "0000:83:00.0", &card);
    chip(
        root.path(),
        1,
        "0000:03:00.0",
        &[
            ("name", "xe"),
            ("energy1_input", "5"),
            ("energy1_label", "card"),
            ("energy2_input", "3"),
            ("energy2_label", "pkg"),
        ],
    );
    let apu = [("name", "amdgpu"), ("power1_input", "9000000"), ("in1_label", "vddnb"), ("in1_input", "800")];
    chip(root.path(), 2, "0000:0a:00.0", &apu);
    let found = hwmon::discover(&roots(root.path()), 2);
    assert_eq!(
        words(&found),
        ["gpu:2 whole: usable", "gpu:2 pkg: usable", "cpu:0 apu: usable", "gpu:3 whole: usable"]
    );
    let kinds: Vec<Kind> = found.iter().map(|found| found.info.kind).collect();
    assert_eq!(kinds, [Kind::Measured, Kind::Measured, Kind::Derived, Kind::Derived]);
    assert!(found[3].info.is_slow && found[3].info.source.contains("power1_average"));
}

#[test]
fn power_becomes_energy() {
    let root = tempfile::tempdir().unwrap();
    chip(
        root.path(),
        0,
        "0000:83:00.0",
        &[("name", "amdgpu"), ("power1_input", "200000000"), ("power1_average", "1")],
    );
    let mut sensor = usable(hwmon::discover(&roots(root.path()), 0), "gpu:0", None);
    let begun = Mono::now();
    assert_eq!(sensor.read().unwrap(), 0);
    for _ in 0..20 {
        sleep(5 * MS);
        sensor.read().unwrap();
    }
    let count = sensor.read().unwrap() as f64;
    let truth = (Mono::now() - begun).seconds() * 200e6;
    assert!(count <= truth && count > 0.9 * truth, "{count} {truth}");
    let file = root.path().join("class/hwmon/hwmon0/power1_input");
    fs::write(&file, "").unwrap();
    assert!(matches!(sensor.read(), Err(ReadError::Garbage(_))));
    fs::write(&file, "200000000\n").unwrap();
    let after = sensor.read().unwrap() as f64;
    assert!(after - count < 1e6, "what happened while it could not be read is not filled in: {after} {count}");
}

#[test]
fn superchips_boards_and_rails_are_known_by_their_labels() {
    let root = tempfile::tempdir().unwrap();
    for (number, part) in ["Module", "Grace", "CPU", "SysIO", "Quantum"].iter().enumerate() {
        let info = format!("{part} Power Socket 1");
        let files = [("name", "power_meter"), ("power1_average", "60000000"), ("power1_oem_info", info.as_str())];
        chip(root.path(), number as u32, &format!("ACPI000D:0{number}"), &files);
    }
    let said = words(&hwmon::discover(&roots(root.path()), 0));
    assert_eq!(
        said,
        [
            "cpu:1 module: usable",
            "cpu:1 whole: usable",
            "cpu:1 cpu: usable",
            "cpu:1 sysio: usable",
            "cpu:0 machine: usable"
        ]
    );

    let root = tempfile::tempdir().unwrap();
    let rail = |n: u32, label: &str| {
        [
            (format!("in{n}_label"), label.to_owned()),
            (format!("in{n}_input"), "5000".to_owned()),
            (format!("curr{n}_input"), "-8".to_owned()),
        ]
    };
    let files: Vec<(String, String)> =
        [rail(1, "VDD_IN"), rail(2, "VDD_CPU_GPU_CV"), rail(3, "VDD_GPU_SOC")].concat();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("name", "ina3221"));
    chip(root.path(), 0, "1-0040", &files);
    let found = hwmon::discover(&roots(root.path()), 0);
    let said = words(&found);
    assert_eq!(said[0], "cpu:0 board: usable");
    assert_eq!(said[1], "cpu:0 VDD_CPU_GPU_CV: it is not known which one device the rail VDD_CPU_GPU_CV feeds");
    assert_eq!(said[2], "gpu:0 whole: usable");
    let mut gpu = usable(found, "gpu:0", None);
    assert_eq!((gpu.read().unwrap(), gpu.read().unwrap()), (0, 0), "a current below nothing is noise");
    fs::write(root.path().join("class/hwmon/hwmon0/curr3_input"), "2000\n").unwrap();
    gpu.read().unwrap();
    let (begun, first) = (Mono::now(), gpu.read().unwrap());
    sleep(50 * MS);
    let (last, ended) = (gpu.read().unwrap(), Mono::now());
    let watts = (last - first) as f64 * 1e-6 / (ended - begun).seconds();
    assert!((9.0..10.1).contains(&watts), "5 V × 2 A: {watts}");
}

#[test]
fn sockets_are_read_and_unknown_chips_left_out() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("name", "amd_energy"),
        ("energy1_label", "Ecore000"),
        ("energy1_input", "1"),
        ("energy2_label", "Esocket1"),
        ("energy2_input", "77"),
    ];
    chip(root.path(), 0, "amd_energy.0", &files);
    chip(root.path(), 1, "psu", &[("name", "corsairpsu"), ("power1_input", "90000000"), ("temp1_input", "40")]);
    chip(root.path(), 2, "nvme0", &[("name", "nvme"), ("temp1_input", "40")]);
    let found = hwmon::discover(&roots(root.path()), 0);
    assert_eq!(
        words(&found),
        [
            "cpu:1 whole: usable",
            "cpu:0 corsairpsu power1_input: it is not known which one device power1_input of the chip corsairpsu meters"
        ]
    );
    assert_eq!(usable(found, "cpu:1", None).read().unwrap(), 77);
    assert!(hwmon::discover(&roots(Path::new("no such folder")), 0).is_empty());
}
