//! `ops.parquet`: the operations by number. What they compute on is written beside them for those who query the table;
//! it is read back from the model tree.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, StringArray, UInt32Array, UInt64Array};
use jouletree_model::{Facts, ModelTree, Op, OpId, OpTable, Pass, TensorShape};

use crate::RunError;
use crate::table::{Column, Form, Table, TableWriter, names};

const OPS: [Column; 6] = [
    Column::new("op_id", Form::Id),
    Column::new("path", Form::Text),
    Column::new("type", Form::Text),
    Column::new("name", Form::Text),
    Column::new("pass", Form::Name),
    Column::new("approximate", Form::Truth),
];

/// What is known about the tensors of an operation.
const FACTS: [Column; 3] = [
    Column::new("inputs", Form::Text).or_null(),
    Column::new("outputs", Form::Text).or_null(),
    Column::new("flops", Form::Count).or_null(),
];

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

pub(crate) fn write_ops(path: &Path, ops: &OpTable, model: &ModelTree) -> Result<(), RunError> {
    let columns: Vec<Column> = OPS.into_iter().chain(FACTS).collect();
    let mut table = TableWriter::create(path, &columns)?;
    let ops: Vec<(OpId, &Op)> = ops.iter().collect();
    for ops in ops.chunks(CHUNK) {
        let facts: Vec<Option<&Facts>> = ops.iter().map(|(_, op)| model.facts(op)).collect();
        let shapes = |of: fn(&Facts) -> &[TensorShape]| -> ArrayRef {
            Arc::new(StringArray::from_iter(facts.iter().map(|facts| facts.and_then(|facts| written(of(facts))))))
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(ops.iter().map(|(id, _)| id.0))),
            Arc::new(StringArray::from_iter_values(ops.iter().map(|(_, op)| &op.path))),
            Arc::new(StringArray::from_iter_values(ops.iter().map(|(_, op)| &op.op_type))),
            Arc::new(StringArray::from_iter_values(ops.iter().map(|(_, op)| &op.name))),
            pass_names(ops.iter().map(|(_, op)| pass_key(op.pass)).collect())?,
            Arc::new(BooleanArray::from_iter(ops.iter().map(|(_, op)| Some(op.approximate)))),
            shapes(|facts| &facts.inputs),
            shapes(|facts| &facts.outputs),
            Arc::new(UInt64Array::from_iter(facts.iter().map(|facts| facts.and_then(|facts| facts.flops)))),
        ];
        table.write(columns)?;
    }
    table.finish()
}

/// Tensors as one text; `None` when there are none.
fn written(shapes: &[TensorShape]) -> Option<String> {
    let texts: Vec<String> = shapes.iter().map(TensorShape::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

pub(crate) fn read_ops(path: &Path) -> Result<OpTable, RunError> {
    let mut ops = OpTable::default();
    Table::open(path, &OPS)?.each(|rows| {
        let (ids, passes, approximate) = (rows.ids("op_id")?, rows.texts("pass")?, rows.truths("approximate")?);
        let (paths, types, names) = (rows.texts("path")?, rows.texts("type")?, rows.texts("name")?);
        for (row, id) in ids.iter().enumerate() {
            let pass = passes.value(row).parse().map_err(|error| rows.wrong(row, error))?;
            let [path, op_type, name] = [paths, types, names].map(|texts| texts.value(row).into());
            let expected = ops.len();
            let op = Op { path, op_type, name, pass, approximate: approximate.value(row) };
            if ops.intern(op) != OpId(*id) || OpId(*id).index() != expected {
                let problem = format_args!("op_id is {id}; operations are distinct and numbered from 0 in order");
                return Err(rows.wrong(row, problem));
            }
        }
        Ok(())
    })?;
    Ok(ops)
}
