//! How much of each operation every window holds, seen through the sensor: the rows of the regression.
//!
//! [`visit_rows`] goes through windows and lanes in order of time, keeps what is at hand and nothing else; [`Rows`] keeps what
//! it found.

use jouletree_model::{Event, Lane, Nanos, TimeRange};

use super::kernel::Kernel;
use super::windows::{Windows, after, since};
use crate::self_time::SelfTime;

/// How many segments of a lane are cut at a time.
const CHUNK: usize = 1024;

/// An execution: begin, end, and the column of its operation.
type Execution = (f64, f64, u32);

/// Calls `visit` with each window's number and its seconds of each column, by column. `column` has the column of each operation,
/// `columns` is how many there are. Operations beyond `column` are left out.
pub(super) fn visit_rows(
    lanes: &[&Lane],
    windows: &Windows,
    kernel: &Kernel,
    (column, columns): (&[u32], usize),
    mut visit: impl FnMut(usize, &[(u32, f64)]),
) {
    let mut row = Row::new(columns);
    let mut first = 0;
    while first < windows.len() {
        let length = (first + 1..windows.len()).take_while(|next| windows.follows(*next)).count() + 1;
        let stretch = Stretch { windows, kernel, from: first, to: first + length };
        let mut lanes: Vec<Walk<'_>> =
            lanes.iter().map(|lane| Walk::new(lane, stretch.range(), windows.origin, column)).collect();
        if kernel.low_pass > 0.0 {
            stretch.low_passed(&mut lanes, &mut row, &mut visit);
        } else {
            stretch.visit(&mut lanes, &mut row, &mut visit);
        }
        first += length;
    }
}

/// Windows that follow each other without a gap.
struct Stretch<'a> {
    windows: &'a Windows,
    kernel: &'a Kernel,
    from: usize,
    to: usize,
}

impl Stretch<'_> {
    /// When things happened that are seen in these windows, and a little more.
    fn range(&self) -> TimeRange {
        let (from, to) = (self.windows.ranges[self.from].0, self.windows.ranges[self.to - 1].1);
        let (from, to) = (self.kernel.before(from) - self.kernel.memory(), self.kernel.before(to));
        let margin = Nanos(2);
        let start = Nanos(after(self.windows.origin, from).0.saturating_sub(margin.0));
        TimeRange { start, end: Nanos(after(self.windows.origin, to).0.saturating_add(margin.0)) }
    }

    fn visit(&self, lanes: &mut [Walk<'_>], row: &mut Row, visit: &mut impl FnMut(usize, &[(u32, f64)])) {
        let kernel = self.kernel;
        let (tail, scale) = (kernel.tail(), (1.0 + kernel.rate) / kernel.duty);
        for (number, (from, to)) in (self.from..self.to).zip(&self.windows.ranges[self.from..self.to]) {
            let window = (kernel.before(to - kernel.duty * (to - from)), kernel.before(*to));
            for lane in lanes.iter_mut() {
                lane.leave(window.0 - tail);
                lane.each_before(window.1, |(start, end, column)| {
                    let seconds = kernel.seen((start, end), window);
                    if seconds > 0.0 {
                        row.add(column, seconds * scale);
                    }
                });
            }
            row.give(|entries| visit(number, entries));
        }
    }

    /// The same through a low-pass: F is what it has not given yet, `F' = exp(-d/τ) F + q`, and a window has what is active in
    /// it less τ (F' - F), q being what the window's own executions leave behind.
    fn low_passed(&self, lanes: &mut [Walk<'_>], row: &mut Row, visit: &mut impl FnMut(usize, &[(u32, f64)])) {
        let (kernel, tau) = (self.kernel, self.kernel.low_pass);
        let mut kept = vec![0.0_f64; row.sums.len()];
        let mut fresh = vec![0.0_f64; row.sums.len()];
        let begin = kernel.before(self.windows.ranges[self.from].0);
        // What ran before the first window is still in the low-pass.
        for lane in lanes.iter_mut() {
            lane.each_before(begin, |(start, end, column)| {
                let end = end.min(begin);
                kept[column as usize] += (-(begin - end) / tau).exp() - (-(begin - start) / tau).exp();
            });
        }
        for (number, (from, to)) in (self.from..self.to).zip(&self.windows.ranges[self.from..self.to]) {
            let window = (kernel.before(*from), kernel.before(*to));
            for lane in lanes.iter_mut() {
                lane.leave(window.0);
                lane.each_before(window.1, |(start, end, column)| {
                    let (low, high) = (start.max(window.0), end.min(window.1));
                    if high > low {
                        row.add(column, high - low);
                        fresh[column as usize] +=
                            (-(window.1 - high) / tau).exp() - (-(window.1 - low) / tau).exp();
                    }
                });
            }
            let decay = (-(window.1 - window.0) / tau).exp();
            let columns = (0..).zip(kept.iter_mut().zip(&mut fresh));
            for (column, (kept, fresh)) in columns {
                let after = *kept * decay + *fresh;
                if after > 0.0 || *kept > 0.0 {
                    row.add(column, -tau * (after - *kept));
                }
                // Below this it is nothing, and never becomes a denormal number.
                (*kept, *fresh) = (if after > 1e-30 { after } else { 0.0 }, 0.0);
            }
            row.give(|entries| visit(number, entries));
        }
    }
}

/// The executions of a lane on the way through time.
struct Walk<'a> {
    source: SelfTime<'a>,
    origin: Nanos,
    column: &'a [u32],
    segments: Vec<Event>,
    ahead: Vec<Execution>,
    place: usize,
    is_exhausted: bool,
}

