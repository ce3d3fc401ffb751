use std::fs::Permissions;
use std::os::unix::fs::symlink;

use super::*;

/// A cache folder below one of this test's own.
fn cache() -> (tempfile::TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let cache = top.path().join("cache/jouletree");
    (top, cache)
}

fn modes(folder: &Path) -> Vec<(bool, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        found.push((about.is_dir(), about.mode() & 0o7777));
        if about.is_dir() {
            found.extend(modes(&path));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn the_package_is_written_whole_and_once() {
    let (_top, cache) = cache();
    let folder = in_cache(&cache).unwrap();
    for (name, content) in FILES {
        assert_eq!(fs::read(folder.join("jouletree").join(name)).unwrap(), *content, "{name}");
    }
    assert!(folder.join(START).join("sitecustomize.py").is_file());
    assert_eq!(modes(&folder), [(false, 0o644), (true, 0o755)]);
    let first = folder.metadata().unwrap().ino();
    assert_eq!(in_cache(&cache).unwrap(), folder);
    assert_eq!(folder.metadata().unwrap().ino(), first, "it is written once");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
}

/// Whatever is planted, the next run has the package as it was written.
#[test]
fn what_was_changed_is_replaced() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 14] = [
        ("a line", |folder| {
            let file = folder.join(START).join("sitecustomize.py");
            fs::write(&file, [fs::read(&file).unwrap(), b"#".to_vec()].concat()).unwrap();
        }),
        ("another file", |folder| fs::write(folder.join("torch.py"), "").unwrap()),
        ("another module", |folder| fs::write(folder.join("jouletree/more.py"), "").unwrap()),
        ("another package", |folder| fs::create_dir(folder.join("torch")).unwrap()),
        ("an extension", |folder| fs::write(folder.join(START).join("os.cpython-312.so"), "").unwrap()),
        ("a compiled module without a source", |folder| fs::write(folder.join(START).join("os.pyc"), "").unwrap()),
        ("a file in the compiled ones", |folder| {
            fs::write(folder.join(START).join("__pycache__/evil.cpython-312.pyc"), "").unwrap();
        }),
        ("a compiled module that others can write", |folder| {
            let file = folder.join(START).join("__pycache__/sitecustomize.cpython-312.pyc");
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        }),
        ("compiled modules in a folder that others can write", |folder| {
            fs::set_permissions(folder.join(START).join("__pycache__"), Permissions::from_mode(0o775)).unwrap();
        }),
        ("a link in the place of a file", |folder| {
            let file = folder.join(START).join("sitecustomize.py");
            fs::rename(&file, folder.parent().unwrap().join("elsewhere.py")).unwrap();
            symlink(folder.parent().unwrap().join("elsewhere.py"), &file).unwrap();
        }),
        ("a second name", |folder| {
            let file = folder.join(START).join("sitecustomize.py");
            fs::hard_link(&file, folder.parent().unwrap().join("second.py")).unwrap();
        }),
        ("a file that others can write", |folder| {
            let file = folder.join(START).join("sitecustomize.py");
            fs::set_permissions(file, Permissions::from_mode(0o666)).unwrap();
        }),
        ("a missing file", |folder| fs::remove_file(folder.join(START).join("sitecustomize.py")).unwrap()),
        ("a folder that others can write", |folder| {
            fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
        }),
    ];
    for (what, change) in changes {
        let (_top, cache) = cache();
        let folder = in_cache(&cache).unwrap();
        assert!(check::is_intact(&folder));
        change(&folder);
        assert!(!check::is_intact(&folder), "{what}");
        assert_eq!(in_cache(&cache).unwrap(), folder, "{what}");
        assert!(check::is_intact(&folder), "{what}");
    }
}

#[test]
fn a_link_or_a_file_in_the_place_of_the_package_is_replaced() {
    let (top, cache) = cache();
    let folder = in_cache(&cache).unwrap();
    let other = top.path().join("other");
    fs::rename(&folder, &other).unwrap();
    symlink(&other, &folder).unwrap();
    assert!(!check::is_intact(&folder));
    assert_eq!(in_cache(&cache).unwrap(), folder);
    assert!(check::is_intact(&folder) && other.join("jouletree").is_dir());
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    assert_eq!(in_cache(&cache).unwrap(), folder);
    assert!(check::is_intact(&folder));
}

/// Python's own compiled modules are kept: it writes them into folders that are there.
#[test]
fn what_python_compiles_is_no_change() {
    let (_top, cache) = cache();
    let folder = in_cache(&cache).unwrap();
    for name in ["__pycache__/sitecustomize.cpython-312.pyc", "__pycache__/sitecustomize.cpython-39.opt-1.pyc.140"]
    {
        fs::write(folder.join(START).join(name), "").unwrap();
        fs::set_permissions(folder.join(START).join(name), Permissions::from_mode(0o644)).unwrap();
    }
    let of_python_2 = folder.join(START).join("sitecustomize.pyc");
    fs::write(&of_python_2, "").unwrap();
    fs::set_permissions(&of_python_2, Permissions::from_mode(0o644)).unwrap();
    assert!(check::is_intact(&folder));
}

#[test]
fn a_cache_that_others_can_change_is_mended_or_not_used() {
    let (_top, cache) = cache();
    fs::create_dir_all(&cache).unwrap();
    // Ours, made with a generous umask.
    fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(cache.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    in_cache(&cache).unwrap();
    assert_eq!(cache.metadata().unwrap().mode() & 0o022, 0);
    // The user's, which is not for us to change: another user could rename what is in it.
    fs::set_permissions(cache.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
    assert!(in_cache(&cache).is_err());
}
