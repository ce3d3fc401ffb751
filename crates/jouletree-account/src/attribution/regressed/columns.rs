//! The columns of the regression: the most informative operations alone, the rest of each role or type together, and how the
//! power of each column is made of effects.

use std::collections::BTreeMap;

use super::options::{LEVELS, Options};

/// The column of an operation that has none, as it never ran.
pub(super) const NONE: u32 = u32::MAX;

/// What is known of operations before any energy is looked at, by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct Catalog {
    /// Which operations are the same in self-similar layers.
    pub(super) role: Vec<u32>,
    /// Which are of one type.
    pub(super) kind: Vec<u32>,
}

/// What each operation did while it was observed.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity {
    /// How often it ran.
    pub(super) count: Vec<u64>,
    /// For how long, in seconds summed over lanes.
    pub(super) seconds: Vec<f64>,
    /// The sum of squares over windows of its seconds in them: what windows say about it.
    pub(super) information: Vec<f64>,
}

/// The effects that make the power of a column: it is the exponential of their sum.
#[derive(Debug, Clone, Copy)]
struct Effects {
    role: Option<usize>,
    kind: usize,
    /// The logarithm of the mean duration, centred.
    size: f64,
}

/// The columns. Effects are numbered: own effects first, then roles, types, the common level, the slope over durations.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// The column of each operation.
    pub(super) of: Vec<u32>,
    /// How many columns are of one operation; they come first.
    pub(super) own: usize,
    columns: Vec<Effects>,
    roles: usize,
    kinds: usize,
}

impl Columns {
    /// The columns that the data can bear.
    pub(super) fn new(catalog: &Catalog, activity: &Activity, options: &Options) -> Columns {
        let Activity { count, seconds, information } = activity;
        let is_kept = kept_roles(catalog, information, options.columns / 2);
        let kept = is_kept.values().filter(|kept| **kept).count();
        let own = match is_kept.len() == kept {
            true => options.columns.saturating_sub(kept),
            false => options.columns.saturating_sub(kept + largest(&catalog.kind)),
        };
        let is_kept = |op: usize| is_kept.get(&catalog.role[op]).copied().unwrap_or(false);
        let is_candidate = |op: &usize| count[*op] >= options.executions && is_kept(*op) && information[*op] > 0.0;
        let mut candidates: Vec<usize> = (0..count.len()).filter(is_candidate).collect();
        candidates.sort_by(|a, b| information[*b].total_cmp(&information[*a]));
        candidates.truncate(own);
        candidates.sort_unstable();

        let mut of = vec![NONE; count.len()];
        let mut placed: Vec<(Option<u32>, u32)> = Vec::new();
        for (column, op) in candidates.iter().enumerate() {
            of[*op] = column as u32;
            placed.push((Some(catalog.role[*op]), catalog.kind[*op]));
        }
        let own = placed.len();
        let mut lumps: BTreeMap<(bool, u32), usize> = BTreeMap::new();
        for op in (0..count.len()).filter(|op| count[*op] > 0) {
            if of[op] != NONE {
                continue;
            }
            let role = is_kept(op).then_some(catalog.role[op]);
            let key = (role.is_some(), role.unwrap_or(catalog.kind[op]));
            let column = *lumps.entry(key).or_insert_with(|| {
                placed.push((role, catalog.kind[op]));
                placed.len() - 1
            });
            of[op] = column as u32;
        }
        let sizes = sizes(&of, placed.len(), count, seconds);
        let (roles, kinds) =
            (numbered(placed.iter().filter_map(|of| of.0)), numbered(placed.iter().map(|of| of.1)));
        let columns = placed.iter().zip(sizes).map(|((role, kind), size)| Effects {
            role: role.and_then(|role| roles.get(&role).copied()),
            kind: kinds.get(kind).copied().unwrap_or_default(),
            size,
        });
        Columns { of, own, columns: columns.collect(), roles: roles.len(), kinds: kinds.len() }
    }

