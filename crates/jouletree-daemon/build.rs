//! Makes Rust of the protocols, without a protocol compiler on the machine.

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // Asked now and not when this was compiled: checkouts that share what is built lie in different places.
    let protos = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let files = ["jouletree/v1/meter.proto", "smaragdine/sample.proto"];
    for file in files {
        println!("cargo::rerun-if-changed={}", protos.join(file).display());
    }
    let descriptors = protox::compile(files, [&protos])?;
    tonic_prost_build::configure()
        .bytes(".jouletree.v1.Parcel.batch")
        .bytes(".smaragdine.protos.sample.ReadResponse.data")
        .compile_fds(descriptors)?;
    Ok(())
}
