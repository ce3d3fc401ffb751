//! The layout of four tables: primitives with and without parameters, modules and whole models, one row per node and no
//! column for the parent, which is found by the path.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use jouletree_model::Joules;
use jouletree_model::Warning;

use super::error::IreneError;
use super::read::{is_left_out, left_out_warning, open};
use super::shapes::fill_parameters;
use super::tree::{Dataset, Level, Node, Resources, Seconds, Specs, Tree};

const NUMBERS: [&str; 13] = [
    "batch_size",
    "seq_len",
    "flops",
    "mem_bytes",
    "cpu",
    "mem",
    "gpu",
    "gpu_mem",
    "gpu_clk",
    "gpu_mem_clk",
    "times_mean",
    "gpu_energy_mean",
    "energy_mean",
];
const TABLES: [(&str, Table); 4] = [
    ("model_level_features", Table::Model),
    ("module_level_features", Table::Module),
    ("ml1_level_features", Table::LeafByPath),
    ("ml2_level_features", Table::LeafInside),
];

/// Which rows a table holds; the two kinds of primitives find their parent differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Model,
    Module,
    /// The last part of the path is the primitive.
    LeafByPath,
    /// The path is the module's that calls the primitive.
    LeafInside,
}

struct Row {
    table: Table,
    model: String,
    scope: String,
    kind: String,
    numbers: [f64; NUMBERS.len()],
}

pub(crate) fn read_folder(folder: &Path) -> Result<Dataset, IreneError> {
    let mut models: Vec<String> = Vec::new();
    let mut groups: BTreeMap<(usize, u64, u64), Vec<Row>> = BTreeMap::new();
    let mut left_out = false;
    for (name, table) in TABLES {
        let path = find(folder, name)?;
        let rows = read_table(&path, table)?;
        if rows.is_empty() {
            return Err(IreneError::Empty { path });
        }
        for row in rows {
            if is_left_out(&row.model) {
                left_out = true;
                continue;
            }
            let place = match models.iter().position(|model| *model == row.model) {
                Some(place) => place,
                None => {
                    models.push(row.model.clone());
                    models.len() - 1
                }
            };
            // Whole and positive, so the bits order as the numbers do.
            let key = (place, row.numbers[0].to_bits(), row.numbers[1].to_bits());
            groups.entry(key).or_default().push(row);
        }
    }
    let source = folder.display().to_string();
    let mut data = Dataset::default();
    data.warnings.extend(left_out.then(|| left_out_warning(&source)));
    for rows in groups.into_values() {
        match join(rows, &source, &mut data.warnings) {
            Some(tree) if tree.root().is_some() => data.trees.push(tree),
            Some(loose) => data.loose_leaves.push(loose),
            None => {}
        }
    }
    fill(&mut data, &source);
    Ok(data)
}

fn fill(data: &mut Dataset, source: &str) {
    let mut warned: Vec<String> = Vec::new();
    for tree in data.trees.iter_mut().chain(&mut data.loose_leaves) {
        let unknown = fill_parameters(tree);
        if !unknown.is_empty() && !warned.contains(&tree.model) {
            warned.push(tree.model.clone());
            let message = format!(
                "{}: the tables do not say how many rows the embeddings {} have; their parameters count as 0",
                tree.model,
                unknown.join(", ")
            );
            data.warnings.push(Warning::new(source, message));
        }
    }
}

fn find(folder: &Path, table: &'static str) -> Result<PathBuf, IreneError> {
    ["csv", "csv.gz"]
        .iter()
        .map(|ending| folder.join(format!("{table}.{ending}")))
        .find(|path| path.exists())
        .ok_or_else(|| IreneError::MissingTable { folder: folder.to_owned(), table })
}

fn read_table(path: &Path, table: Table) -> Result<Vec<Row>, IreneError> {
    let mut reader = csv::Reader::from_reader(open(path)?);
    let headers = reader.headers().map_err(|error| bad_line(path, 1, &error))?.clone();
    if headers.is_empty() {
        return Err(IreneError::Empty { path: path.to_owned() });
    }
    let column = |name: &'static str| {
        headers
            .iter()
            .position(|header| header.trim() == name)
            .ok_or_else(|| IreneError::MissingColumn { path: path.to_owned(), column: name })
    };
    let mut places = [0; NUMBERS.len()];
    for (place, name) in places.iter_mut().zip(NUMBERS) {
        *place = column(name)?;
    }
    let (level_name, model_name) = (column("level_name")?, column("model_name")?);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            bad_line(path, line, &error)
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let mut numbers = [0.0; NUMBERS.len()];
        for ((number, &place), name) in numbers.iter_mut().zip(&places).zip(NUMBERS) {
            *number = parse(path, line, name, record.get(place).unwrap_or_default())?;
        }
        let model = record.get(model_name).unwrap_or_default().to_owned();
        let name = record.get(level_name).unwrap_or_default();
        let (scope, kind) = match (table, name.rsplit_once(':')) {
            (Table::Model, _) => (String::new(), "model".to_owned()),
            (_, Some((scope, kind))) => (scope.to_owned(), kind.to_lowercase()),
            (_, None) => {
                return Err(IreneError::BadValue {
                    path: path.to_owned(),
                    line,
                    column: "level_name".into(),
                    value: name.into(),
                    wanted: "a path and a class with a colon between them are needed",
                });
            }
        };
        rows.push(Row { table, model, scope, kind, numbers });
    }
    Ok(rows)
}

fn bad_line(path: &Path, line: u64, error: &csv::Error) -> IreneError {
    IreneError::BadLine { path: path.to_owned(), line, message: error.to_string() }
}

