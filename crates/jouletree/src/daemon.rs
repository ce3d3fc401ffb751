//! `jouletree daemon`: serve energy to those who may not read the meters, and say how that goes.

mod status;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use jouletree_daemon::{Config, SmaragdineConfig, SocketPlace, Tcp, Token, Ways, policy, serve};
use jouletree_host::Roots;
use jouletree_meter::sampler::Options;
use jouletree_meter::station::{self, Station};
use jouletree_model::Nanos;
use status::StatusArgs;

use crate::carbon::CarbonArgs;
use crate::live_args::MachineLiveArgs;
use crate::meter_args::MeterArgs;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DaemonArgs {
    #[command(subcommand)]
    command: Option<DaemonCommand>,
    #[command(flatten)]
    serve: ServeArgs,
}

impl DaemonArgs {
    /// Whether this process is to be the daemon.
    pub fn serves(&self) -> bool {
        self.command.is_none()
    }
}

#[derive(Subcommand)]
enum DaemonCommand {
    /// Say whether a daemon runs, what it reads, whom it serves and what it costs
    Status(StatusArgs),
}

#[derive(Args)]
struct ServeArgs {
    /// The socket that clients connect to
    #[arg(long, value_name = "PATH", default_value = SocketPlace::PATH)]
    socket: PathBuf,
    /// The group that may connect, by name or number; by default `jouletree`, or the daemon's own if there is none
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The mode of the socket
    #[arg(long, value_name = "OCTAL", default_value = "660", value_parser = mode)]
    mode: u32,
    /// The shortest period that clients are granted, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..=1000))]
    period: i64,
    /// What is done with those who want to watch processes of other users
    #[arg(long, value_enum, default_value = "floor")]
    foreign: ForeignArg,
    /// Also listen here, with TLS and a token
    #[arg(long, value_name = "ADDR:PORT", requires_all = ["tls_cert", "tls_key", "token_file"])]
    listen: Option<SocketAddr>,
    /// The certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "listen")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "listen")]
    tls_key: Option<PathBuf>,
    /// The token that clients must know, in a file that only the daemon can read
    #[arg(long, value_name = "FILE", requires = "listen")]
    token_file: Option<PathBuf>,
    /// Also speak the protocol of the Smaragdine daemon, which has no authentication: [::1]:50051 is what its clients
    /// expect
    #[arg(long, value_name = "ADDR:PORT")]
    smaragdine: Option<SocketAddr>,
    /// Grant Smaragdine's clients periods below 10 ms, which shows everyone who reaches the address what others compute
    #[arg(long, requires = "smaragdine")]
    smaragdine_fast: bool,
    /// Let other machines reach the Smaragdine protocol
    #[arg(long, requires = "smaragdine")]
    smaragdine_insecure: bool,
    #[command(flatten)]
    live: MachineLiveArgs,
    #[command(flatten)]
    carbon: CarbonArgs,
    #[command(flatten)]
    meters: MeterArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ForeignArg {
    /// They see them every 10 ms at most
    Floor,
    /// They do not see them
    Refuse,
}

pub const EXAMPLES: &str = "\
Examples:
  jouletree daemon                                 serve the group `jouletree` at /run/jouletree/daemon.sock
  jouletree daemon status                          is it up, what does it read, whom does it serve
  jouletree daemon --smaragdine '[::1]:50051'      also serve clients of the published Smaragdine daemon
  jouletree daemon --listen 0.0.0.0:7443 --tls-cert cert.pem --tls-key key.pem --token-file token
      also serve other machines
  jouletree daemon --prometheus :9108              also answer a Prometheus server of this machine (docs/live.md)

SIGTERM and SIGINT end it properly; its clients are notified. docs/daemon.md says more.";

pub fn run(arguments: &DaemonArgs) -> Result<ExitCode> {
    match &arguments.command {
        Some(DaemonCommand::Status(arguments)) => status::run(arguments)?,
        None => start(&arguments.serve)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn start(arguments: &ServeArgs) -> Result<()> {
    let roots = arguments.meters.options().roots;
    let config = arguments.config(roots.clone())?;
    let mut outputs = arguments.live.open(arguments.carbon.known_intensity()?)?;
    let sensors = arguments.meters.options().inventory()?.into_sensors();
    let station =
        Station::start(sensors, &roots, station::Options::default()).context("the meters cannot be read")?;
    outputs.begin(&station)?;
    serve(station, config, |ways| announce(ways, arguments))?;
    drop(outputs);
    writeln_stderr!("jouletree: the daemon has ended");
    Ok(())
}

impl ServeArgs {
    fn config(&self, roots: Roots) -> Result<Config> {
        let secured = (self.listen, &self.tls_cert, &self.tls_key, &self.token_file);
        let tcp = match secured {
            (Some(address), Some(certificate), Some(key), Some(token)) => {
                let token = Token::read(token)?;
                Some(Tcp { address, certificate: certificate.clone(), key: key.clone(), token })
            }
            _ => None,
        };
        let smaragdine = self.smaragdine.map(|address| SmaragdineConfig {
            address,
            insecure: self.smaragdine_insecure,
            fast: self.smaragdine_fast,
        });
        Ok(Config {
            socket: SocketPlace { path: self.socket.clone(), mode: self.mode, group: self.group.clone() },
            tcp,
            smaragdine,
            foreign: match self.foreign {
                ForeignArg::Floor => policy::Foreign::Floor,
                ForeignArg::Refuse => policy::Foreign::Refuse,
            },
            shortest: Nanos(self.period.saturating_mul(1_000_000)).max(Options::SHORTEST),
            roots,
            ..Config::default()
        })
    }
}

fn announce(ways: &Ways, arguments: &ServeArgs) {
    writeln_stderr!("jouletree: serving at {}", ways.socket.display());
    if let Some(address) = ways.tcp {
        writeln_stderr!("jouletree: serving other machines at {address}, with TLS and a token");
    }
    if let Some(address) = ways.smaragdine {
        writeln_stderr!("jouletree: serving the Smaragdine protocol at {address}; it has no authentication");
        if arguments.smaragdine_fast {
            writeln_stderr!(
                "jouletree: periods below 10 ms show every client that reaches {address} what others compute"
            );
        }
    }
}

fn mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err("a mode such as 660 is expected".to_owned()),
    }
}
