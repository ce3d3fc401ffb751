//! What a program told about itself as tables: its steps by what they do, its windows and its stages.

use jouletree_model::{Joules, Nanos};
use jouletree_report::{PhaseRow, StageRow, WindowRow};

use crate::columns::Columns;

/// Stages as a table.
pub fn stage_table(rows: &[StageRow]) -> String {
    let header = ["stage", "energy", "forward", "backward", "optimizer", "unattributed"];
    let mut table = Columns::new(&header).left(0);
    for row in rows {
        let parts = [row.energy_j, row.forward_j, row.backward_j, row.optimizer_j, row.unattributed_j];
        table.row([vec![row.stage.clone()], parts.map(|part| Joules(part).to_string()).to_vec()].concat());
    }
    table.text()
}

/// Steps as a table.
pub fn phase_table(rows: &[PhaseRow]) -> String {
    let header = ["steps", "count", "recorded", "energy", "per step", "per sample", "time"];
    let mut table = Columns::new(&header).left(0);
    for row in rows {
        table.row(vec![
            row.phase.to_string(),
            row.steps.to_string(),
            row.recorded.to_string(),
            Joules(row.energy_j).to_string(),
            Joules(row.step_j).to_string(),
            row.sample_j.map(|joules| Joules(joules).to_string()).unwrap_or_default(),
            time(row.seconds),
        ]);
    }
    table.text()
}

/// Windows as a table.
pub fn window_table(rows: &[WindowRow]) -> String {
    let mut table = Columns::new(&["window", "count", "energy", "each", "time", "kind"]).left(0).left(5);
    for row in rows {
        table.row(vec![
            row.window.to_string(),
            row.count.to_string(),
            Joules(row.energy_j).to_string(),
            Joules(row.mean_j).to_string(),
            time(row.seconds),
            row.kind.map(|kind| kind.to_string()).unwrap_or_default(),
        ]);
    }
    table.text()
}

fn time(seconds: f64) -> String {
    Nanos((seconds * 1e9).round() as i64).to_string()
}
