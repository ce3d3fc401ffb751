//! What an expression may refer to: things of modules by dotted path, and the program's own classes, functions and
//! containers. A handful of possibilities is kept; more would not give a better name.

use rustc_hash::FxHashMap;

use crate::knowledge;

/// A dotted path, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PathId(u32);

/// One thing that an expression may refer to. Numbers are places in tables of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// Something of an imported module; an object is what a call of it has given.
    Path {
        path: PathId,
        is_object: bool,
    },
    /// A file of the program, or a folder of such files.
    Module(u32),
    /// A class of the program.
    Class(u32),
    Instance(u32),
    Function(u32),
    /// A function that brings its `self`.
    Method(u32),
    /// A list, tuple, dictionary, set, or what a generator yields.
    Container(u32),
    /// `super()` in a class.
    Super(u32),
    /// `getattr` of something with a name that only the running program knows.
    Computed(PathId),
}

const MOST: usize = 6;

/// What an expression may refer to; nothing means that nothing is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values {
    some: [Value; MOST],
    count: u8,
}

impl Default for Values {
    fn default() -> Values {
        Values { some: [Value::Class(0); MOST], count: 0 }
    }
}

impl From<Value> for Values {
    fn from(value: Value) -> Values {
        let mut values = Values::default();
        values.add(value);
        values
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(from: I) -> Values {
        let mut values = Values::default();
        from.into_iter().for_each(|value| {
            values.add(value);
        });
        values
    }
}

impl Values {
    pub fn as_slice(&self) -> &[Value] {
        self.some.get(..usize::from(self.count)).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        self.as_slice().iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a possibility, unless it is there or there are enough; returns whether it did.
    pub fn add(&mut self, value: Value) -> bool {
        if self.as_slice().contains(&value) {
            return false;
        }
        match self.some.get_mut(usize::from(self.count)) {
            Some(place) => {
                *place = value;
                self.count += 1;
                true
            }
            None => false,
        }
    }

    /// Adds possibilities and returns whether any was new.
    pub fn join(&mut self, others: &Values) -> bool {
        others.iter().fold(false, |new, value| self.add(value) | new)
    }

    pub fn joined(mut self, others: &Values) -> Values {
        self.join(others);
        self
    }
}

/// All paths that were met.
#[derive(Debug, Default)]
pub(crate) struct Paths<'a> {
    names: Vec<Box<str>>,
    ids: FxHashMap<Box<str>, PathId>,
    members: FxHashMap<(PathId, &'a str), PathId>,
}

impl<'a> Paths<'a> {
    pub fn id(&mut self, name: &str) -> PathId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = PathId(self.names.len() as u32);
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        id
    }

    pub fn name(&self, id: PathId) -> &str {
        self.names.get(id.0 as usize).map_or("", |name| name)
    }

    /// `path.member`.
    pub fn member(&mut self, path: PathId, member: &'a str) -> PathId {
        if let Some(id) = self.members.get(&(path, member)) {
            return *id;
        }
        let id = self.id(&format!("{}.{member}", self.name(path)));
        self.members.insert((path, member), id);
        id
    }

    /// What is inside of a path's object: its elements, however one comes by them.
    pub fn element(&mut self, path: PathId) -> PathId {
        let name = self.name(path);
        // A part of a tensor is one.
        if name.ends_with("[]") || knowledge::is_tensor(name) {
            return path;
        }
        let name = format!("{}[]", name.strip_suffix(".__iter__").unwrap_or(name));
        self.id(&name)
    }
}
