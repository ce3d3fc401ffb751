//! Scopes: the modules that host events run in, and the operations named by them.

use rustc_hash::FxHashMap;

use jouletree_model::{Op, OpId, OpTable, Pass};

use crate::interner::Interner;

/// A module path, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Scope(pub(super) u32);

impl Scope {
    /// Outside of any module.
    pub(super) const NONE: Scope = Scope(0);
}

/// The module paths of a trace, and the operations found in them.
pub(super) struct Scopes {
    paths: Interner,
    /// The scopes inside of others, by the number of their name: most ranges of a trace are runs of the same few.
    inside: FxHashMap<(Scope, u32), Scope>,
    ops: FxHashMap<(Scope, u32, Detail, Pass), OpId>,
}

/// What distinguishes operations of one scope and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Detail {
    /// The operation itself, on the host.
    Host,
    /// Python and framework time of a span, outside of any operation.
    Python,
    /// A kernel or copy with this name on a device, launched by the operation or standing alone.
    Device { name: u32, launched: bool },
}

/// The last part of the path of time that a module spends outside of any operation.
const PYTHON: &str = "(python)";

impl Scopes {
    pub(super) fn new() -> Scopes {
        let mut paths = Interner::default();
        paths.bytes(b"");
        Scopes { paths, inside: FxHashMap::default(), ops: FxHashMap::default() }
    }

    /// The scope with this path.
    pub(super) fn at(&mut self, path: &str) -> Scope {
        Scope(self.paths.bytes(path.as_bytes()))
    }

    /// The scope of a range inside another; `name` is the number of the range's name in `names`.
    pub(super) fn inside(&mut self, outer: Scope, name: u32, names: &Interner) -> Scope {
        if let Some(known) = self.inside.get(&(outer, name)) {
            return *known;
        }
        let path = joined(&self.paths.get(outer.0), range_name(&names.get(name)));
        let scope = self.at(&path);
        self.inside.insert((outer, name), scope);
        scope
    }

    /// The scope called `name` inside the one with a path.
    pub(super) fn named(&mut self, outer: &str, name: &str) -> Scope {
        self.at(&joined(outer, name))
    }

    /// The operation called `name` in a scope; it is added to `ops` if it is new.
    pub(super) fn op(
        &mut self,
        (scope, name, detail, pass): (Scope, u32, Detail, Pass),
        names: &Interner,
        ops: &mut OpTable,
    ) -> OpId {
        *self.ops.entry((scope, name, detail, pass)).or_insert_with(|| {
            let scope = self.paths.get(scope.0);
            let original = names.get(name);
            let op = match detail {
                Detail::Host => {
                    let short = original.strip_prefix(EVALUATE).unwrap_or(&original);
                    let path = joined(&scope, short);
                    Op::new(path, short, original.as_ref(), pass)
                }
                Detail::Python => Op::new(joined(&scope, PYTHON), "python", original.as_ref(), pass),
                Detail::Device { name, launched } => {
                    let kernel = names.get(name);
                    let short = short_kernel_name(&kernel);
                    let leaf = if launched { original.strip_prefix(EVALUATE).unwrap_or(&original) } else { short };
                    Op::new(joined(&scope, leaf), short, kernel.as_ref(), pass)
                }
            };
            ops.intern(op)
        })
    }
}

/// The name of a range without what marks it as a module's or as the evaluation of a backward node.
pub(super) fn range_name(name: &str) -> &str {
    name.strip_prefix("nn.Module: ").or_else(|| name.strip_prefix(EVALUATE)).unwrap_or(name)
}

/// What autograd calls the evaluation of a backward node.
pub(crate) const EVALUATE: &str = "autograd::engine::evaluate_function: ";

/// The path of what is called `name` in the scope with the path `outer`. A `/` in a name is no separator of paths:
/// `Torch-Compiled Region: 0/1` is one name, so a division slash (U+2215) takes its place.
fn joined(outer: &str, name: &str) -> String {
    let name = name.replace('/', "\u{2215}");
    if outer.is_empty() { name } else { format!("{outer}/{name}") }
}

/// The path of a module from its qualified name: `bert.encoder.layer.0.output` is `bert/encoder/layer.0/output`.
pub(crate) fn module_path(qualified: &str) -> String {
    let mut path = String::with_capacity(qualified.len());
    for (index, part) in qualified.split('.').enumerate() {
        if index > 0 {
            let numbered = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            path.push(if numbered { '.' } else { '/' });
        }
        path.push_str(part);
    }
    path
}

/// A kernel's name without return type, template arguments and parameters.
pub(crate) fn short_kernel_name(name: &str) -> &str {
    let name = name.strip_prefix("void ").unwrap_or(name);
    // `(anonymous namespace)::f(…)` begins with a parenthesis that is not a parameter list.
    let anonymous = "(anonymous namespace)::";
    let skip = name.rfind(anonymous).filter(|at| !name[..*at].contains('<')).map_or(0, |at| at + anonymous.len());
    let end = name[skip..].find(['<', '(']).map_or(name.len(), |at| at + skip);
    let short = name[skip..end].trim_end();
    if short.is_empty() { name } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_with_the_list_they_count() {
        assert_eq!(module_path("bert.encoder.layer.0.attention"), "bert/encoder/layer.0/attention");
        assert_eq!(module_path("transformer.h.11.mlp.c_fc"), "transformer/h.11/mlp/c_fc");
        assert_eq!(module_path("(root)"), "(root)");
        assert_eq!(module_path("0.1"), "0.1");
    }

    #[test]
    fn a_slash_in_a_name_is_no_separator() {
        let mut scopes = Scopes::new();
        let net = scopes.at("bert/encoder");
        let mut names = Interner::default();
        let name = names.bytes(b"Torch-Compiled Region: 0/1");
        let region = scopes.inside(net, name, &names);
        assert_eq!(scopes.inside(net, name, &names), region);
        assert_eq!(scopes.paths.get(region.0), "bert/encoder/Torch-Compiled Region: 0\u{2215}1");
    }

    #[test]
    fn kernels_are_known_by_their_function() {
        for (full, short) in [
            ("void cudnn::bn_bw_1C11_kernel_new<float, 32>(float, float)", "cudnn::bn_bw_1C11_kernel_new"),
            ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
            ("void at::native::(anonymous namespace)::cat_kernel<float>(int)", "cat_kernel"),
            ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"),
            ("<strange>", "<strange>"),
        ] {
            assert_eq!(short_kernel_name(full), short);
        }
    }
}
