//! Numbers and times as words and marks, the same on the screen and in lines of text.

use jouletree_model::{Nanos, Watts};

use super::view::{DeviceRow, View};

/// Eighths of a column, and what is shown where nothing is known.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const UNKNOWN: char = ' ';

/// A power, or a dash where it is not known.
pub fn power(power: Option<Watts>) -> String {
    power.map_or_else(|| "–".to_owned(), |power| power.to_string())
}

/// A time since the start: `0:07`, `12:34`, `1:02:03`.
pub fn clock(time: Nanos) -> String {
    let seconds = (time.0 / 1_000_000_000).max(0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Bytes as people write them.
pub fn bytes(bytes: u64) -> String {
    const PREFIXES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut amount, mut prefix) = (bytes as f64, 0);
    while amount >= 1000.0 && prefix + 1 < PREFIXES.len() {
        amount /= 1024.0;
        prefix += 1;
    }
    let digits = if prefix == 0 || amount >= 100.0 { 0 } else { 1 };
    format!("{amount:.digits$} {}", PREFIXES[prefix])
}

/// Powers as columns of a height from nothing to the largest of them, in at most `width` characters, each the mean of as
/// many powers as fall on it.
pub fn sparkline(powers: &[Option<Watts>], width: usize) -> String {
    let width = width.min(powers.len());
    let column = |at: usize| {
        let (from, to) = (at * powers.len() / width, (at + 1) * powers.len() / width);
        let known: Vec<f64> = powers.get(from..to)?.iter().flatten().map(|power| power.0).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let columns: Vec<Option<f64>> = (0..width).map(column).collect();
    let most = columns.iter().flatten().fold(0.0_f64, |most, power| most.max(*power));
    let mark = |power: &Option<f64>| match power {
        None => UNKNOWN,
        Some(power) if most > 0.0 => {
            let level = (power.max(0.0) / most * (LEVELS.len() - 1) as f64).round() as usize;
            LEVELS[level.min(LEVELS.len() - 1)]
        }
        Some(_) => LEVELS[0],
    };
    columns.iter().map(mark).collect()
}

/// The kind of a device's numbers, with their interval where it is known.
pub fn kind(row: &DeviceRow) -> String {
    match row.interval {
        Some((low, high)) => format!("{} {low} … {high}", row.kind),
        None => row.kind.to_string(),
    }
}

/// The headline: what the numbers are, in one word, where they are not measured.
pub fn headline(view: &View) -> &'static str {
    if view.devices.is_empty() {
        "nothing to read"
    } else if view.is_all_estimated() {
        "estimated: no meter here"
    } else {
        "live power"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_short() {
        let clocks: Vec<String> =
            [0, 59, 61, 3599, 3661].map(|seconds| clock(Nanos(seconds * 1_000_000_000))).into();
        assert_eq!(clocks, ["0:00", "0:59", "1:01", "59:59", "1:01:01"]);
        let sizes: Vec<String> = [0, 999, 1024, 1_500_000, 3 << 30, 200 << 30].map(bytes).into();
        assert_eq!(sizes, ["0 B", "999 B", "1.0 KiB", "1.4 MiB", "3.0 GiB", "200 GiB"]);
    }

    #[test]
    fn a_sparkline_begins_at_zero_watts_and_leaves_gaps_open() {
        let powers = [Some(Watts(0.0)), Some(Watts(50.0)), None, Some(Watts(100.0))];
        assert_eq!(sparkline(&powers, 60), "▁▅ █");
        // Two powers to a column: means of 25 W and 100 W.
        assert_eq!(sparkline(&powers, 2), "▃█");
        assert_eq!(sparkline(&[Some(Watts(0.0)); 3], 3), "▁▁▁");
        assert_eq!((sparkline(&powers, 0), sparkline(&[], 5)), (String::new(), String::new()));
    }
}
