//! What a program told about itself as tables: its steps by what they do, its windows and its stages.

use jouletree_model::{Joules, Kind, Nanos};
use jouletree_report::{PhaseRow, StageRow, WindowRow};

use crate::cell::Cell;
use crate::columns::{Columns, Keep};
use crate::numbers::{energy_cell, kind_cell};

/// Stages as a table.
pub fn stage_table(rows: &[StageRow]) -> Columns {
    let header = ["stage", "energy", "forward", "backward", "optimizer", "unattributed"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).optional(&[5]).optional_together(&[2, 3, 4]);
    for row in rows {
        let parts = [row.energy_j, row.forward_j, row.backward_j, row.optimizer_j, row.unattributed_j];
        table.row([vec![row.stage.clone()], parts.map(|part| Joules(part).to_string()).to_vec()].concat());
    }
    table
}

/// Steps as a table.
pub fn phase_table(rows: &[PhaseRow]) -> Columns {
    let header = ["steps", "count", "recorded", "energy", "per step", "per sample", "time", "kind"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).left(7).optional(&[2, 6, 5]);
    for row in rows {
        table.row(vec![
            Cell::from(&*row.phase),
            row.steps.to_string().into(),
            row.recorded.to_string().into(),
            energy(row.energy_j, row.kind),
            energy(row.step_j, row.kind),
            row.sample_j.map(|joules| energy(joules, row.kind)).unwrap_or_default(),
            time(row.seconds).into(),
            kind_cell(row.kind),
        ]);
    }
    table
}

/// Windows as a table.
pub fn window_table(rows: &[WindowRow]) -> Columns {
    let header = ["window", "count", "energy", "each", "time", "kind"];
    let mut table = Columns::new(&header).shorten(0, Keep::Start).left(5);
    for row in rows {
        table.row(vec![
            Cell::from(&*row.window),
            row.count.to_string().into(),
            energy(row.energy_j, row.kind),
            energy(row.mean_j, row.kind),
            time(row.seconds).into(),
            kind_cell(row.kind),
        ]);
    }
    table
}

fn energy(joules: f64, kind: Option<Kind>) -> Cell {
    energy_cell(Joules(joules).to_string(), None, kind)
}

fn time(seconds: f64) -> String {
    Nanos((seconds * 1e9).round() as i64).to_string()
}
