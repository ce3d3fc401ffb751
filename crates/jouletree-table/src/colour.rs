//! Colours in tables: whether there are any, and what they say. They are the sixteen that every terminal has, and what one
//! says is also said in words or numbers.

use std::env;
use std::sync::OnceLock;

use clap::ColorChoice;
use clap::builder::styling::{AnsiColor, Style};
use jouletree_model::Kind;

/// What has at least this share of the whole is emphasised.
const LARGE: f64 = 0.1;
/// What has less steps back.
const SMALL: f64 = 0.01;

/// What was asked for on the command line.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Remembers what `--color` says.
pub fn choose(choice: ColorChoice) {
    // There is one command line, and it is read once.
    let _ = CHOICE.set(choice);
}

/// Whether colours are wanted on an output.
pub fn is_wanted(is_terminal: bool) -> bool {
    let choice = CHOICE.get().copied().unwrap_or(ColorChoice::Auto);
    wanted(choice, is_terminal, |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

/// The flag has the last word, then come <https://no-color.org> and <https://bixense.com/clicolors>.
fn wanted(choice: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| variable(name).is_some_and(|found| found == value);
    let is_set = |name: &str| variable(name).is_some_and(|found| !found.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set("NO_COLOR") => false,
        ColorChoice::Auto if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
        ColorChoice::Auto => is_terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb"),
    }
}

/// The head of a table, and titles.
pub fn head() -> Style {
    Style::new().bold()
}

/// What matters less: lines of a tree, what is small.
pub fn quiet() -> Style {
    Style::new().dimmed()
}

/// A number that is this share of the whole.
pub fn number(share: f64) -> Style {
    match share {
        share if share >= LARGE => Style::new().bold(),
        share if share < SMALL => quiet(),
        _ => Style::new(),
    }
}

/// A bar that shows this share of the whole.
pub fn bar(share: f64) -> Style {
    let colour = if share >= LARGE { AnsiColor::Red } else { AnsiColor::Blue };
    Style::new().fg_color(Some(colour.into()))
}

/// A style for numbers of a kind: what was measured looks as it is.
pub fn of_kind(style: Style, kind: Option<Kind>) -> Style {
    let colour = match kind {
        None | Some(Kind::Measured) => return style,
        Some(Kind::Derived) => AnsiColor::Cyan,
        Some(Kind::Estimated) => AnsiColor::Yellow,
        Some(Kind::Predicted) => AnsiColor::Magenta,
    };
    style.fg_color(Some(colour.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_comes_before_the_environment_and_that_before_the_terminal() {
        let wanted = |choice, is_terminal, variables: &[(&str, &str)]| {
            let value =
                |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
            wanted(choice, is_terminal, value)
        };
        let auto = |is_terminal, variables: &[(&str, &str)]| wanted(ColorChoice::Auto, is_terminal, variables);
        assert!(auto(true, &[]) && !auto(false, &[]));
        assert!(!auto(true, &[("NO_COLOR", "1")]) && auto(true, &[("NO_COLOR", "")]));
        assert!(!auto(true, &[("TERM", "dumb")]) && auto(true, &[("TERM", "xterm")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!auto(true, &[("CLICOLOR", "0")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]));
        assert!(wanted(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!wanted(ColorChoice::Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn what_is_not_measured_does_not_look_measured() {
        let plain = Style::new();
        assert_eq!(of_kind(plain, Some(Kind::Measured)), plain);
        for kind in [Kind::Derived, Kind::Estimated, Kind::Predicted] {
            assert_ne!(of_kind(plain, Some(kind)), plain);
        }
    }
}
