//! `jouletree emissions`: what windows of a program come to, for jouletree's Python package: one JSON object on standard
//! input, one on standard output, rows in the files that it names.

use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use jouletree_host::Roots;
use jouletree_report::carbon::emissions::Responder;
use jouletree_run::HostFacts;

use crate::{cache, json, print};

#[derive(Args)]
pub struct EmissionsArgs {}

/// Runs the command.
pub fn run(_: &EmissionsArgs) -> Result<ExitCode> {
    let mut request = String::new();
    std::io::stdin().read_to_string(&mut request).context("cannot read the request")?;
    let (host, cache) = (HostFacts::of(&Roots::default()), cache::folder());
    let answer = Responder { host: &host, cache: cache.as_deref() }.answer(&request)?;
    print(&json::written(&answer)?)?;
    Ok(ExitCode::SUCCESS)
}
