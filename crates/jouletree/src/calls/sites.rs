//! Calls by the line of the program that makes them, for people.

use jouletree_model::Nanos;
use jouletree_session::calls::sites::SiteRow;

use crate::cell::Cell;
use crate::colour;
use crate::columns::{Columns, Keep};
use crate::page::Page;

pub use jouletree_session::calls::sites::rows;

/// The sites for people.
pub fn page(rows: &[SiteRow], top: usize) -> Page {
    let mut page = Page::default();
    let header = ["line", "call", "device", "calls", "time", "energy", "its own", "net", "source"];
    let mut table =
        Columns::new(&header).left(2).shorten(8, Keep::Start).shorten(1, Keep::End).shorten(0, Keep::End);
    // The line itself is what people look for; a narrow terminal shows its beginning.
    table = table.optional(&[4, 7, 2, 3]);
    for row in rows.iter().take(top) {
        table.row(vec![
            Cell::from(row.site.as_str()),
            Cell::from(row.function.as_str()),
            Cell::from(row.device.as_str()).styled(colour::quiet()),
            row.calls.to_string().into(),
            Nanos((row.seconds * 1e9) as i64).to_string().into(),
            row.gross.to_string().into(),
            row.exclusive.to_string().into(),
            row.net.map(|net| net.to_string()).unwrap_or_default().into(),
            Cell::from(row.source.as_deref().unwrap_or_default()).styled(colour::quiet()),
        ]);
    }
    page.title("by line of the program");
    page.table(table);
    if rows.len() > top {
        page.words(format!("and {} more", rows.len() - top));
    }
    page
}