fn parse(path: &Path, line: u64, column: &str, text: &str) -> Result<f64, IreneError> {
    let must_be_positive = matches!(column, "batch_size" | "seq_len" | "times_mean" | "energy_mean");
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let wanted = if must_be_positive { "a number above 0 is needed" } else { "a number of 0 or more is needed" };
    number.filter(|&number| if must_be_positive { number > 0.0 } else { number >= 0.0 }).ok_or_else(|| {
        IreneError::BadValue { path: path.to_owned(), line, column: column.into(), value: text.into(), wanted }
    })
}

/// Joins the rows of one tree, or keeps its primitives loose where there is no root; `None` if a root is alone. Each
/// oddity causes a warning.
fn join(rows: Vec<Row>, source: &str, warnings: &mut Vec<Warning>) -> Option<Tree> {
    let first = rows.first()?;
    let (model, batch_size, seq_len) = (first.model.clone(), first.numbers[0], first.numbers[1]);
    let title = format!("{model} (batch {batch_size}, length {seq_len})");
    let Some(root) = rows.iter().position(|row| row.table == Table::Model) else {
        let is_leaf = |row: &&Row| matches!(row.table, Table::LeafByPath | Table::LeafInside);
        let leaves: Vec<Node> = rows.iter().filter(is_leaf).map(|row| node(row, Level::Leaf, None)).collect();
        let message = format!(
            "{title} has {} rows but none in the table of models; its {} primitives are used by themselves: add its row \
             to use the rest",
            rows.len(),
            leaves.len()
        );
        warnings.push(Warning::new(source, message));
        return Some(Tree { model, batch_size, seq_len, nodes: leaves });
    };
    let mut modules: HashMap<&str, usize> = HashMap::new();
    for (place, row) in rows.iter().enumerate() {
        if row.table == Table::Module && modules.insert(&row.scope, place).is_some() {
            let message =
                format!("{title}: `{}` has two rows in the table of modules; the last is used", row.scope);
            warnings.push(Warning::new(source, message));
        }
    }
    let mut parents = Vec::with_capacity(rows.len());
    let mut lost: Vec<&str> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let parent = match row.table {
            Table::Model => None,
            // The last of two rows of the same module took its place; the first hangs nowhere.
            Table::Module if modules.get(row.scope.as_str()) != Some(&place) => None,
            Table::LeafInside => Some(nearest(&modules, &row.scope, &mut lost)),
            Table::Module | Table::LeafByPath => Some(match row.scope.rsplit_once('.') {
                Some((above, last)) => nearest_of_list(&modules, above, last, &mut lost),
                None => None,
            }),
        };
        parents.push(parent.map(|module| module.unwrap_or(root)));
    }
    if let Some(first) = lost.first() {
        let message = format!(
            "{title}: {} rows name a module that has no row, such as `{first}`; they hang below the next module above",
            lost.len()
        );
        warnings.push(Warning::new(source, message));
    }
    let mut has_children = vec![false; rows.len()];
    for parent in parents.iter().flatten() {
        has_children[*parent] = true;
    }
    let mut childless = Vec::new();
    let nodes = rows
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let level = match row.table {
                Table::Model => Level::Model,
                Table::Module if has_children[place] => Level::Module,
                Table::Module => {
                    childless.push(row.scope.as_str());
                    Level::Leaf
                }
                Table::LeafByPath | Table::LeafInside => Level::Leaf,
            };
            node(row, level, parents[place])
        })
        .collect();
    if !has_children[root] {
        let message = format!("{title} has no children; it is left out: add the rows of its modules to use it");
        warnings.push(Warning::new(source, message));
        return None;
    }
    if let Some(first) = childless.first() {
        let message = format!(
            "{title}: {} modules have no children, such as `{first}`; they count as primitives of their class",
            childless.len()
        );
        warnings.push(Warning::new(source, message));
    }
    Some(Tree::assemble(model, batch_size, seq_len, nodes, root))
}

/// The module of that path, or the next one above that has a row.
fn nearest<'a>(modules: &HashMap<&str, usize>, scope: &'a str, lost: &mut Vec<&'a str>) -> Option<usize> {
    if let Some(&place) = modules.get(scope) {
        return Some(place);
    }
    match scope.rsplit_once('.') {
        Some((above, last)) => nearest_of_list(modules, above, last, lost),
        None => {
            lost.push(scope);
            None
        }
    }
}

/// The module above `last`. A list of modules has no row of its own: where `last` is a number, its holder is passed over.
fn nearest_of_list<'a>(
    modules: &HashMap<&str, usize>,
    above: &'a str,
    last: &str,
    lost: &mut Vec<&'a str>,
) -> Option<usize> {
    if let Some(&place) = modules.get(above) {
        return Some(place);
    }
    let is_list = last.bytes().all(|byte| byte.is_ascii_digit());
    if !is_list {
        lost.push(above);
    }
    let (above, last) = above.rsplit_once('.')?;
    nearest_of_list(modules, above, last, lost)
}

fn node(row: &Row, level: Level, parent: Option<usize>) -> Node {
    let [_, _, flops, mem_bytes, cpu, mem, gpu, gpu_mem, gpu_clk, gpu_mem_clk, time, device_energy, energy] =
        row.numbers;
    Node {
        scope: row.scope.clone(),
        kind: row.kind.clone(),
        level,
        parent,
        children: Vec::new(),
        specs: Specs { megaflops: flops, mebibytes: mem_bytes, ..Specs::default() },
        resources: Some(Resources {
            cpu,
            mem,
            gpu,
            gpu_mem,
            gpu_clk,
            gpu_mem_clk,
            time: Seconds(time),
            device_energy: Joules(device_energy),
        }),
        measured: Joules(energy),
    }
}
