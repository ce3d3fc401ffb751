//! Compiled modules of XLA: a stand-in until they can be read.

use jouletree_model::{ModelTree, Op};

/// One compiled module.
pub(crate) struct HloModule;

/// A share of an instruction's time and where it goes.
#[allow(dead_code)]
pub(crate) struct Part {
    pub(crate) op: Op,
    pub(crate) share: f64,
}

#[allow(dead_code)]
impl HloModule {
    pub(crate) fn parse(_hlo_proto: &[u8]) -> Option<HloModule> {
        None
    }

    pub(crate) fn name(&self) -> &str {
        ""
    }

    pub(crate) fn parts(&self, _instruction: &str) -> Option<&[Part]> {
        None
    }

    pub(crate) fn add_to(&self, _model: &mut ModelTree, _used: &dyn Fn(&str) -> bool) {}
}
