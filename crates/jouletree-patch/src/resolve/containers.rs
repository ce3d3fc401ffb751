//! What is inside of containers and comes out of them.

use super::{Container, Knowledge, Made};
use crate::knowledge;
use crate::tree::*;
use crate::values::{PathId, Value, Values};

impl<'a> Knowledge<'a> {
    pub fn container(&mut self, made: Made) -> u32 {
        *self.made.entry(made).or_insert_with(|| {
            self.containers.push(Container::default());
            self.containers.len() as u32 - 1
        })
    }

    /// A container that a built-in function makes, with elements.
    pub fn made_with(&mut self, at: u32, which: u8, elements: &Values) -> Value {
        let container = self.container(Made::By(self.file, at, which));
        self.put(container, elements);
        Value::Container(container)
    }

    /// A tuple that a built-in function makes.
    pub fn made_of(&mut self, at: u32, which: u8, slots: &[Values]) -> Value {
        let container = self.container(Made::By(self.file, at, which));
        self.put_slots(container, slots);
        Value::Container(container)
    }

    pub fn put(&mut self, container: u32, values: &Values) {
        if let Some(container) = self.containers.get_mut(container as usize)
            && container.any.join(values)
        {
            self.is_new = true;
        }
    }

    pub fn put_slots(&mut self, container: u32, slots: &[Values]) {
        let Some(container) = self.containers.get_mut(container as usize) else { return };
        if container.slots.len() < slots.len() {
            container.slots.resize(slots.len(), Values::default());
        }
        for (place, values) in container.slots.iter_mut().zip(slots) {
            if place.join(values) {
                self.is_new = true;
            }
        }
    }

    pub fn put_key(&mut self, container: u32, key: &'a str, values: &Values) {
        if let Some(found) = self.containers.get_mut(container as usize)
            && (found.keys.entry(key).or_default().join(values) | found.any.join(values))
        {
            self.is_new = true;
        }
    }

    pub fn is_dictionary(&self, container: u32) -> bool {
        self.containers.get(container as usize).is_some_and(|container| container.is_dictionary)
    }

    /// Everything in a container.
    pub(super) fn content(&self, container: u32) -> Values {
        self.containers.get(container as usize).map_or_else(Values::default, |container| {
            container.slots.iter().fold(container.any, |all, slot| all.joined(slot))
        })
    }

    /// What an object of a library gives, given its path.
    pub fn object(&mut self, path: PathId) -> Value {
        Value::Path { path, is_object: true }
    }

    pub(super) fn element_of(&mut self, path: PathId) -> Value {
        let path = self.paths.element(path);
        self.object(path)
    }

    /// What iterating over values gives.
    pub fn elements(&mut self, values: &Values) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Path { path, .. } => {
                    found.add(self.element_of(path));
                }
                Value::Container(container) if !self.is_dictionary(container) => {
                    found.join(&self.content(container));
                }
                Value::Instance(class) => {
                    found.join(&self.elements_of_instance(class));
                }
                _ => {}
            }
        }
        found
    }

    pub(super) fn elements_of_instance(&mut self, class: u32) -> Values {
        for method in ["__next__", "__getitem__"] {
            if let Some(values) = self.own_member(class, method) {
                return self.returned(&values);
            }
        }
        if let Some(values) = self.own_member(class, "__iter__") {
            let iterators: Values = self
                .returned(&values)
                .iter()
                .filter(|value| matches!(value, Value::Container(_) | Value::Path { .. }))
                .collect();
            return self.elements(&iterators);
        }
        match self.library_base(class) {
            Some(base) if self.is_library(base) => self.element_of(base).into(),
            _ => Values::default(),
        }
    }

    /// What functions among values give when they are called.
    pub(super) fn returned(&mut self, functions: &Values) -> Values {
        let mut found = Values::default();
        for value in functions.iter() {
            if let Value::Function(function) | Value::Method(function) = value {
                found.join(&self.result_of(function));
            }
        }
        found
    }

    /// What unpacking gives to the target at a place.
    pub fn slot(&mut self, values: &Values, place: usize) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Container(container) => {
                    let inside = self.containers.get(container as usize);
                    if let Some(inside) = inside.filter(|inside| !inside.is_dictionary) {
                        found.join(&inside.any);
                        found.join(&inside.slots.get(place).copied().unwrap_or_default());
                    }
                }
                value => {
                    found.join(&self.elements(&value.into()));
                }
            }
        }
        found
    }

    /// `values[key]`.
    pub fn item(&mut self, values: &Values, key: &Expr, text: Option<&str>) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Container(container) => {
                    let inside = self.containers.get(container as usize);
                    match (inside.and_then(|inside| inside.keys.get(text?)), &key.kind) {
                        (Some(values), _) => {
                            found.join(values);
                        }
                        (None, ExprKind::Slice(_)) => {
                            found.add(value);
                        }
                        (None, _) => {
                            found.join(&self.content(container));
                        }
                    }
                }
                // A part of a tensor is one.
                Value::Path { path, is_object: true } if knowledge::is_tensor(self.paths.name(path)) => {
                    found.add(value);
                }
                value => {
                    found.join(&self.elements(&value.into()));
                }
            }
        }
        found
    }
}
