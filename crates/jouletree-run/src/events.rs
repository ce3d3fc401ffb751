//! `events.parquet`: every run of every operation, lane by lane in the order of their starts.
//!
//! The hot file of a run. Times are delta-encoded (2 to 3 bytes each), the other columns are dictionaries of runs;
//! only what the sweep needs is read back, a batch of primitive slices at a time.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use arrow_array::{Array, ArrayRef, Int64Array, UInt32Array};
use jouletree_model::{Event, Nanos, OpId, Step, Trace};

use crate::RunError;
use crate::ops::{pass_key, pass_names};
use crate::table::{Column, Form, Rows, Table, TableWriter, names};

const START: Column = Column::new("start_ns", Form::Time);
const END: Column = Column::new("end_ns", Form::Time);
const DEVICE: Column = Column::new("device", Form::Name);
const LANE: Column = Column::new("lane", Form::Id);
const OP: Column = Column::new("op_id", Form::Id);
const PASS: Column = Column::new("pass", Form::Name);
const STEP: Column = Column::new("step", Form::Id).or_null();

/// How many rows are gathered before they are written.
const CHUNK: usize = 1 << 16;

pub(crate) fn write_events(path: &Path, trace: &Trace) -> Result<(), RunError> {
    let table = TableWriter::create(path, &[START, END, DEVICE, LANE, OP, PASS, STEP])?;
    let passes: Vec<i32> = trace.ops.iter().map(|(_, op)| pass_key(op.pass)).collect();
    let devices: Vec<String> = trace.devices.iter().map(ToString::to_string).collect();
    let mut chunk = Chunk { table, devices, rows: Vec::with_capacity(CHUNK) };
    for (lane, number) in trace.lanes.iter().zip(0u32..) {
        // A device that is not there is refused with the column.
        let device = i32::try_from(lane.device()).unwrap_or(i32::MAX);
        for event in lane.events() {
            let pass = *passes.get(event.op.index()).ok_or_else(|| {
                RunError::Inconsistent(format!(
                    "an event of lane `{}` runs operation {} of {}",
                    lane.label(),
                    event.op.0,
                    passes.len()
                ))
            })?;
            chunk.push(Row { event: *event, lane: number, device, pass })?;
        }
    }
    chunk.flush()?;
    chunk.table.finish()
}

/// The events of each of `lanes` lanes, which run the first `ops` operations.
pub(crate) fn read_events(
    path: &Path,
    lanes: usize,
    ops: usize,
    threads: usize,
) -> Result<Vec<Vec<Event>>, RunError> {
    let table = Table::open(path, &[START, END, LANE, OP, STEP])?;
    let groups = table.row_groups();
    let part_size = groups.div_ceil(threads.clamp(1, groups.max(1))).max(1);
    let read_part = |first: usize| {
        let mut part = vec![Vec::new(); lanes];
        table.each_in(first..(first + part_size).min(groups), |rows| append(rows, &mut part, ops))?;
        Ok(part)
    };
    if part_size >= groups {
        return read_part(0);
    }
    let read_part = &read_part;
    thread::scope(|scope| {
        let parts: Vec<_> =
            (0..groups).step_by(part_size).map(|first| scope.spawn(move || read_part(first))).collect();
        let mut all = vec![Vec::new(); lanes];
        for part in parts {
            let part =
                part.join().unwrap_or_else(|_| Err(RunError::content(path, "reading it failed in a thread")))?;
            for (events, more) in all.iter_mut().zip(part) {
                // Only a lane that crosses the border of a part is copied.
                if events.is_empty() { *events = more } else { events.extend_from_slice(&more) }
            }
        }
        Ok(all)
    })
}

fn append(rows: &Rows<'_>, lanes: &mut [Vec<Event>], ops: usize) -> Result<(), RunError> {
    let (starts, ends) = (rows.times(START.name)?, rows.times(END.name)?);
    let (op_ids, lane_ids, steps) = (rows.ids(OP.name)?, rows.ids(LANE.name)?, rows.optional_ids(STEP.name)?);
    if let Some(row) = op_ids.iter().position(|op| OpId(*op).index() >= ops) {
        return Err(rows.wrong(row, format_args!("op_id is {}, there are only {ops} operations", op_ids[row])));
    }
    if let Some(row) = starts.iter().zip(ends).position(|(start, end)| end < start) {
        return Err(rows.wrong(row, "the event ends before it starts"));
    }
    let mut from = 0;
    for same_lane in lane_ids.chunk_by(|one, next| one == next) {
        let lane = same_lane[0];
        let to = from + same_lane.len();
        let known = lanes.len();
        let Some(events) = lanes.get_mut(lane as usize) else {
            return Err(rows.wrong(from, format_args!("lane is {lane}, the manifest has only {known} lanes")));
        };
        let columns = starts[from..to].iter().zip(&ends[from..to]).zip(&op_ids[from..to]);
        let event = |(((start, end), op), step): (((&i64, &i64), &u32), Step)| Event {
            start: Nanos(*start),
            end: Nanos(*end),
            op: OpId(*op),
            step,
        };
        if steps.null_count() == 0 {
            let known = steps.values()[from..to].iter().map(|step| Step(*step));
            events.extend(columns.zip(known).map(event));
        } else {
            let some = (from..to).map(|row| if steps.is_null(row) { Step::NONE } else { Step(steps.value(row)) });
            events.extend(columns.zip(some).map(event));
        }
        from = to;
    }
    Ok(())
}

struct Row {
    event: Event,
    lane: u32,
    device: i32,
    pass: i32,
}

/// Rows on their way into the table.
struct Chunk {
    table: TableWriter,
    devices: Vec<String>,
    rows: Vec<Row>,
}

impl Chunk {
    fn push(&mut self, row: Row) -> Result<(), RunError> {
        self.rows.push(row);
        if self.rows.len() == CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), RunError> {
        let rows = &self.rows;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.event.start.0))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.event.end.0))),
            names(rows.iter().map(|row| row.device).collect(), &self.devices)?,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.lane))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.event.op.0))),
            pass_names(rows.iter().map(|row| row.pass).collect())?,
            Arc::new(rows.iter().map(|row| row.event.step.number()).collect::<UInt32Array>()),
        ];
        self.rows.clear();
        self.table.write(columns)
    }
}
