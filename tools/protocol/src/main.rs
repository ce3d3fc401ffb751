//! Generates Rust code from the protocols, without a protocol compiler on the machine: `protocol PROTO_FOLDER OUTPUT_FOLDER`.

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let (Some(protos), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: protocol PROTO_FOLDER OUTPUT_FOLDER".into());
    };
    let descriptors = protox::compile(["jouletree/v1/meter.proto", "smaragdine/sample.proto"], [&protos])?;
    tonic_prost_build::configure()
        .bytes(".jouletree.v1.Parcel.batch")
        .bytes(".smaragdine.protos.sample.ReadResponse.data")
        .out_dir(output)
        .compile_fds(descriptors)?;
    Ok(())
}
