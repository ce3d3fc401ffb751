//! Makes Rust of the protocols, without a protocol compiler on the machine.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
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
