//! `ops.parquet` and `edges.parquet`: the operations by number, and the tensors that flow between them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt32Array};
use jouletree_model::{DataFlow, Op, OpId, OpTable, Pass};

use crate::RunError;
use crate::table::{Column, Form, Table, TableWriter, names};

const OPS: [Column; 5] = [
    Column::new("op_id", Form::Id),
    Column::new("path", Form::Text),
    Column::new("type", Form::Text),
    Column::new("name", Form::Text),
    Column::new("pass", Form::Name),
];

const EDGES: [Column; 2] = [Column::new("from", Form::Id), Column::new("to", Form::Id)];

/// How many rows are turned into columns at a time: text arrays count bytes in 32 bits.
const CHUNK: usize = 1 << 12;

/// The number of a pass in a column of [`pass_names`].
pub(crate) fn pass_key(pass: Pass) -> i32 {
    match pass {
        Pass::Forward => 0,
        Pass::Backward => 1,
        Pass::Optimizer => 2,
    }
}

/// A column of passes.
pub(crate) fn pass_names(keys: Vec<i32>) -> Result<ArrayRef, RunError> {
    names(keys, Pass::ALL.map(Pass::as_str))
}

pub(crate) fn write_ops(path: &Path, ops: &OpTable) -> Result<(), RunError> {
    let mut table = TableWriter::create(path, &OPS)?;
    let ops: Vec<(OpId, &Op)> = ops.iter().collect();
    for ops in ops.chunks(CHUNK) {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(ops.iter().map(|(id, _)| id.0))),
            Arc::new(StringArray::from_iter_values(ops.iter().map(|(_, op)| &op.path))),
            Arc::new(StringArray::from_iter_values(ops.iter().map(|(_, op)| &op.op_type))),
            Arc::new(StringArray::from_iter_values(ops.iter().map(|(_, op)| &op.name))),
            pass_names(ops.iter().map(|(_, op)| pass_key(op.pass)).collect())?,
        ];
        table.write(columns)?;
    }
    table.finish()
}

pub(crate) fn read_ops(path: &Path) -> Result<OpTable, RunError> {
    let mut ops = OpTable::default();
    Table::open(path, &OPS)?.each(|rows| {
        let (ids, passes) = (rows.ids("op_id")?, rows.texts("pass")?);
        let (paths, types, names) = (rows.texts("path")?, rows.texts("type")?, rows.texts("name")?);
        for (row, id) in ids.iter().enumerate() {
            let pass = passes.value(row).parse().map_err(|error| rows.wrong(row, error))?;
            let [path, op_type, name] = [paths, types, names].map(|texts| texts.value(row).into());
            let expected = ops.len();
            if ops.intern(Op { path, op_type, name, pass }) != OpId(*id) || OpId(*id).index() != expected {
                let problem = format_args!("op_id is {id}; operations are distinct and numbered from 0 in order");
                return Err(rows.wrong(row, problem));
            }
        }
        Ok(())
    })?;
    Ok(ops)
}

pub(crate) fn write_edges(path: &Path, edges: &[DataFlow]) -> Result<(), RunError> {
    let mut table = TableWriter::create(path, &EDGES)?;
    let column = |end: fn(&DataFlow) -> OpId| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(edges.iter().map(|edge| end(edge).0)))
    };
    table.write(vec![column(|edge| edge.from), column(|edge| edge.to)])?;
    table.finish()
}

/// The edges between the first `ops` operations.
pub(crate) fn read_edges(path: &Path, ops: usize) -> Result<Vec<DataFlow>, RunError> {
    let mut edges = Vec::new();
    Table::open(path, &EDGES)?.each(|rows| {
        for (row, (from, to)) in rows.ids("from")?.iter().zip(rows.ids("to")?).enumerate() {
            let edge = DataFlow { from: OpId(*from), to: OpId(*to) };
            if edge.from.index().max(edge.to.index()) >= ops {
                return Err(rows.wrong(row, format_args!("{from} → {to}: there are only {ops} operations")));
            }
            edges.push(edge);
        }
        Ok(())
    })?;
    Ok(edges)
}
