//! Build dependencies count only in a package that has a build script.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
