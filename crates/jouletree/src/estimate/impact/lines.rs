//! An answer for people.

use jouletree_carbon::estimate::{Answer, Region, lines};

use crate::cell::Cell;
use crate::columns::{Columns, Keep};
use crate::numbers::energy_cell;
use crate::page::Page;
use crate::{carbon, colour};

/// An answer for people.
pub fn page(answer: &Answer) -> Page {
    let mut page = Page::default();
    page.words("predicted, not measured");
    let mut table = Columns::new(&["item", "amount", "basis"]).left(0).left(2);
    for line in lines(answer) {
        table.row(vec![
            Cell::from(line.line),
            energy_cell(line.text, None, Some(answer.kind)),
            Cell::from(line.how).styled(colour::quiet()),
        ]);
    }
    page.table(table);
    for note in &answer.notes {
        page.words(Cell::from(format!("note: {note}")).styled(colour::quiet()));
    }
    if !answer.regions.is_empty() {
        page.title("the same energy elsewhere");
        page.table(region_table(&answer.regions));
    }
    page
}

fn region_table(regions: &[Region]) -> Columns {
    let header = ["region", "where", "carbon", "g/kWh", "", "year", "source"];
    let table = Columns::new(&header).names(0).left(1).left(4).left(6);
    let mut table = table.shorten(6, Keep::Start).shorten(1, Keep::Start).optional(&[6, 5, 1]);
    let most = regions.iter().filter_map(|region| Some(region.carbon?.0)).fold(0.0, f64::max);
    for region in regions {
        let share = region.carbon.filter(|_| most > 0.0).map_or(0.0, |grams| grams.0 / most);
        let here = if region.is_here { " ← here" } else { "" };
        let name = if region.name.is_empty() { region.country } else { region.name };
        table.row(vec![
            Cell::from(format!("{}/{}{here}", region.provider, region.region)),
            Cell::from(name),
            Cell::from(region.carbon.map_or("unknown".to_owned(), carbon::grams)),
            Cell::from(region.intensity.map(|intensity| format!("{:.1}", intensity.0)).unwrap_or_default()),
            Cell::bar(share),
            Cell::from(region.year.map(|year| year.to_string()).unwrap_or_default()),
            Cell::from(region.source.as_deref().unwrap_or_default()).styled(colour::quiet()),
        ]);
    }
    table
}
