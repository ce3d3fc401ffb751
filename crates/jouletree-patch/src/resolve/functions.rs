//! Functions: what flows into them and what they give, and which are traced.

use std::ops::Range;

use super::{Knowledge, Made, Passed};
use crate::knowledge;
use crate::scopes::Binding;
use crate::tree::*;
use crate::values::{Value, Values};

impl<'a> Knowledge<'a> {
    /// What a call of a function gives.
    pub fn result_of(&mut self, function: u32) -> Values {
        match self.facts(function) {
            Some(facts) if facts.is_generator => Value::Container(self.container(Made::Yields(function))).into(),
            Some(facts) => facts.returns,
            None => Values::default(),
        }
    }

    pub fn returns(&mut self, function: u32, values: &Values) {
        if let Some(facts) = self.facts_mut(function)
            && facts.returns.join(values)
        {
            self.is_new = true;
        }
    }

    /// Notes that a function is traced.
    pub fn trace(&mut self, function: u32, reason: &str, handed: Option<&'static str>) {
        if let Some(facts) = self.facts_mut(function)
            && facts.traced.is_none()
        {
            facts.traced = Some(reason.to_owned());
            facts.handed = handed;
            self.is_new = true;
        }
    }

    /// Notes what a function is given by unknown callers, if it has none here.
    pub fn hand(&mut self, function: u32, handed: &'static str) {
        if let Some(facts) = self.facts_mut(function) {
            facts.handed.get_or_insert(handed);
        }
    }

    /// Why code in a scope is traced, if it is.
    pub fn traced(&self, scope: usize) -> Option<&str> {
        let mut at = scope;
        loop {
            let here = self.scopes.all.get(at).filter(|here| at != here.module)?;
            if let Some(function) = self.scopes.function_of(at)
                && let Some(reason) = self.facts(function as u32).and_then(|facts| facts.traced.as_deref())
            {
                return Some(reason);
            }
            at = here.parent;
        }
    }

    /// Lets arguments flow into parameters; the first `skip` of them are bound already.
    pub fn pass(&mut self, function: u32, arguments: &[Passed<'a>], skip: usize) {
        let Some(facts) = self.facts(function) else { return };
        let node = facts.node;
        let scope = self.scopes.of_function(function as usize);
        let mut places = node
            .parameters
            .iter()
            .filter(|parameter| matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Ordinary))
            .skip(skip);
        let extra = |kind| node.parameters.iter().find(|parameter| parameter.kind == kind);
        for (name, values) in arguments {
            match name {
                ArgumentName::Positional => match places.next() {
                    Some(parameter) => self.learn(scope, &parameter.name, values),
                    None => self.pass_extra(function, extra(ParameterKind::Star), None, values),
                },
                ArgumentName::Star => {
                    for place in 0.. {
                        let values = self.slot(values, place);
                        match places.next() {
                            Some(parameter) => self.learn(scope, &parameter.name, &values),
                            None => {
                                self.pass_extra(function, extra(ParameterKind::Star), None, &values);
                                break;
                            }
                        }
                    }
                }
                ArgumentName::Keyword(name) => {
                    match node.parameters.iter().find(|parameter| parameter.name == *name) {
                        Some(parameter) => self.learn(scope, &parameter.name, values),
                        None => self.pass_extra(function, extra(ParameterKind::DoubleStar), Some(name), values),
                    }
                }
                ArgumentName::DoubleStar => {
                    let containers: Vec<u32> = values
                        .iter()
                        .filter_map(|value| if let Value::Container(one) = value { Some(one) } else { None })
                        .collect();
                    for container in containers {
                        let Some(inside) = self.containers.get(container as usize) else { continue };
                        let keys: Vec<(&'a str, Values)> =
                            inside.keys.iter().map(|(key, values)| (*key, *values)).collect();
                        for (key, values) in keys {
                            if let Some(parameter) = node.parameters.iter().find(|one| &*one.name == key) {
                                self.learn(scope, &parameter.name, &values);
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn pass_extra(
        &mut self,
        function: u32,
        to: Option<&'a Parameter>,
        key: Option<&'a str>,
        values: &Values,
    ) {
        let Some(parameter) = to else { return };
        let container = self.container(Made::Extra(function, key.is_some()));
        match key {
            Some(key) => {
                if let Some(container) = self.containers.get_mut(container as usize) {
                    container.is_dictionary = true;
                }
                self.put_key(container, key, values);
            }
            None => self.put(container, values),
        }
        let scope = self.scopes.of_function(function as usize);
        self.learn(scope, &parameter.name, &Value::Container(container).into());
    }

    /// What parameters get that nothing in the program calls, once everything else is known.
    pub fn hand_parameters(&mut self, functions: Range<usize>) {
        for function in functions.start as u32..functions.end as u32 {
            let Some(facts) = self.facts(function) else { continue };
            let node = facts.node;
            let (handed, class) = (facts.handed, facts.class);
            let base = class.and_then(|class| self.library_base(class as u32));
            if handed.is_none() && base.is_none() {
                continue;
            }
            let base = base.map(|base| self.paths.name(base).to_owned()).unwrap_or_default();
            let scope = self.scopes.of_function(function as usize);
            for parameter in &node.parameters {
                let by_class = || knowledge::handed_parameter(&base, &node.name, &parameter.name);
                let Some(handed) = handed.or_else(by_class) else { continue };
                let path = self.paths.id(handed);
                let value = self.object(path).into();
                let is_known = |binding: &Binding| !binding.ever.is_empty();
                let known = self.scopes.all.get(scope).and_then(|scope| scope.names.get(&*parameter.name));
                let is_plain = matches!(parameter.kind, ParameterKind::Star | ParameterKind::DoubleStar)
                    || parameter.default.is_some();
                if !is_plain && !known.is_some_and(is_known) {
                    self.learn(scope, &parameter.name, &value);
                }
            }
        }
    }
}
