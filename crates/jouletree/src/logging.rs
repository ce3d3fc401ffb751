//! Diagnostics on standard error: off unless `-v` or `JOULETREE_LOG` asks for them; the daemon logs at `info`.
//!
//! The only place that decides what is logged and how. Libraries emit events through `tracing` and know nothing of it. Only
//! jouletree's own events are written: those of network libraries may contain tokens.

use std::io;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// The environment variable that chooses what is logged.
const VARIABLE: &str = "JOULETREE_LOG";
/// All crates of this workspace.
const OURS: &str = "jouletree";

/// Why nothing can be logged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The variable is not a filter.
    #[error(
        "{VARIABLE}=`{0}` is neither a level (off, error, warn, info, debug, trace) nor a list such as \
         jouletree_trace=debug,jouletree_meter=info"
    )]
    Filter(String),
    /// The variable names another library.
    #[error(
        "{VARIABLE} names `{0}`; only crates of jouletree are logged, for example jouletree_daemon=debug, because \
         messages of other libraries may contain tokens"
    )]
    Foreign(String),
}

/// Begins to log. `verbose` counts `-v`; `default` applies where neither it nor the environment says anything.
pub fn start(verbose: u8, default: LevelFilter) -> Result<(), LogError> {
    let variable = std::env::var_os(VARIABLE).map(|text| text.to_string_lossy().into_owned());
    let targets = targets(verbose, variable.as_deref(), default)?;
    if targets.iter().all(|(_, level)| level == LevelFilter::OFF) {
        return Ok(());
    }
    // A log on a full disk must not end what it describes.
    let layer = fmt::layer().with_writer(io::stderr).with_ansi(false).log_internal_errors(false);
    // The journal of systemd notes the time itself.
    let layer = match std::env::var_os("JOURNAL_STREAM") {
        Some(_) => layer.without_time().with_filter(targets).boxed(),
        None => layer.with_filter(targets).boxed(),
    };
    // It fails only where a logger was started before, which then stays.
    let _ = tracing_subscriber::registry().with(layer).try_init();
    Ok(())
}

/// What is logged: by `-v`, else by the variable, else by default.
fn targets(verbose: u8, variable: Option<&str>, default: LevelFilter) -> Result<Targets, LogError> {
    let all = |level| Targets::new().with_target(OURS, level);
    match (verbose, variable.map(str::trim).filter(|text| !text.is_empty())) {
        (0, None) => Ok(all(default)),
        (0, Some(text)) => parsed(text),
        (1, _) => Ok(all(LevelFilter::INFO)),
        (2, _) => Ok(all(LevelFilter::DEBUG)),
        _ => Ok(all(LevelFilter::TRACE)),
    }
}

fn parsed(text: &str) -> Result<Targets, LogError> {
    let given: Targets = text.parse().map_err(|_| LogError::Filter(text.to_owned()))?;
    let mut targets = Targets::new().with_target(OURS, given.default_level().unwrap_or(LevelFilter::OFF));
    for (target, level) in given.iter() {
        match target {
            _ if target.starts_with(OURS) => targets = targets.with_target(target, level),
            // A word without a level is read as a target: a misspelt level.
            _ if target == text => return Err(LogError::Filter(text.to_owned())),
            _ => return Err(LogError::Foreign(target.to_owned())),
        }
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::LevelFilter;

    use super::*;

    fn enabled(verbose: u8, variable: Option<&str>, default: LevelFilter) -> Vec<(String, LevelFilter)> {
        let targets = targets(verbose, variable, default).unwrap();
        let mut levels: Vec<_> = targets.iter().map(|(target, level)| (target.to_owned(), level)).collect();
        levels.sort();
        levels
    }

    fn ours(level: LevelFilter) -> Vec<(String, LevelFilter)> {
        vec![(OURS.to_owned(), level)]
    }

    #[test]
    fn the_flag_comes_before_the_variable_and_the_variable_before_the_default() {
        assert_eq!(enabled(0, None, LevelFilter::OFF), ours(LevelFilter::OFF));
        assert_eq!(enabled(0, Some(" "), LevelFilter::INFO), ours(LevelFilter::INFO));
        assert_eq!(enabled(0, Some("warn"), LevelFilter::INFO), ours(LevelFilter::WARN));
        let levels = [1, 2, 3, 9].map(|verbose| enabled(verbose, Some("error"), LevelFilter::OFF));
        let expected = [LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE, LevelFilter::TRACE];
        assert_eq!(levels, expected.map(ours));
    }

    #[test]
    fn crates_have_levels_of_their_own() {
        let levels = enabled(0, Some("jouletree_trace=debug,info"), LevelFilter::OFF);
        let expected = [(OURS, LevelFilter::INFO), ("jouletree_trace", LevelFilter::DEBUG)];
        assert_eq!(levels, expected.map(|(target, level)| (target.to_owned(), level)));
    }

    #[test]
    fn what_is_no_filter_or_not_ours_is_an_error() {
        let error = |text| targets(0, Some(text), LevelFilter::OFF).unwrap_err();
        assert_eq!(error("debgu"), LogError::Filter("debgu".to_owned()));
        assert_eq!(error("jouletree=loud"), LogError::Filter("jouletree=loud".to_owned()));
        assert_eq!(error("h2=trace"), LogError::Foreign("h2".to_owned()));
    }
}
