//! Text as GitHub's Markdown: cells of tables whatever is in them, and sentences.

/// A row of a table.
pub fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A name as code, which nothing in it can break out of, after the lines that draw a tree.
pub fn code(lead: &str, name: &str) -> String {
    if lead.is_empty() && name.trim().is_empty() {
        return String::new();
    }
    // Code begins and ends with more backticks than it holds in a row.
    let longest = name.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A blank parts a fence from a backtick; it is not shown.
    let is_parted = lead.is_empty() && name.starts_with('`') || name.ends_with('`');
    let blank = if is_parted { " " } else { "" };
    // Several blanks would be shown as one. A bar ends a cell, in code as well.
    let lead = lead.replace(' ', "\u{a0}");
    format!("{fence}{blank}{lead}{}{blank}{fence}", name.replace('|', "\\|"))
}

/// Words as they are: what means something to Markdown is taken literally.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '#') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_cells() {
        assert_eq!(code("", "bert/layer_0"), "`bert/layer_0`");
        assert_eq!(code("", "a|b"), "`a\\|b`");
        assert_eq!(code("", "a`b``c"), "```a`b``c```");
        assert_eq!(code("", "`a`"), "`` `a` ``");
        assert_eq!((code("", ""), code("", " ")), (String::new(), String::new()));
    }

    #[test]
    fn the_lines_of_a_tree_keep_their_places() {
        assert_eq!(code("│  └─ ", "bert"), "`│\u{a0}\u{a0}└─\u{a0}bert`");
        assert_eq!(code("   └─ ", "my layer`"), "`` \u{a0}\u{a0}\u{a0}└─\u{a0}my layer` ``");
    }

    #[test]
    fn words_are_taken_literally() {
        assert_eq!(escaped("8.48 J (88.7 %)"), "8.48 J (88.7 %)");
        assert_eq!(escaped("<b> __x__ a|b"), "\\<b\\> \\_\\_x\\_\\_ a\\|b");
    }
}
