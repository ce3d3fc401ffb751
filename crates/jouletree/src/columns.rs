//! Text in columns, as wide as the terminal allows: where it does not fit, columns that matter less are left out and
//! names are shortened; numbers never are.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// What of a name that does not fit is worth keeping.
#[derive(Clone, Copy)]
pub enum Keep {
    /// The end, as of a path.
    End,
    /// The beginning, as of a kernel's name.
    Start,
}

/// Rows of text under a header.
pub struct Columns {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Columns with text that may be shortened, the first to suffer first.
    flexible: Vec<(usize, Keep)>,
    /// Columns that may be left out, the first to go first.
    optional: Vec<usize>,
    /// Columns that have not been left out.
    shown: Vec<usize>,
    left: Vec<usize>,
}

/// A shortened column is at least this wide, if the terminal is not absurdly narrow.
const LEAST: usize = 24;
const GAP: usize = 2;

impl Columns {
    /// No rows yet under this header.
    pub fn new(header: &[&'static str]) -> Columns {
        Columns {
            header: header.to_vec(),
            rows: Vec::new(),
            flexible: Vec::new(),
            optional: Vec::new(),
            shown: (0..header.len()).collect(),
            left: Vec::new(),
        }
    }

    /// Aligns a column to the left; numbers, to the right, are the rule.
    pub fn left(mut self, column: usize) -> Columns {
        self.left.push(column);
        self
    }

    /// Lets a column of names be shortened. The column named first is shortened first.
    pub fn shorten(mut self, column: usize, keep: Keep) -> Columns {
        self.flexible.push((column, keep));
        self.left(column)
    }

    /// Lets columns be left out, in this order.
    pub fn optional(mut self, columns: &[usize]) -> Columns {
        self.optional.extend_from_slice(columns);
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as text: shortened to the terminal's width on a terminal, in full elsewhere.
    pub fn text(self) -> String {
        self.text_within(terminal_width())
    }

    fn text_within(mut self, width: Option<usize>) -> String {
        if let Some(width) = width {
            self.fit(width);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.shown.iter().map(|column| self.header[*column]));
        for row in &self.rows {
            table.add_row(self.shown.iter().map(|column| row.get(*column).cloned().unwrap_or_default()));
        }
        for (column, shown) in table.column_iter_mut().zip(&self.shown) {
            column.set_padding((0, GAP as u16));
            if !self.left.contains(shown) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }

    fn fit(&mut self, width: usize) {
        for column in self.optional.clone() {
            if self.least_width() > width {
                self.shown.retain(|shown| *shown != column);
            }
        }
        for (column, keep) in self.flexible.clone() {
            let total: usize = self.shown.iter().map(|column| self.width(*column) + GAP).sum();
            let room = (self.width(column) + GAP + width).saturating_sub(total).max(LEAST);
            for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
                *cell = shortened(cell, room, keep);
            }
        }
    }

    /// How wide the table is with every name as short as it may become.
    fn least_width(&self) -> usize {
        let is_flexible = |column: usize| self.flexible.iter().any(|(flexible, _)| *flexible == column);
        let least = |column: &usize| match self.width(*column) {
            width if is_flexible(*column) => width.min(LEAST),
            width => width,
        };
        self.shown.iter().map(|column| least(column) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([self.header[column].len()]).max().unwrap_or(0)
    }
}

/// How wide the terminal is; `None` where there is none.
pub fn terminal_width() -> Option<usize> {
    Table::new().width().map(usize::from)
}

/// The text in at most `room` characters, with a mark where something is missing.
fn shortened(text: &str, room: usize, keep: Keep) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    match keep {
        Keep::Start => text.chars().take(kept).chain(['…']).collect(),
        Keep::End => ['…'].into_iter().chain(text.chars().skip(length - kept)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        let mut columns =
            Columns::new(&["operation", "type", "energy"]).shorten(1, Keep::Start).shorten(0, Keep::End);
        columns.row(vec!["bert/encoder/layer_0/MatMul".into(), "ampere_sgemm_128x64_tn".into(), "12.3 J".into()]);
        columns
    }

    #[test]
    fn everything_is_written_where_there_is_no_terminal() {
        let text = columns().text_within(None);
        assert!(text.contains("bert/encoder/layer_0/MatMul  ampere_sgemm_128x64_tn  12.3 J\n"), "{text}");
    }

    #[test]
    fn names_give_way_to_numbers_in_a_narrow_terminal() {
        let text = columns().text_within(Some(56));
        assert!(text.lines().all(|line| line.chars().count() <= 56), "{text}");
        assert!(text.contains("…/encoder/layer_0/MatMul") && text.contains("12.3 J"), "{text}");
    }

    #[test]
    fn columns_that_matter_less_are_left_out() {
        let text = columns().optional(&[1]).text_within(Some(40));
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(!text.contains("type") && text.contains("encoder/layer_0/MatMul  12.3 J"), "{text}");
    }
}
