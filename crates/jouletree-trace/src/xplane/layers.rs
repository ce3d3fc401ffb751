//! What the program itself said about names: the layers and optimizers of Keras that scopes in a graph belong to, and the
//! variables that an optimizer's operations work for.
//!
//! It is in a plane of its own, `/jouletree:names`, that was added to the file when it was written: the name of an event
//! is `layer:<scope>` or `optimizer:<scope>`, what is shown for it the name in the program. `update:<operation>` shows the
//! variable, at the scope of its layer; scopes of calls are before both, apart by [`CALLS`]. `eager:` says that steps ran
//! without a graph.

use rustc_hash::{FxHashMap, FxHashSet};

use jouletree_model::{Op, Pass};

use crate::tensorflow::names::without_number;

use super::space::Space;

/// The plane that holds names.
const PLANE: &str = "/jouletree:names";

/// Between the scope of a call and what is called so in the function.
pub(super) const CALLS: char = '|';

/// What is known about names; nothing in most files.
#[derive(Debug, Default)]
pub(super) struct Layers {
    names: FxHashMap<String, String>,
    optimizers: FxHashSet<String>,
    /// The variables that operations of an optimizer work for.
    variables: FxHashMap<String, String>,
    pub(super) is_eager: bool,
}

impl Layers {
    pub(super) fn of(space: &Space<'_>) -> Layers {
        let mut found = Layers::default();
        for plane in space.planes.iter().filter(|plane| plane.name == PLANE) {
            for (_, event) in plane.events.iter() {
                let (name, shown) = (String::from_utf8_lossy(event.name), String::from_utf8_lossy(event.display));
                found.add(&name, &shown);
            }
        }
        found
    }

    pub(super) fn add(&mut self, name: &str, shown: &str) {
        let Some((kind, scope)) = name.split_once(':') else { return };
        match kind {
            "eager" => self.is_eager = true,
            "layer" | "optimizer" if !scope.is_empty() && !shown.is_empty() => {
                if kind == "optimizer" {
                    self.optimizers.insert(scope.to_owned());
                }
                // A name that holds a separator would make scopes of its parts.
                self.names.insert(scope.to_owned(), shown.replace('/', "_"));
            }
            "update" if !scope.is_empty() && !shown.is_empty() => {
                self.variables.insert(scope.to_owned(), shown.to_owned());
            }
            _ => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a path in a graph is that of a layer.
    pub(super) fn is_layer(&self, path: &str) -> bool {
        self.names.contains_key(path)
    }

    /// Whether a path in a graph lies in a layer or in an optimizer.
    pub(super) fn has(&self, path: &str) -> bool {
        prefixes(path).any(|scope| self.names.contains_key(scope))
    }

    /// Whether a path in a graph lies in an optimizer.
    pub(super) fn is_optimizer(&self, path: &str) -> bool {
        prefixes(path).any(|scope| self.optimizers.contains(scope))
    }

    /// The variable that an operation of an optimizer works for, at the scope of its layer.
    pub(super) fn variable_of(&self, operation: &str) -> Option<&str> {
        self.variables.get(operation).map(String::as_str)
    }

    /// Whether the variables of any operation are known.
    pub(super) fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    /// A compiled operation with the names that the program gives its layers, or in the layer of the variable that it
    /// works for.
    pub(super) fn renamed(&self, op: Op) -> Op {
        let variable = if op.pass == Pass::Optimizer { self.variable_of(&op.path) } else { None };
        let path = match (
            variable.map(|found| found.rsplit(CALLS).next().unwrap_or(found)),
            op.path.rsplit('/').next(),
        ) {
            (Some(variable), Some(last)) => {
                format!("{}/{}", self.restored(variable, |_| false), without_number(last))
            }
            _ => self.restored(&op.path, |_| false),
        };
        Op { path: path.into(), ..op }
    }

    /// The path with the names that the program gives its layers. What `is_left_out` says of a beginning of it, that is
    /// how far it leads, is not named.
    pub(super) fn restored(&self, path: &str, is_left_out: impl Fn(&str) -> bool) -> String {
        let mut restored: Vec<&str> = Vec::new();
        let mut from = 0;
        for prefix in prefixes(path).chain([path]) {
            let own = &path[from..prefix.len()];
            from = (prefix.len() + 1).min(path.len());
            if prefix.len() == path.len() || !is_left_out(prefix) {
                restored.push(self.names.get(prefix).map_or(own, String::as_str));
            }
        }
        restored.join("/")
    }
}

/// The scopes around the last part of a path, the outermost first.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_get_the_names_of_their_layers() {
        let mut layers = Layers::default();
        for (scope, name) in [
            ("layer:net_1", "net"),
            ("layer:net_1/conv2d", "conv2d"),
            ("layer:net_1/conv2d_1", "conv2d"),
            ("layer:net_1/conv2d_1_2", "conv2d_1"),
            ("layer:net_3", "net"),
            ("layer:net_1/lstm_1/while/cell_1", "cell"),
            ("layer:net_1/lstm_1", "lstm"),
            ("optimizer:sgd_1", "sgd"),
            ("layer:odd_1", "a/b"),
            ("nonsense", "x"),
            ("layer:", "x"),
            ("eager:", ""),
        ] {
            layers.add(scope, name);
        }
        let restored = |path| layers.restored(path, |scope| scope == "net_1/lstm_1/while");
        for (path, wanted) in [
            ("net_1/conv2d_1/Relu", "net/conv2d/Relu"),
            ("net_1/conv2d_1_2/Relu_1", "net/conv2d_1/Relu_1"),
            ("net_3/conv2d_1/Relu", "net/conv2d_1/Relu"),
            ("net_1/lstm_1/while/cell_1/MatMul", "net/lstm/cell/MatMul"),
            ("sgd_1/Mul", "sgd/Mul"),
            ("odd_1/Mul", "a_b/Mul"),
            ("MatMul_1", "MatMul_1"),
            ("", ""),
        ] {
            assert_eq!(restored(path), wanted);
        }
        assert!(layers.is_eager && layers.has("net_1/x") && !layers.has("net_1") && !layers.has("net/x"));
        assert!(layers.is_optimizer("sgd_1/Mul") && !layers.is_optimizer("net_1/Mul"));
        layers.add("update:sgd_1/Mul_4", "net_1/conv2d_1/kernel");
        let renamed =
            |path, pass| layers.renamed(Op::new(path, "multiply", "multiply.1", pass)).path.into_string();
        assert_eq!(renamed("sgd_1/Mul_4", Pass::Optimizer), "net/conv2d/kernel/Mul");
        assert_eq!(renamed("sgd_1/Mul_5", Pass::Optimizer), "sgd/Mul_5");
        assert_eq!(renamed("net_1/conv2d_1/Mul_4", Pass::Forward), "net/conv2d/Mul_4");
    }
}
