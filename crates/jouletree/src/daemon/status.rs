//! `jouletree daemon status`: is it up, what does it read, whom does it serve, what does it cost.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use jouletree_daemon::SocketPlace;
use jouletree_daemon::client::Client;
use jouletree_daemon::wire::{sensor_from, stats_from, v1};
use jouletree_model::Nanos;
use serde_json::json;

use crate::daemon_args::{self, NetworkArgs};
use crate::daemon_place::DaemonPlace;
use crate::print;

#[derive(Args)]
pub struct StatusArgs {
    /// The daemon's socket
    #[arg(long, value_name = "PATH", default_value = SocketPlace::PATH)]
    socket: PathBuf,
    /// Ask a daemon of another machine instead, which serves with --listen
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "socket", value_parser = daemon_args::place())]
    address: Option<DaemonPlace>,
    #[command(flatten)]
    network: NetworkArgs,
    /// How the result is written
    #[arg(long, value_enum, default_value = "table")]
    format: StatusFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusFormat {
    /// For people
    Table,
    /// For programs
    Json,
}

pub fn run(arguments: &StatusArgs) -> Result<()> {
    let socket = || DaemonPlace::Socket(arguments.socket.clone());
    let place = arguments.address.clone().unwrap_or_else(socket);
    let status = Client::connect(&arguments.network.address(&place)?)?.status()?;
    match arguments.format {
        StatusFormat::Table => print(&text(&status)?),
        StatusFormat::Json => print(&format!("{:#}\n", json(&status)?)),
    }
}

fn text(status: &v1::StatusResponse) -> Result<String> {
    let mut text = String::new();
    let stats = status.stats.as_ref().map(stats_from).unwrap_or_default();
    let uptime = Nanos(status.uptime_ns);
    writeln!(text, "jouletree daemon {} has run as process {} for {uptime}", status.version, status.pid)?;
    writeln!(text, "memory {} kB, {} connections", status.resident_bytes / 1024, status.connections)?;
    writeln!(
        text,
        "sampler: {} readings, {} missed, {} late by median, {} by the 99th percentile; {} of processor time; \
         scheduled as {:?}",
        stats.wakes, stats.missed, stats.late_p50, stats.late_p99, stats.cpu_time, stats.class
    )?;
    writeln!(text, "sensors:")?;
    for sensor in &status.sensors {
        let sensor = sensor_from(sensor.clone())?;
        let domain = sensor.domain.map(|domain| format!(" {domain}")).unwrap_or_default();
        writeln!(text, "  {}{domain}, {}: {}", sensor.device, sensor.kind, sensor.source)?;
    }
    let lost = match status.dropped {
        0 => "no samples lost".to_owned(),
        dropped => format!("{dropped} samples dropped because clients did not take them"),
    };
    writeln!(text, "sessions: {}; {lost}", status.session_count)?;
    for session in &status.sessions {
        let user = session.user.map_or("network".to_owned(), |user| format!("user {user}"));
        let target = session.pid.map_or("the machine".to_owned(), |pid| format!("process {pid}"));
        let state = if session.is_attached { "" } else { ", client away" };
        writeln!(
            text,
            "  {}: {user} has watched {target} every {} for {}; {} batches, {} dropped{state}",
            session.id,
            Nanos(session.period_ns),
            Nanos(session.age_ns),
            session.batches,
            session.dropped
        )?;
    }
    Ok(text)
}

fn json(status: &v1::StatusResponse) -> Result<serde_json::Value> {
    let stats = status.stats.as_ref().map(stats_from).unwrap_or_default();
    let mut sensors = Vec::new();
    for sensor in &status.sensors {
        let sensor = sensor_from(sensor.clone())?;
        sensors.push(json!({
            "device": sensor.device.to_string(),
            "domain": sensor.domain,
            "kind": sensor.kind.as_str(),
            "source": sensor.source,
        }));
    }
    let session = |session: &v1::Session| {
        json!({
            "id": session.id,
            "user": session.user,
            "pid": session.pid,
            "period_ns": session.period_ns,
            "attached": session.is_attached,
            "batches": session.batches,
            "kept_bytes": session.kept_bytes,
            "dropped_samples": session.dropped,
            "age_ns": session.age_ns,
        })
    };
    Ok(json!({
        "version": status.version,
        "pid": status.pid,
        "uptime_ns": status.uptime_ns,
        "resident_bytes": status.resident_bytes,
        "connections": status.connections,
        "sampler": {
            "readings": stats.wakes,
            "missed": stats.missed,
            "overruns": stats.overruns,
            "late_p50_ns": stats.late_p50.0,
            "late_p99_ns": stats.late_p99.0,
            "late_most_ns": stats.late_most.0,
            "cpu_time_ns": stats.cpu_time.0,
            "class": format!("{:?}", stats.class).to_lowercase(),
        },
        "sensors": sensors,
        "session_count": status.session_count,
        "dropped_samples": status.dropped,
        "sessions": status.sessions.iter().map(session).collect::<Vec<_>>(),
    }))
}
