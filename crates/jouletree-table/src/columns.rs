//! Text in columns, as wide as the terminal allows: where it does not fit, columns that matter less are left out, bars and
//! names are shortened; numbers never are. In Markdown everything is written.

use crate::cell::{Cell, width};
use crate::page::Look;
use crate::{colour, markdown};

pub use crate::cell::Keep;

/// Rows of text under a header.
pub struct Columns {
    header: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    /// Columns with text that may be shortened to a width, the first to suffer first.
    flexible: Vec<(usize, Keep, usize)>,
    /// Columns that may be left out, those of a group together, the first to go first.
    optional: Vec<Vec<usize>>,
    /// Columns that have not been left out.
    shown: Vec<usize>,
    left: Vec<usize>,
    /// Columns of names, which are the user's words and not ours.
    names: Vec<usize>,
    /// Columns whose texts have two parts, the second from this mark on, each aligned by itself.
    split_at: Vec<(usize, char)>,
    /// Whether columns that do not fit are below the others.
    is_wrapped: bool,
}

/// A shortened column is at least this wide, if the terminal is not absurdly narrow.
const LEAST: usize = 22;
/// How wide the bar of the whole is, where there is room, and how narrow it may become.
const BAR: usize = 20;
const LEAST_BAR: usize = 8;
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
            names: Vec::new(),
            split_at: Vec::new(),
            is_wrapped: false,
        }
    }

    /// Aligns a column to the left; numbers, to the right, are the rule.
    pub fn left(mut self, column: usize) -> Columns {
        self.left.push(column);
        self
    }

    /// Says that a column holds names.
    pub fn names(mut self, column: usize) -> Columns {
        self.names.push(column);
        self.left(column)
    }

    /// Lets a column of names be shortened. The column named first is shortened first.
    pub fn shorten(mut self, column: usize, keep: Keep) -> Columns {
        self.flexible.push((column, keep, LEAST));
        self.names(column)
    }

    /// Leaves out others before the names of a column become shorter than this.
    pub fn at_least(mut self, column: usize, width: usize) -> Columns {
        self.flexible
            .iter_mut()
            .filter(|(flexible, ..)| *flexible == column)
            .for_each(|(.., least)| *least = width);
        self
    }

    /// Lets columns be left out, in this order.
    pub fn optional(mut self, columns: &[usize]) -> Columns {
        self.optional.extend(columns.iter().map(|column| vec![*column]));
        self
    }

    /// Lets columns be left out that make no sense without each other.
    pub fn optional_together(mut self, columns: &[usize]) -> Columns {
        self.optional.push(columns.to_vec());
        self
    }

    /// Aligns what is before and what is from a mark on by themselves.
    pub fn split_at(mut self, column: usize, mark: char) -> Columns {
        self.split_at.push((column, mark));
        self
    }

    /// Puts columns that find no room below the others, beside the first column again.
    pub fn wrapped(mut self) -> Columns {
        self.is_wrapped = true;
        self
    }

    /// Leaves columns out wherever it is written.
    pub fn without(mut self, columns: &[usize]) -> Columns {
        self.shown.retain(|shown| !columns.contains(shown));
        self
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: Vec<C>) {
        self.rows.push(cells.into_iter().map(C::into).collect());
    }

    /// The table as text for standard output.
    pub fn text(self) -> String {
        self.written(Look::of_stdout())
    }

    /// The table as it looks on an output: shortened to the terminal's width on a terminal, in full elsewhere.
    pub fn written(mut self, look: Look) -> String {
        match look {
            Look::Markdown => self.markdown(),
            Look::Text { width, has_colour } => {
                self.align_parts();
                let room = width.unwrap_or(usize::MAX);
                self.fit(room);
                let groups = if self.is_wrapped { self.groups(room) } else { vec![self.shown.clone()] };
                let texts = groups.into_iter().map(|group| {
                    self.shown = group;
                    self.lines(has_colour)
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The columns in groups that have room, each beginning with the first column.
    fn groups(&self, room: usize) -> Vec<Vec<usize>> {
        let Some((first, others)) = self.shown.split_first() else { return Vec::new() };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut taken = 0;
        for column in others {
            let more = GAP + self.width(*column);
            match groups.last_mut() {
                Some(group) if taken + more <= room => group.push(*column),
                _ => {
                    groups.push(vec![*first, *column]);
                    taken = self.width(*first);
                }
            }
            taken += more;
        }
        groups
    }

    fn lines(&self, has_colour: bool) -> String {
        let widths: Vec<usize> = self.shown.iter().map(|column| self.width(*column)).collect();
        let header = self.header.iter().map(|title| Cell::from(*title).styled(colour::head())).collect();
        let mut text = String::new();
        for row in [&header].into_iter().chain(&self.rows) {
            let mut blanks = 0;
            for (column, room) in self.shown.iter().zip(&widths) {
                let cell = row.get(*column).cloned().unwrap_or_default();
                let blank = room.saturating_sub(cell.width());
                let (before, after) = if self.left.contains(column) { (0, blank) } else { (blank, 0) };
                if cell.width() > 0 {
                    text += &" ".repeat(blanks + before);
                    text += &cell.written(has_colour);
                    blanks = 0;
                } else {
                    blanks += before;
                }
                // What ends a line is not written.
                blanks += after + GAP;
            }
            text.push('\n');
        }
        text
    }

    fn markdown(&self) -> String {
        // A bar says what the share beside it says, and has no title.
        let shown: Vec<usize> =
            self.shown.iter().copied().filter(|column| !self.header[*column].is_empty()).collect();
        let titles = shown.iter().map(|column| self.header[*column].to_owned());
        let marks = shown.iter().map(|column| if self.left.contains(column) { "---" } else { "---:" }.to_owned());
        let cell = |row: &Vec<Cell>, column: &usize| match row.get(*column) {
            None => String::new(),
            Some(cell) if self.names.contains(column) => markdown::code(&cell.lead, &cell.text),
            Some(cell) => markdown::escaped(&cell.text),
        };
        let rows = self.rows.iter().map(|row| markdown::row(shown.iter().map(|column| cell(row, column))));
        [markdown::row(titles), markdown::row(marks)].into_iter().chain(rows).collect()
    }

    fn align_parts(&mut self) {
        for (column, mark) in std::mem::take(&mut self.split_at) {
            let cells = || self.rows.iter().filter_map(|row| row.get(column));
            let split = |cell: &Cell| {
                cell.text.find(mark).map(|at| (cell.text[..at].to_owned(), cell.text[at..].to_owned()))
            };
            let parts = || cells().filter_map(split);
            let first = parts().map(|(first, _)| width(&first)).max().unwrap_or(0);
            let second = parts().map(|(_, second)| width(&second)).max().unwrap_or(0);
            for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(column)) {
                if let Some((one, other)) = split(cell) {
                    // What follows a mark like `…` keeps its place beside it.
                    let (mark, other) = other.split_at(if mark == '(' { 0 } else { mark.len_utf8() });
                    let blank = second - width(mark) - width(other);
                    cell.text = format!("{one:>first$}{mark}{}{other}", " ".repeat(blank));
                }
            }
        }
    }

    fn fit(&mut self, room: usize) {
        self.draw_bars(LEAST_BAR);
        for group in std::mem::take(&mut self.optional) {
            if self.least_width() > room {
                self.shown.retain(|shown| !group.contains(shown));
            }
        }
        let rest = room.saturating_sub(self.total_width());
        self.draw_bars(rest.saturating_add(LEAST_BAR).min(BAR));
        for (column, keep, least) in std::mem::take(&mut self.flexible) {
            let over = self.total_width().saturating_sub(room);
            let room = self.width(column).saturating_sub(over).max(least);
            self.rows.iter_mut().filter_map(|row| row.get_mut(column)).for_each(|cell| cell.shorten(room, keep));
        }
    }

    fn draw_bars(&mut self, most: usize) {
        self.rows.iter_mut().flatten().for_each(|cell| cell.draw(most));
    }

    fn total_width(&self) -> usize {
        self.shown.iter().map(|column| self.width(*column) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// How wide the table is with every name as short as it may become.
    fn least_width(&self) -> usize {
        let least = |column: &usize| {
            let shortest =
                self.flexible.iter().find(|(flexible, ..)| flexible == column).map(|(.., least)| *least);
            self.width(*column).min(shortest.unwrap_or(usize::MAX))
        };
        self.shown.iter().map(|column| least(column) + GAP).sum::<usize>().saturating_sub(GAP)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(Cell::width);
        cells.chain([width(self.header[column])]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        let mut columns =
            Columns::new(&["operation", "type", "energy"]).shorten(1, Keep::Start).shorten(0, Keep::End);
        columns.row(vec!["bert/encoder/layer_0/MatMul", "ampere_sgemm_128x64_tn_more", "12.3 J"]);
        columns
    }

    fn text_within(columns: Columns, width: Option<usize>) -> String {
        columns.written(Look::Text { width, has_colour: false })
    }

    #[test]
    fn everything_is_written_where_there_is_no_terminal() {
        let text = text_within(columns(), None);
        assert!(text.contains("bert/encoder/layer_0/MatMul  ampere_sgemm_128x64_tn_more  12.3 J\n"), "{text}");
    }

    #[test]
    fn names_give_way_to_numbers_in_a_narrow_terminal() {
        let text = text_within(columns(), Some(56));
        assert!(text.lines().all(|line| line.chars().count() <= 56), "{text}");
        assert!(text.contains("…/encoder/layer_0/MatMul") && text.contains("12.3 J"), "{text}");
    }

    #[test]
    fn columns_that_matter_less_are_left_out() {
        let text = text_within(columns().optional(&[1]), Some(40));
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(!text.contains("type") && text.contains("encoder/layer_0/MatMul  12.3 J"), "{text}");
        let text = text_within(columns().optional_together(&[1, 2]), Some(40));
        assert!(!text.contains("type") && !text.contains("energy"), "{text}");
    }

    #[test]
    fn columns_without_room_stand_below_the_others() {
        let wrapped = || {
            let mut columns = Columns::new(&["model", "one", "two", "three"]).names(0).wrapped();
            columns.row(vec!["bert", "1.5 %", "2.5 %", "3.5 %"]);
            columns
        };
        assert_eq!(text_within(wrapped(), None).lines().count(), 2);
        let text = text_within(wrapped(), Some(20));
        assert_eq!(text, "model    one    two\nbert   1.5 %  2.5 %\n\nmodel  three\nbert   3.5 %\n");
    }

    #[test]
    fn bars_give_way_before_names() {
        let bars = || {
            let mut columns = Columns::new(&["layer", "energy", ""]).shorten(0, Keep::Start).left(2);
            columns.row(vec![Cell::from("a layer with a name that is long"), "12.3 J".into(), Cell::bar(1.0)]);
            columns
        };
        let lengths = |width| {
            let text = text_within(bars(), width);
            let bar = text.chars().filter(|character| *character == '█').count();
            (bar, text.lines().map(|line| line.chars().count()).max().unwrap_or_default(), text.contains('…'))
        };
        assert_eq!(lengths(None), (20, 62, false));
        assert_eq!(lengths(Some(52)), (10, 52, false));
        assert_eq!(lengths(Some(44)), (8, 44, true));
    }

    #[test]
    fn parts_of_a_cell_are_aligned_by_themselves() {
        let mut columns = Columns::new(&["share", "interval"]).split_at(0, '(').split_at(1, '…');
        columns.row(vec!["12.3 J (100.0 %)", "8.10 … 25.0 J"]);
        columns.row(vec!["800 mJ (6.5 %)", "527 mJ … 1.62 J"]);
        columns.row(vec!["unknown", ""]);
        let header = format!("{:>16}  {:>15}\n", "share", "interval");
        let rows =
            ["12.3 J (100.0 %)    8.10 … 25.0 J\n", "800 mJ   (6.5 %)  527 mJ … 1.62 J\n", "         unknown\n"];
        assert_eq!(text_within(columns, None), header + &rows.concat());
    }
}
