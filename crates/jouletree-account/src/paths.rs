//! The tree that paths span: a node for every component, numbered so that a parent comes before its children.

use std::iter;

use rustc_hash::FxHashMap;

/// The number of the node above all paths.
pub(crate) const ROOT: usize = 0;

/// How many components of a path are distinguished; the last one holds whatever is left. Trees made from paths are
/// nested values, so this bounds the recursion of writing, reading and dropping them: two levels of JSON for each
/// component stay below the 128 that serde_json reads back. Models nest some fifteen deep.
pub(crate) const MAX_DEPTH: usize = 50;

/// The components of a path, empty ones left out: at most 50, the last of which holds whatever is left.
pub fn components(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path.trim_matches('/');
    let mut depth = 0;
    iter::from_fn(move || {
        depth += 1;
        let all = rest;
        let (first, more) = match all.split_once('/') {
            Some((first, more)) if depth < MAX_DEPTH => (first, more.trim_start_matches('/')),
            _ => (all, ""),
        };
        rest = more;
        (!first.is_empty()).then_some(first)
    })
}

/// One component of a path.
pub(crate) struct PathNode<'a> {
    pub name: &'a str,
    pub parent: usize,
}

/// All the components of some paths, each once below its parent.
pub(crate) struct PathTree<'a> {
    nodes: Vec<PathNode<'a>>,
    numbers: FxHashMap<(usize, &'a str), usize>,
}

impl<'a> PathTree<'a> {
    /// A tree of nothing but the root.
    pub fn new() -> PathTree<'a> {
        PathTree { nodes: vec![PathNode { name: "", parent: ROOT }], numbers: FxHashMap::default() }
    }

    /// The number of the node at `path`, which is added if it is new.
    pub fn insert(&mut self, path: &'a str) -> usize {
        components(path).fold(ROOT, |parent, name| {
            *self.numbers.entry((parent, name)).or_insert_with(|| {
                self.nodes.push(PathNode { name, parent });
                self.nodes.len() - 1
            })
        })
    }

    /// The number of the child of `parent` with this name.
    pub fn child(&self, parent: usize, name: &'a str) -> Option<usize> {
        self.numbers.get(&(parent, name)).copied()
    }

    /// All nodes in the order of their numbers.
    pub fn nodes(&self) -> &[PathNode<'a>] {
        &self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_components_are_dropped_and_deep_ones_joined() {
        let parts = |path| components(path).collect::<Vec<_>>();
        assert_eq!(parts("//a///b/c//"), ["a", "b", "c"]);
        assert_eq!(parts("///"), Vec::<&str>::new());
        let deep = vec!["x"; 100_000].join("/");
        assert_eq!(parts(&deep).len(), MAX_DEPTH);
        assert_eq!(parts(&deep).join("/"), deep);
    }

    #[test]
    fn a_node_is_numbered_once_and_after_its_parent() {
        let mut tree = PathTree::new();
        let b = tree.insert("a/b");
        let c = tree.insert("a/c");
        assert_eq!((tree.insert("/a//b"), tree.insert("")), (b, ROOT));
        assert_eq!((tree.nodes()[b].parent, tree.nodes()[c].parent), (1, 1));
        assert_eq!((tree.child(1, "c"), tree.child(1, "d")), (Some(c), None));
    }
}
