//! What the header of a table means.

use super::time::Unit;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Start,
    End,
    Duration,
    Device,
    Lane,
    Op,
    Type,
    Pass,
    Step,
    Name,
    Host,
}

/// The names of columns; times may carry their unit after it, as in `start_us`. Of several names for one thing the
/// first here is used.
const NAMES: [(&str, Column); 22] = [
    ("start", Column::Start),
    ("start_time", Column::Start),
    ("begin", Column::Start),
    ("ts", Column::Start),
    ("end", Column::End),
    ("end_time", Column::End),
    ("stop", Column::End),
    ("dur", Column::Duration),
    ("duration", Column::Duration),
    ("device", Column::Device),
    ("lane", Column::Lane),
    ("thread", Column::Lane),
    ("stream", Column::Lane),
    ("tid", Column::Lane),
    ("op", Column::Op),
    ("operation", Column::Op),
    ("type", Column::Type),
    ("op_type", Column::Type),
    ("pass", Column::Pass),
    ("step", Column::Step),
    ("name", Column::Name),
    ("host", Column::Host),
];

/// The position of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnPosition {
    pub(super) index: usize,
    /// Its header as it is written.
    pub(super) written: String,
    /// The unit in its header, if it is a time and says one.
    pub(super) unit: Option<Unit>,
    rank: usize,
}

/// The columns of a table.
#[derive(Debug, Clone, Default)]
pub(super) struct Header {
    places: Vec<(Column, ColumnPosition)>,
}

/// What a header means, and how good a name it is: the lower the better.
fn meaning(header: &str) -> Option<(Column, Option<Unit>, usize)> {
    let header = header.trim().to_ascii_lowercase();
    let named = |name: &str| NAMES.iter().position(|(known, _)| *known == name);
    if let Some(rank) = named(&header) {
        return Some((NAMES[rank].1, None, rank));
    }
    let (stem, suffix) = header.rsplit_once('_')?;
    let unit = Unit::of_suffix(suffix)?;
    let rank = named(stem)?;
    let column = NAMES[rank].1;
    matches!(column, Column::Start | Column::End | Column::Duration).then_some((column, Some(unit), rank))
}

/// Whether these headers are those of a table of events: something starts and something is named.
pub(super) fn is_table<'a>(headers: impl Iterator<Item = &'a str>) -> bool {
    let (mut starts, mut names) = (false, false);
    for header in headers {
        match meaning(header) {
            Some((Column::Start, ..)) => starts = true,
            Some((Column::Op | Column::Name, ..)) => names = true,
            _ => {}
        }
    }
    starts && names
}

/// Whether a header means anything here.
pub(super) fn is_known(header: &str) -> bool {
    meaning(header).is_some()
}

impl Header {
    /// The columns among these headers, or what is wrong with them.
    pub(super) fn of<'a>(headers: impl Iterator<Item = &'a str>) -> Result<Header, String> {
        let mut header = Header::default();
        for (index, written) in headers.enumerate() {
            let Some((column, unit, rank)) = meaning(written) else { continue };
            let place = ColumnPosition { index, written: written.trim().to_owned(), unit, rank };
            match header.places.iter_mut().find(|(known, _)| *known == column) {
                None => header.places.push((column, place)),
                Some((_, known)) if matches!(column, Column::Start | Column::End | Column::Duration) => {
                    let [a, b] = [&known.written, &place.written];
                    return Err(format!("the columns `{a}` and `{b}` mean the same: leave one out"));
                }
                Some((_, known)) if place.rank < known.rank => *known = place,
                Some(_) => {}
            }
        }
        if header.get(Column::Start).is_none() {
            return Err("no column says when events start".to_owned());
        }
        if header.get(Column::End).is_none() && header.get(Column::Duration).is_none() {
            return Err(
                "no column says when events end: write end_ns, or dur_ns for how long they take".to_owned()
            );
        }
        // A table that only names its operations names them well enough.
        if header.get(Column::Op).is_none() {
            match header.get(Column::Name).cloned() {
                Some(name) => header.places.push((Column::Op, name)),
                None => return Err("no column says what ran".to_owned()),
            }
        }
        Ok(header)
    }

    /// The position of a column, if it is there.
    pub(super) fn get(&self, column: Column) -> Option<&ColumnPosition> {
        self.places.iter().find(|(known, _)| *known == column).map(|(_, place)| place)
    }

    /// The columns that will be read, by their index.
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> {
        self.places.iter().map(|(_, place)| place.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        Header::of(text.split(','))
    }

    fn index(header: &Header, column: Column) -> Option<usize> {
        header.get(column).map(|place| place.index)
    }

    #[test]
    fn columns_are_found_by_their_names_and_those_people_use_instead() {
        let found = header("TS_us, duration_ms ,tid,stream,name,colour").unwrap();
        assert_eq!(index(&found, Column::Start), Some(0));
        assert_eq!(found.get(Column::Start).unwrap().unit, Some(Unit::Microseconds));
        assert_eq!(found.get(Column::Duration).unwrap().unit, Some(Unit::Milliseconds));
        assert_eq!(index(&found, Column::Lane), Some(3), "a stream says more than a thread's number");
        assert_eq!((index(&found, Column::Op), index(&found, Column::Device)), (Some(4), None));
        let both = header("start,end,name,op").unwrap();
        assert_eq!((index(&both, Column::Op), index(&both, Column::Name)), (Some(3), Some(2)));
    }

    #[test]
    fn what_is_missing_or_twice_is_named() {
        for (text, part) in [
            ("end_ns,op", "when events start"),
            ("start_ns,op", "dur_ns"),
            ("start_ns,end_ns,lane", "what ran"),
            ("start_ns,start_us,end_ns,op", "`start_ns` and `start_us` mean the same"),
        ] {
            assert!(header(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn tables_are_told_from_other_text() {
        assert!(is_table("start_ns,end_ns,op".split(',')));
        assert!(is_table("name,begin".split(',')));
        assert!(!is_table("epoch_ns,device,watts".split(',')));
        assert!(!is_table("start the engine,end".split(',')));
        assert!(!is_table("start_weeks,op".split(',')));
        assert!(!is_table("lane_ns,start".split(',')));
    }
}