impl<'a> Walk<'a> {
    fn new(lane: &'a Lane, range: TimeRange, origin: Nanos, column: &'a [u32]) -> Walk<'a> {
        let source = SelfTime::new(lane, range);
        Walk { source, origin, column, segments: Vec::new(), ahead: Vec::new(), place: 0, is_exhausted: false }
    }

    /// Forgets what ended by an instant.
    fn leave(&mut self, instant: f64) {
        while let Some((_, end, _)) = self.ahead.get(self.place) {
            if *end > instant {
                return;
            }
            self.place += 1;
        }
    }

    /// Visits what is at hand and began before an instant.
    #[inline]
    fn each_before(&mut self, instant: f64, mut visit: impl FnMut(Execution)) {
        let mut place = self.place;
        loop {
            while let Some(execution) = self.ahead.get(place) {
                if execution.0 >= instant {
                    return;
                }
                visit(*execution);
                place += 1;
            }
            if self.is_exhausted {
                return;
            }
            place -= self.place;
            self.refill();
        }
    }

    fn refill(&mut self) {
        self.ahead.drain(..self.place);
        self.place = 0;
        let (origin, column) = (self.origin, self.column);
        let execution = |event: &Event| {
            let column = column.get(event.op.index()).copied().filter(|column| *column != u32::MAX)?;
            Some((since(origin, event.start), since(origin, event.end), column))
        };
        let flat = self.source.take_flat(CHUNK);
        self.ahead.extend(self.source.events(&flat).iter().filter_map(execution));
        if flat.is_empty() {
            self.segments.clear();
            let begun = self.source.cut(CHUNK, &mut self.segments);
            self.is_exhausted = begun.is_empty() && self.segments.is_empty();
            self.ahead.extend(self.segments.iter().filter_map(execution));
        }
    }
}

/// The row of one window while it is made.
struct Row {
    sums: Vec<f64>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Row {
    fn new(columns: usize) -> Row {
        Row {
            sums: vec![0.0; columns],
            is_touched: vec![false; columns],
            touched: Vec::new(),
            entries: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, column: u32, seconds: f64) {
        let place = column as usize;
        self.sums[place] += seconds;
        if !self.is_touched[place] {
            self.is_touched[place] = true;
            self.touched.push(column);
        }
    }

    /// Gives the row and begins the next one.
    fn give(&mut self, give: impl FnOnce(&[(u32, f64)])) {
        self.entries.clear();
        if self.touched.len() * 8 > self.sums.len() {
            let places = self.is_touched.iter().enumerate().filter(|(_, touched)| **touched);
            self.touched.clear();
            self.touched.extend(places.map(|(place, _)| place as u32));
        } else {
            self.touched.sort_unstable();
        }
        for column in self.touched.drain(..) {
            let place = column as usize;
            self.entries.push((column, self.sums[place]));
            (self.sums[place], self.is_touched[place]) = (0.0, false);
        }
        give(&self.entries);
    }
}

/// Sparse rows, one for each window; the last column is the length of the window.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    starts: Vec<usize>,
    columns: Vec<u16>,
    values: Vec<f64>,
    width: usize,
}

impl Rows {
    /// The rows of all windows, with a column for their lengths.
    pub(super) fn of(
        lanes: &[&Lane],
        windows: &Windows,
        kernel: &Kernel,
        (column, columns): (&[u32], usize),
    ) -> Rows {
        let mut rows = Rows { starts: vec![0], columns: Vec::new(), values: Vec::new(), width: columns + 1 };
        visit_rows(lanes, windows, kernel, (column, columns), |window, entries| {
            let (from, to) = windows.ranges[window];
            for (column, seconds) in entries.iter().copied().chain([(columns as u32, to - from)]) {
                rows.columns.push(column as u16);
                rows.values.push(seconds);
            }
            rows.starts.push(rows.values.len());
        });
        rows
    }

    /// How many columns there are, that of the length included.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Columns and values of one row.
    pub(super) fn row(&self, index: usize) -> (&[u16], &[f64]) {
        let range = self.starts[index]..self.starts[index + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The row times `x`.
    pub(super) fn times(&self, index: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(index);
        columns.iter().zip(values).map(|(column, value)| value * x[usize::from(*column)]).sum()
    }

    /// Multiplies each row.
    pub(super) fn weigh(&mut self, weights: &[f64]) {
        for (index, weight) in weights.iter().enumerate() {
            let range = self.starts[index]..self.starts[index + 1];
            self.values[range].iter_mut().for_each(|value| *value *= weight);
        }
    }

    /// The rows from this one on.
    pub(super) fn skip(self, count: usize) -> Rows {
        if count == 0 {
            return self;
        }
        let first = self.starts[count.min(self.len())];
        let starts = self.starts[count.min(self.len())..].iter().map(|start| start - first).collect();
        let columns = self.columns[first..].to_vec();
        Rows { starts, columns, values: self.values[first..].to_vec(), width: self.width }
    }
}
