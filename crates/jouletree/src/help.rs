//! `jouletree --help`: the commands by what they are for.

use clap::{Command, CommandFactory as _};

use crate::cli::Cli;

/// The commands in the order in which a new user needs them. A test compares this list with the commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "record", "top", "doctor", "detect", "account", "calibrate", "patch"]),
    ("Look", &["show", "report", "export", "calls", "inspect"]),
    ("Compare", &["tradeoff", "evaluate"]),
    ("Predict", &["predict", "estimate", "train"]),
    ("Carbon", &["carbon", "card", "monitor", "config"]),
    ("Service", &["daemon", "serve"]),
];

/// The command line, whose help lists the commands by group.
pub fn command() -> Command {
    let command = Cli::command();
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
