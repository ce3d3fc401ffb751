//! Which operations are of one type, and which are the same in self-similar layers.

use jouletree_model::{OpTable, Pass};
use rustc_hash::FxHashMap;

use super::columns::Catalog;

/// At most so many types are distinguished; the rest are one.
const TYPES: u32 = 256;

/// The roles and types of operations. A role is a type in a pass at a path in which the numbers of layers do not count; those
/// in the last component are part of the operation's own name.
pub(super) fn classified(ops: &OpTable) -> Catalog {
    let mut kinds: FxHashMap<&str, u32> = FxHashMap::default();
    let mut roles: FxHashMap<(String, u32, Pass), u32> = FxHashMap::default();
    let mut catalog = Catalog::default();
    for (_, op) in ops.iter() {
        let next = (kinds.len() as u32).min(TYPES);
        let kind = *kinds.entry(&op.op_type).or_insert(next);
        let next = roles.len() as u32;
        let role = *roles.entry((without_layers(&op.path), kind, op.pass)).or_insert(next);
        catalog.kind.push(kind);
        catalog.role.push(role);
    }
    catalog
}

/// A path with a star for every number before its last component.
fn without_layers(path: &str) -> String {
    let (layers, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut role = String::with_capacity(path.len());
    let mut was_digit = false;
    for letter in layers.chars() {
        match (letter.is_ascii_digit(), was_digit) {
            (true, false) => role.push('*'),
            (true, true) => {}
            (false, _) => role.push(letter),
        }
        was_digit = letter.is_ascii_digit();
    }
    role.push('/');
    role.push_str(name);
    role
}

#[cfg(test)]
mod tests {
    use super::*;
    use jouletree_model::Op;

    #[test]
    fn layers_share_roles_and_passes_do_not() {
        let mut ops = OpTable::default();
        let mut add = |path: &str, kind: &str, pass| ops.intern(Op::new(path, kind, path, pass));
        add("bert/layer_0/query/MatMul", "MatMul", Pass::Forward);
        add("bert/layer_11/query/MatMul", "MatMul", Pass::Forward);
        add("bert/layer_11/query/MatMul_1", "MatMul", Pass::Forward);
        add("bert/layer_0/query/MatMul", "MatMul", Pass::Backward);
        add("softmax", "Softmax", Pass::Forward);
        let Catalog { role, kind } = classified(&ops);
        assert_eq!((role, kind), (vec![0, 0, 1, 2, 3], vec![0, 0, 0, 0, 1]));
    }
}
