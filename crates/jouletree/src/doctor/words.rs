//! Text for a terminal: names, paragraphs, commands that can be copied.

use jouletree_model::Device;

/// `cpu:0`, with its host only where it is named.
pub fn short(device: &Device) -> String {
    match device.is_on_unnamed_host() {
        true => format!("{}:{}", device.class(), device.index()),
        false => device.to_string(),
    }
}

/// What gives the sampler the first word on a processor.
pub fn realtime_remedy() -> String {
    "let this program alone do so:\n    \
     sudo setcap cap_dac_read_search,cap_perfmon,cap_sys_nice+ep \"$(command -v jouletree)\"\n\
     or this user, from the next log-in on:\n    \
     echo \"$USER - rtprio 1\" | sudo tee /etc/security/limits.d/60-jouletree.conf"
        .to_owned()
}

/// Text as a paragraph of some width, every line after so many blanks. Lines that begin with four spaces are commands:
/// they stand for themselves, a little deeper, and are never broken.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(command) => lines.push_str(&format!("{:indent$}    {command}\n", "")),
            None => broken(line, indent, width, &mut lines),
        }
    }
    lines
}

fn broken(text: &str, indent: usize, width: usize, lines: &mut String) {
    let room = width.saturating_sub(indent).max(20);
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if length > 0 && length + 1 + more > room {
            lines.push_str(&format!("{:indent$}{line}\n", ""));
            (line, length) = (String::new(), 0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_commands_are_not() {
        let text =
            "load the driver, where the processor has counters:\n    sudo modprobe a-very-long-name-of-a-driver";
        let expected = "  load the driver, where the\n  processor has counters:\n      sudo modprobe a-very-long-name-of-a-driver\n";
        assert_eq!(paragraph(text, 2, 30), expected);
        assert_eq!(paragraph("", 2, 30), "");
    }
}
