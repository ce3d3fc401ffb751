//! The fake as a program, for tests of other programs.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use fake_powercap::{Fake, Layout, Script};

/// Plays a script of power into a tree that looks like /sys with a powercap in it. A test double: nothing is measured.
#[derive(Parser)]
#[command(
    version,
    after_help = "EXAMPLE:
  echo 'package-0: square 20W to 80W every 3ms' > script
  fake-powercap --root tree --layout two-sockets --script script --for 5

When it ends, it prints the true energy of every zone, in joules. The tree stays."
)]
struct Arguments {
    /// The folder that will look like /sys; it must not hold a powercap tree yet
    #[arg(long)]
    root: PathBuf,
    /// The kind of machine
    #[arg(long, value_enum)]
    layout: Layout,
    /// The script, or - for standard input; without one every zone draws a constant power
    #[arg(long)]
    script: Option<PathBuf>,
    /// How many seconds to play; for ever when it is not said
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<f64>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fake-powercap: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let script: Script = match &arguments.script {
        Some(path) if path.as_os_str() == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text.parse()?
        }
        Some(path) => fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?.parse()?,
        None => Script::default(),
    };
    let end = arguments.seconds.map(Duration::try_from_secs_f64).transpose()?;
    let mut fake = Fake::new(&arguments.root, arguments.layout, &script)?;
    eprintln!("fake-powercap: playing below {}", arguments.root.display());
    fake.play(Instant::now(), |fake| end.is_some_and(|end| fake.now() >= end))?;
    for zone in fake.zones() {
        let energy = fake.oracle().energy(&zone.key, Duration::ZERO, fake.now()).unwrap_or_default();
        println!("{}\t{:.6}", zone.key, energy.0);
    }
    Ok(())
}
