//! Paragraphs of a width, and commands in them that can be copied.

/// A name or number and what is said of it; what does not fit on its line is indented further.
pub fn entry(lead: &str, text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    broken(&format!("{lead}{text}"), 0, indent, width, &mut lines);
    lines
}

/// Text as a paragraph of some width, every line after so many blanks. Lines that begin with four spaces are commands:
/// they keep their lines, a little deeper, and are broken only where the shell takes them up again.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(command) => continued(command, indent + 4, width, &mut lines),
            None => broken(line, indent, indent, width, &mut lines),
        }
    }
    lines
}

fn broken(text: &str, first: usize, others: usize, width: usize, lines: &mut String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    filled(&words, [first, others], width, "", lines);
}

/// A command, broken between words with a backslash.
fn continued(command: &str, indent: usize, width: usize, lines: &mut String) {
    let words = shell_words(command);
    filled(&words, [indent, indent + 4], width, " \\", lines);
}

/// Lines of words, as full as they can be; each but the last ends with a mark.
fn filled(words: &[&str], [first, others]: [usize; 2], width: usize, mark: &str, lines: &mut String) {
    let mut indent = first;
    let (mut line, mut length) = (String::new(), 0);
    for word in words {
        let more = word.chars().count();
        let room = width.saturating_sub(indent + mark.len()).max(20);
        if length > 0 && length + 1 + more > room {
            lines.push_str(&format!("{:indent$}{line}{mark}\n", ""));
            (line, length, indent) = (String::new(), 0, others);
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += more;
    }
    if !line.is_empty() {
        lines.push_str(&format!("{:indent$}{line}\n", ""));
    }
}

/// The words of a command; what is quoted is one.
fn shell_words(command: &str) -> Vec<&str> {
    let mut quote = None;
    command
        .split(|letter: char| {
            match quote {
                None if matches!(letter, '\'' | '"') => quote = Some(letter),
                Some(open) if open == letter => quote = None,
                _ => {}
            }
            quote.is_none() && letter == ' '
        })
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_commands_are_continued() {
        let text = "load the driver, where the processor has counters:\n    sudo modprobe a-long-name-of-a-driver 'a b c d e f'";
        let expected = "  load the driver, where the\n  processor has counters:\n      sudo modprobe \\\n          \
                        a-long-name-of-a-driver \\\n          'a b c d e f'\n";
        assert_eq!(paragraph(text, 2, 30), expected);
        assert_eq!(paragraph("", 2, 30), "");
        assert_eq!(
            entry("[1] ", "it is dead and gone for ever", 4, 24),
            "[1] it is dead and gone\n    for ever\n"
        );
    }

    #[test]
    fn quoted_words_stay_whole() {
        let words = shell_words("printf '%s \"x' \"$(command -v a)\" | tee b");
        assert_eq!(words, ["printf", "'%s \"x'", "\"$(command -v a)\"", "|", "tee", "b"]);
    }
}
