//! A card as it may be shown: with paths relative to where its run is, or without what names its machine and its user.

use super::{Card, RunRow, Sensitivity};
use crate::Disclosure;

impl Card {
    /// The same with what it says about its machine and its folders as it may be shown.
    pub fn disclosed(mut self, disclosure: &Disclosure) -> Card {
        self.title = disclosure.command(&self.title);
        for RunRow { run, arguments, .. } in &mut self.runs {
            *run = disclosure.command(run);
            arguments.values_mut().for_each(|value| *value = disclosure.command(value));
        }
        for Sensitivity { value, .. } in &mut self.sensitivity {
            *value = value.as_deref().map(|value| disclosure.command(value));
        }
        self.meters.iter_mut().for_each(|meter| *meter = disclosure.text(meter));
        self.warnings.iter_mut().for_each(|warning| *warning = disclosure.warning(warning));
        self
    }
}
