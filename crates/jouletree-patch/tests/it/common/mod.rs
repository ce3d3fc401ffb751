//! What the tests share: patching of texts, and the same way back.

#![allow(dead_code, clippy::expect_used, clippy::panic)]

use jouletree_patch::{Options, Patch, patch_script, unpatched_script};

/// Patches a script with the usual options, and sees to it that the way back gives the original.
pub fn patch(source: &str) -> Patch {
    patch_with(source, &Options::default())
}

pub fn patch_with(source: &str, options: &Options) -> Patch {
    let patch =
        patch_script("program.py", source.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let patched = patch.applied(source.as_bytes());
    let back = unpatched_script(&patched)
        .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&patched)));
    assert_eq!(String::from_utf8_lossy(&back), source, "{}", String::from_utf8_lossy(&patched));
    patch
}

/// The patched text without its header.
pub fn body(source: &str) -> String {
    let patched = String::from_utf8(patch(source).applied(source.as_bytes())).expect("text");
    let Some(start) = patched.find("exec('try:") else { return patched };
    let end = patched[start..].find("return callee')").expect("an end") + start + "return callee')".len();
    let rest = patched[end..].strip_prefix("; ").unwrap_or(&patched[end..]);
    format!("{}{rest}", &patched[..start])
}

/// Names of calls by line, with a mark on those that are left.
pub fn names(source: &str) -> Vec<String> {
    let name = |site: &jouletree_patch::Site| {
        let mark = if site.instrumented { "" } else { "-" };
        format!("{}: {mark}{}", site.line, site.name)
    };
    patch(source).sites.iter().map(name).collect()
}

/// The one call in a line, by the number of the line, with its reason.
pub fn reason(source: &str, line: u32) -> String {
    let patch = patch(source);
    let site = patch.sites.iter().find(|site| site.line == line).unwrap_or_else(|| panic!("no call\n{source}"));
    site.reason.clone().unwrap_or_default()
}
