//! Classes, their bases, and the attributes of everything.

use super::{Access, Knowledge};
use crate::knowledge;
use crate::scopes::FunctionFacts;
use crate::tree::*;
use crate::values::{PathId, Value, Values};

impl<'a> Knowledge<'a> {
    /// A class and those of the program that it derives from, the nearest first.
    pub(super) fn ancestry(&self, class: u32) -> Vec<u32> {
        let mut found = vec![class];
        let mut at = 0;
        while let Some(class) = found.get(at).copied() {
            at += 1;
            for base in self.bases(class).iter().flat_map(|values| values.iter()) {
                if let Value::Class(base) = base
                    && !found.contains(&base)
                    && found.len() < 64
                {
                    found.push(base);
                }
            }
        }
        found
    }

    pub(super) fn bases(&self, class: u32) -> &[Values] {
        self.scopes.classes.get(class as usize).and_then(Option::as_ref).map_or(&[], |facts| &facts.bases)
    }

    /// The imported class that a class derives from, one of the wanted libraries if there is one.
    pub fn library_base(&self, class: u32) -> Option<PathId> {
        let mut first = None;
        for class in self.ancestry(class) {
            for base in self.bases(class).iter().flat_map(|values| values.iter()) {
                if let Value::Path { path, .. } = base {
                    if self.is_library(path) {
                        return Some(path);
                    }
                    first = first.or(Some(path));
                }
            }
        }
        first
    }

    /// What the program's own classes say a member is.
    pub(super) fn own_member(&self, class: u32, member: &str) -> Option<Values> {
        self.member_among(&self.ancestry(class), member)
    }

    /// Whether the program's own classes define a member.
    pub fn defines(&self, class: u32, member: &str) -> bool {
        self.own_member(class, member).is_some()
    }

    pub(super) fn member_among(&self, classes: &[u32], member: &str) -> Option<Values> {
        for class in classes {
            let facts = self.scopes.classes.get(*class as usize)?.as_ref()?;
            let body = self.scopes.all.get(self.scopes.of_class(*class as usize))?;
            let declared = body.names.get(member).map(|binding| binding.ever);
            let assigned = facts.attributes.get(member).copied();
            if declared.is_some() || assigned.is_some() {
                return Some(declared.unwrap_or_default().joined(&assigned.unwrap_or_default()));
            }
        }
        None
    }

    /// How a function of a class is reached, by its decorators.
    pub fn access(&self, function: u32) -> Access {
        let Some(facts) = self.facts(function) else { return Access::Plain };
        for decorator in &facts.node.decorators {
            let name = match &decorator.kind {
                ExprKind::Name(name) => name,
                ExprKind::Attribute(_, name) => name,
                _ => continue,
            };
            match &**name {
                "property" | "cached_property" => return Access::Property,
                "staticmethod" => return Access::Static,
                "classmethod" => return Access::OfClass,
                _ => {}
            }
        }
        Access::Plain
    }

    pub fn facts(&self, function: u32) -> Option<&FunctionFacts<'a>> {
        self.scopes.functions.get(function as usize)?.as_ref()
    }

    pub(super) fn facts_mut(&mut self, function: u32) -> Option<&mut FunctionFacts<'a>> {
        self.scopes.functions.get_mut(function as usize)?.as_mut()
    }

    /// `values.member`.
    pub fn attribute(&mut self, values: &Values, member: &'a str) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Path { .. } if knowledge::is_plain_attribute(member) => {}
                Value::Path { path, .. } if knowledge::is_no_tensors(self.paths.name(path), member) => {}
                Value::Path { path, .. } => {
                    let path = self.paths.member(path, member);
                    found.add(Value::Path { path, is_object: false });
                }
                Value::Computed(path) => {
                    let path = self.paths.member(path, member);
                    found.add(Value::Computed(path));
                }
                Value::Class(class) => {
                    found.join(&self.class_member(&self.ancestry(class), class, member, false));
                }
                Value::Instance(class) => {
                    found.join(&self.class_member(&self.ancestry(class), class, member, true));
                }
                Value::Super(class) => {
                    let above = self.ancestry(class).split_off(1);
                    found.join(&self.class_member(&above, class, member, true));
                }
                Value::Module(module) => {
                    found.join(&self.module_member(module, member).unwrap_or_default());
                }
                Value::Function(_) | Value::Method(_) | Value::Container(_) => {}
            }
        }
        found
    }

    pub(super) fn class_member(
        &mut self,
        classes: &[u32],
        class: u32,
        member: &'a str,
        is_instance: bool,
    ) -> Values {
        if let Some(values) = self.member_among(classes, member) {
            let mut found = Values::default();
            for value in values.iter() {
                let Value::Function(function) = value else {
                    found.add(value);
                    continue;
                };
                match (self.access(function), is_instance) {
                    (Access::Property, true) => {
                        found.join(&self.result_of(function));
                    }
                    (Access::OfClass, _) | (Access::Plain, true) => {
                        found.add(Value::Method(function));
                    }
                    _ => {
                        found.add(value);
                    }
                }
            }
            return found;
        }
        match self.library_base(class) {
            Some(_) if knowledge::is_plain_attribute(member) => Values::default(),
            Some(base) => {
                let path = self.paths.member(base, member);
                Value::Path { path, is_object: false }.into()
            }
            None => Values::default(),
        }
    }

    /// `values.member = …`.
    pub fn set_attribute(&mut self, values: &Values, member: &'a str, to: &Values) {
        for value in values.iter() {
            if let Value::Module(module) = value
                && let Some(file) = self.links.file(module)
            {
                self.learn(file, member, to);
            }
            if let Value::Instance(class) | Value::Class(class) = value
                && let Some(Some(facts)) = self.scopes.classes.get_mut(class as usize)
                && (facts.attributes.entry(member).or_default().join(to))
            {
                self.is_new = true;
            }
        }
    }
}