    /// How many columns there are.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// How many effects there are.
    pub(super) fn effects(&self) -> usize {
        self.own + self.roles + self.kinds + 2
    }

    /// The numbers of the effects of each level.
    pub(super) fn levels(&self) -> [std::ops::Range<usize>; LEVELS] {
        let (own, roles) = (self.own, self.own + self.roles);
        [0..own, own..roles, roles..roles + self.kinds]
    }

    /// The effects of a column with their coefficients.
    pub(super) fn effects_of(&self, column: usize) -> impl Iterator<Item = (usize, f64)> {
        let Effects { role, kind, size } = self.columns[column];
        let own = (column < self.own).then_some(column);
        self.shared_effects(role, kind, size, own)
    }

    /// Those that several columns have.
    pub(super) fn shared_effects_of(&self, column: usize) -> impl Iterator<Item = (usize, f64)> {
        let Effects { role, kind, size } = self.columns[column];
        self.shared_effects(role, kind, size, None)
    }

    fn shared_effects(
        &self,
        role: Option<usize>,
        kind: usize,
        size: f64,
        own: Option<usize>,
    ) -> impl Iterator<Item = (usize, f64)> {
        let first = self.own + self.roles;
        let common = first + self.kinds;
        let plain = own.into_iter().chain(role.map(|role| self.own + role)).chain([first + kind, common]);
        plain.map(|effect| (effect, 1.0)).chain([(common + 1, size)])
    }

    /// Whether an operation has a column of its own.
    pub(super) fn is_own(&self, op: usize) -> bool {
        self.of.get(op).is_some_and(|column| (*column as usize) < self.own)
    }

    /// Whether a column is of a role rather than of a whole type.
    pub(super) fn has_role(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|effects| effects.role.is_some())
    }

    /// The sum of effects of each column.
    pub(super) fn sums(&self, effects: &[f64]) -> Vec<f64> {
        let sum = |column| self.effects_of(column).map(|(effect, weight)| effects[effect] * weight).sum();
        (0..self.len()).map(sum).collect()
    }

    /// What columns sum up to by effect.
    pub(super) fn by_effect(&self, columns: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.effects()];
        for (column, value) in columns.iter().take(self.len()).enumerate() {
            for (effect, weight) in self.effects_of(column) {
                sums[effect] += weight * value;
            }
        }
        sums
    }
}

/// Which roles that ran have columns; all where there are at most `most`.
fn kept_roles(catalog: &Catalog, information: &[f64], most: usize) -> BTreeMap<u32, bool> {
    let mut by_role: BTreeMap<u32, f64> = BTreeMap::new();
    for (role, information) in catalog.role.iter().zip(information).filter(|(_, information)| **information > 0.0)
    {
        *by_role.entry(*role).or_default() += information;
    }
    let mut ranked: Vec<(u32, f64)> = by_role.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.iter().enumerate().map(|(rank, (role, _))| (*role, rank < most)).collect()
}

fn largest(numbers: &[u32]) -> usize {
    numbers.iter().max().map_or(0, |most| *most as usize + 1)
}

fn numbered(keys: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut keys: Vec<u32> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().zip(0..).collect()
}

/// The centred logarithm of the mean duration of each column's executions, within what is usual.
fn sizes(of: &[u32], columns: usize, count: &[u64], seconds: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); columns];
    for (op, column) in of.iter().enumerate().filter(|(_, column)| **column != NONE) {
        let sum = &mut sums[*column as usize];
        *sum = (sum.0 + seconds[op], sum.1 + count[op] as f64);
    }
    let logs: Vec<f64> = sums.iter().map(|(seconds, count)| (seconds / count.max(1.0) + 1e-9).ln()).collect();
    let mean = logs.iter().sum::<f64>() / columns.max(1) as f64;
    logs.into_iter().map(|log| (log - mean).clamp(-3.0, 3.0)).collect()
}
