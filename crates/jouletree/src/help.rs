//! `jouletree --help`: the commands by what they are for.

use clap::{Command, CommandFactory as _};

use crate::cli::Cli;
use crate::{page, paragraph};

/// The commands in the order in which a new user needs them. A test compares this list with the commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "record", "top", "doctor", "detect", "account", "calibrate", "patch"]),
    ("Look", &["show", "report", "export", "calls", "inspect"]),
    ("Compare", &["tradeoff", "evaluate"]),
    ("Predict", &["predict", "estimate", "train"]),
    ("Carbon", &["carbon", "card", "monitor", "config"]),
    ("Service", &["daemon", "serve"]),
];

/// Help is as wide as the terminal, and not wider than this.
const WIDEST: usize = 100;
/// What an example does is after so many blanks, below it where the line has no room.
const BELOW: usize = 6;

/// The command line, whose help lists the commands by group and has examples that fit.
pub fn command() -> Command {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = page::stdout_width().or(columns).unwrap_or(WIDEST).min(WIDEST);
    let command = with_fitted_examples(Cli::command(), width);
    let header = *command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}Options:{header:#}\n{{options}}\n\n\
         Start with: jouletree run -- python train.py\n\
         Options and examples of a command: jouletree COMMAND --help",
        groups(&command)
    );
    command.help_template(template)
}

/// What was meant by the words of a command that lack the `--` before another command.
pub fn missing_dashes(words: &[String]) -> Option<String> {
    let (verb, rest) = words.split_first()?;
    let takes_command = ["run", "record", "monitor", "top"].contains(&verb.as_str());
    let has_dashes = rest.iter().any(|word| word == "--");
    // The first argument that is no option and clearly not the value of one.
    let is_command = |(place, word): (usize, &String)| {
        let follows_option = place > 0 && rest.get(place - 1).is_some_and(|before| before.starts_with('-'));
        !word.starts_with('-') && (!follows_option || word.starts_with("python"))
    };
    let place = rest.iter().enumerate().position(is_command).filter(|_| takes_command && !has_dashes)?;
    let (options, command) = rest.split_at(place);
    let (before, dashes) = (["jouletree".to_owned(), verb.clone()], ["--".to_owned()]);
    Some([&before[..], options, &dashes, command].concat().join(" "))
}

/// The same with what is after its options, and after those of its commands, in lines of a width. clap would break every long
/// line by itself, in the middle of a comment and of a paragraph.
fn with_fitted_examples(command: Command, width: usize) -> Command {
    let after = command.get_after_help().map(ToString::to_string);
    let command = command.mut_subcommands(|command| with_fitted_examples(command, width));
    match after {
        Some(text) => command.after_help(fitted(&text, width)),
        None => command,
    }
}

/// What help says after the options.
enum Piece {
    Gap,
    /// An example with what it does, if that is on its line.
    Example {
        line: String,
        command: String,
        about: String,
    },
    /// A paragraph, so deep.
    Text {
        depth: usize,
        words: String,
    },
}

/// Examples and paragraphs in lines of a width.
fn fitted(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Gap => fitted.push('\n'),
            Piece::Example { line, about, .. } if about.is_empty() || line.chars().count() <= width => {
                fitted += &format!("{line}\n");
            }
            Piece::Example { command, about, .. } => {
                fitted += &format!("  {command}\n{}", paragraph::paragraph(&about, BELOW, width));
            }
            Piece::Text { depth, words } => fitted += &paragraph::paragraph(&words, depth, width),
        }
    }
    fitted
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for whole in text.lines() {
        let (depth, words) = (indent(whole), whole.trim());
        match pieces.last_mut() {
            _ if words.is_empty() => pieces.push(Piece::Gap),
            _ if depth == 2 => {
                let (command, about) = words.split_once("  ").unwrap_or((words, ""));
                let (line, command, about) = (whole.to_owned(), command.to_owned(), about.trim().to_owned());
                pieces.push(Piece::Example { line, command, about });
            }
            // What it does goes on below where it began.
            Some(Piece::Example { line, about, .. }) if depth > BELOW && !about.is_empty() => {
                *line += &format!(" {words}");
                *about += &format!(" {words}");
            }
            Some(Piece::Text { depth: above, words: known }) if *above == depth && !known.ends_with(':') => {
                *known += &format!(" {words}");
            }
            _ => pieces.push(Piece::Text { depth, words: words.to_owned() }),
        }
    }
    pieces
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn groups(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (title, names) in GROUPS {
        text += &format!("{header}{title}:{header:#}\n");
        for name in names {
            // Commands of features that this build does not have are left out.
            let Some(found) = command.find_subcommand(name) else { continue };
            let about = found.get_about().cloned().unwrap_or_default();
            text += &format!("  {literal}{name:<10}{literal:#} {about}\n");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_was_meant_has_dashes() {
        let meant = |line: &str| missing_dashes(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(meant("run python x.py").as_deref(), Some("jouletree run -- python x.py"));
        assert_eq!(meant("run -o RUN python x.py -v").as_deref(), Some("jouletree run -o RUN -- python x.py -v"));
        assert_eq!(meant("record -q python3 x.py").as_deref(), Some("jouletree record -q -- python3 x.py"));
        assert_eq!(meant("run -- python x.py"), None);
        assert_eq!(meant("show python"), None);
        assert_eq!(meant("run --quiet"), None);
    }

    #[test]
    fn examples_fit_and_keep_what_they_do_together() {
        let text = "Examples:\n  jouletree a RUN          does one thing\n  jouletree b RUN --long   does another thing,\n       \
                    \u{20}                   and more\n  jouletree c RUN\n      below\n\nOne paragraph,\nin two lines.";
        let narrow = "Examples:\n  jouletree a RUN          does one thing\n  jouletree b RUN --long\n      does another \
                      thing, and more\n  jouletree c RUN\n      below\n\nOne paragraph, in two lines.\n";
        assert_eq!(fitted(text, 44), narrow);
        assert!(fitted(text, 80).contains("--long   does another thing, and more\n"));
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
        let mut visible: Vec<&str> = visible.collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn the_help_lists_each_command_once() {
        let help = super::command().render_help().to_string();
        for (title, names) in GROUPS {
            assert!(help.contains(&format!("{title}:\n")), "{help}");
            for name in names {
                assert_eq!(help.matches(&format!("\n  {name} ")).count(), 1, "{name}:\n{help}");
            }
        }
    }
}
