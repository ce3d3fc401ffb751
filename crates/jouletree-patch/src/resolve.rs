//! What names, attributes and calls stand for. Values flow along assignments, arguments and results until nothing new is
//! learned; within a scope in the order of the text, between scopes as whatever a name ever stands for.

use rustc_hash::FxHashMap;

use crate::knowledge;
use crate::scopes::{Binding, FunctionFacts, MODULE, ScopeKind, Scopes};
use crate::tree::*;
use crate::values::{PathId, Paths, Value, Values};

/// What is inside of a container.
#[derive(Debug, Default, Clone)]
pub(crate) struct Container<'a> {
    pub is_dictionary: bool,
    /// Elements, or a dictionary's values, wherever they are.
    pub any: Values,
    /// Elements of a tuple by place.
    pub slots: Vec<Values>,
    /// Values of a dictionary by the keys that are plain text.
    pub keys: FxHashMap<&'a str, Values>,
}

/// Why a container is there, beside displays, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Made {
    /// What a generator function yields.
    Yields(u32),
    /// `*args` or `**kwargs` of a function.
    Extra(u32, bool),
    /// What a built-in function makes, by where it is called.
    By(u32, u8),
}

/// An argument as it is passed.
pub(crate) type Passed<'a> = (&'a ArgumentName, Values);

/// How a function of a class is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Plain,
    Property,
    Static,
    OfClass,
}

/// Everything that is known about a program.
pub(crate) struct Knowledge<'a> {
    pub scopes: Scopes<'a>,
    pub paths: Paths<'a>,
    pub containers: Vec<Container<'a>>,
    made: FxHashMap<Made, u32>,
    /// Whether anything was learned since this was last unset.
    pub is_new: bool,
    /// What assignments have overwritten, so that branches can be undone.
    log: Vec<Overwritten<'a>>,
    libraries: &'a [String],
}

#[derive(Debug, Clone, Copy)]
struct Overwritten<'a> {
    scope: usize,
    name: &'a str,
    before: Binding,
}

/// What a branch has assigned: scope, name, before and after.
type Outcome<'a> = FxHashMap<(usize, &'a str), (Binding, Binding)>;

/// The mark in a path of what may come from `import *`.
pub(crate) const STAR: &str = ".*.";

impl<'a> Knowledge<'a> {
    pub fn new(module: &'a Module, libraries: &'a [String]) -> Knowledge<'a> {
        Knowledge {
            scopes: Scopes::of(module),
            paths: Paths::default(),
            containers: vec![Container::default(); module.displays],
            made: FxHashMap::default(),
            is_new: false,
            log: Vec::new(),
            libraries,
        }
    }

    /// Whether a path is of one of the wanted libraries.
    pub fn is_library(&self, path: PathId) -> bool {
        self.is_library_name(self.paths.name(path))
    }

    pub fn is_library_name(&self, name: &str) -> bool {
        let inside = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.libraries.iter().any(|library| name.strip_prefix(library.as_str()).is_some_and(inside))
    }

    /// Forgets where the program has come to, so that it can be walked again from the start of a scope.
    pub fn begin(&mut self, scope: usize) {
        if let Some(scope) = self.scopes.all.get_mut(scope) {
            scope.names.values_mut().for_each(|binding| binding.is_assigned = false);
        }
        self.log.clear();
    }

    // Names.

    fn binding(&mut self, scope: usize, name: &'a str) -> Option<&mut Binding> {
        Some(self.scopes.all.get_mut(scope)?.names.entry(name).or_default())
    }

    /// Adds to what a name ever stands for.
    pub fn learn(&mut self, scope: usize, name: &'a str, values: &Values) {
        if let Some(binding) = self.binding(scope, name)
            && binding.ever.join(values)
        {
            self.is_new = true;
        }
    }

    /// Assigns a name where the program has come to.
    pub fn assign(&mut self, scope: usize, name: &'a str, values: Values) {
        let target = self.scopes.assigned_in(scope, name);
        self.learn(target, name, &values);
        if target != scope {
            return;
        }
        if let Some(binding) = self.binding(scope, name) {
            let before = *binding;
            binding.now = values;
            binding.is_assigned = true;
            self.log.push(Overwritten { scope, name, before });
        }
    }

    /// What a name stands for; `None` where nothing in the program binds it.
    pub fn read(&self, scope: usize, name: &str) -> Option<Values> {
        let (owner, is_same_run) = self.scopes.find(scope, name)?;
        let binding = self.scopes.all.get(owner)?.names.get(name)?;
        let is_now = is_same_run && binding.is_assigned && !binding.is_shared;
        Some(if is_now { binding.now } else { binding.ever })
    }

    /// Whether a name is a parameter of which nothing is known.
    pub fn is_unknown_parameter(&self, scope: usize, name: &str) -> bool {
        let binding =
            self.scopes.find(scope, name).and_then(|(owner, _)| self.scopes.all.get(owner)?.names.get(name));
        binding.is_some_and(|binding| binding.is_parameter && binding.ever.is_empty())
    }

    // Branches.

    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Undoes everything since a mark, and tells what it was.
    pub fn undo(&mut self, mark: usize) -> Outcome<'a> {
        let mut outcome: Outcome<'a> = FxHashMap::default();
        while self.log.len() > mark {
            let Some(entry) = self.log.pop() else { break };
            if let Some(binding) = self.binding(entry.scope, entry.name) {
                let after = *binding;
                binding.now = entry.before.now;
                binding.is_assigned = entry.before.is_assigned;
                outcome.entry((entry.scope, entry.name)).or_insert((entry.before, after)).0 = entry.before;
            }
        }
        outcome
    }

    /// Goes on after branches of which any one was taken, or none unless they are exhaustive.
    pub fn merge(&mut self, outcomes: &[Outcome<'a>], is_exhaustive: bool) {
        let mut names: Vec<(usize, &'a str)> =
            outcomes.iter().flat_map(|outcome| outcome.keys().copied()).collect();
        names.sort_unstable();
        names.dedup();
        for key in names {
            let mut merged = Values::default();
            let mut before = None;
            for outcome in outcomes {
                if let Some((was, is)) = outcome.get(&key) {
                    before = Some(*was);
                    merged.join(&is.now);
                }
            }
            let is_missing = outcomes.iter().any(|outcome| !outcome.contains_key(&key));
            if let Some(before) = before.filter(|before| before.is_assigned && (is_missing || !is_exhaustive)) {
                merged = before.now.joined(&merged);
            }
            if let Some(binding) = self.binding(key.0, key.1) {
                let before = *binding;
                binding.now = merged;
                binding.is_assigned = true;
                self.log.push(Overwritten { scope: key.0, name: key.1, before });
            }
        }
    }

    /// At the head of a loop its own assignments may have happened.
    pub fn enter_loop(&mut self, scope: usize, start: u32) {
        let names = self.scopes.loops.remove(&start).unwrap_or_default();
        for name in &names {
            if let Some(binding) = self.binding(scope, name)
                && binding.is_assigned
            {
                let before = *binding;
                binding.now.join(&before.ever);
                self.log.push(Overwritten { scope, name, before });
            }
        }
        self.scopes.loops.insert(start, names);
    }

    // Containers.

    pub fn container(&mut self, made: Made) -> u32 {
        *self.made.entry(made).or_insert_with(|| {
            self.containers.push(Container::default());
            self.containers.len() as u32 - 1
        })
    }

    /// A container that a built-in function makes, with elements.
    pub fn made_with(&mut self, at: u32, which: u8, elements: &Values) -> Value {
        let container = self.container(Made::By(at, which));
        self.put(container, elements);
        Value::Container(container)
    }

    /// A tuple that a built-in function makes.
    pub fn made_of(&mut self, at: u32, which: u8, slots: &[Values]) -> Value {
        let container = self.container(Made::By(at, which));
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
    fn content(&self, container: u32) -> Values {
        self.containers.get(container as usize).map_or_else(Values::default, |container| {
            container.slots.iter().fold(container.any, |all, slot| all.joined(slot))
        })
    }

    /// What an object of a library gives, given its path.
    pub fn object(&mut self, path: PathId) -> Value {
        Value::Path { path, is_object: true }
    }

    fn element_of(&mut self, path: PathId) -> Value {
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

    fn elements_of_instance(&mut self, class: u32) -> Values {
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
    fn returned(&mut self, functions: &Values) -> Values {
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
                Value::Path { path, is_object: true } if self.paths.name(path).ends_with("Tensor") => {
                    found.add(value);
                }
                value => {
                    found.join(&self.elements(&value.into()));
                }
            }
        }
        found
    }

    // Classes.

    /// A class and those of the program that it derives from, the nearest first.
    fn ancestry(&self, class: u32) -> Vec<u32> {
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

    fn bases(&self, class: u32) -> &[Values] {
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
    fn own_member(&self, class: u32, member: &str) -> Option<Values> {
        self.member_among(&self.ancestry(class), member)
    }

    /// Whether the program's own classes define a member.
    pub fn defines(&self, class: u32, member: &str) -> bool {
        self.own_member(class, member).is_some()
    }

    fn member_among(&self, classes: &[u32], member: &str) -> Option<Values> {
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

    fn facts_mut(&mut self, function: u32) -> Option<&mut FunctionFacts<'a>> {
        self.scopes.functions.get_mut(function as usize)?.as_mut()
    }

    // Attributes.

    /// `values.member`.
    pub fn attribute(&mut self, values: &Values, member: &'a str) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Path { .. } if knowledge::is_plain_attribute(member) => {}
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
                Value::Function(_) | Value::Method(_) | Value::Container(_) => {}
            }
        }
        found
    }

    fn class_member(&mut self, classes: &[u32], class: u32, member: &'a str, is_instance: bool) -> Values {
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
            if let Value::Instance(class) | Value::Class(class) = value
                && let Some(Some(facts)) = self.scopes.classes.get_mut(class as usize)
                && (facts.attributes.entry(member).or_default().join(to))
            {
                self.is_new = true;
            }
        }
    }

    // Functions.

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

    /// Notes what a function is given by whoever calls it, if nobody here does.
    pub fn hand(&mut self, function: u32, handed: &'static str) {
        if let Some(facts) = self.facts_mut(function) {
            facts.handed.get_or_insert(handed);
        }
    }

    /// Why code in a scope is traced, if it is.
    pub fn traced(&self, scope: usize) -> Option<&str> {
        let mut at = scope;
        while at != MODULE {
            let here = self.scopes.all.get(at)?;
            if here.kind == ScopeKind::Function
                && let Some(reason) = self.facts(at as u32 - 1).and_then(|facts| facts.traced.as_deref())
            {
                return Some(reason);
            }
            at = here.parent;
        }
        None
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

    fn pass_extra(&mut self, function: u32, to: Option<&'a Parameter>, key: Option<&'a str>, values: &Values) {
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

    /// What parameters get that nothing in the program tells of, once everything else is known.
    pub fn hand_parameters(&mut self) {
        for function in 0..self.scopes.functions.len() as u32 {
            let Some(facts) = self.facts(function) else { continue };
            let node = facts.node;
            let by_class = facts.class.and_then(|class| {
                let base = self.library_base(class as u32)?;
                knowledge::handed_parameter(self.paths.name(base), &node.name)
            });
            let Some(handed) = facts.handed.or(by_class) else { continue };
            let path = self.paths.id(handed);
            let value = self.object(path).into();
            let scope = self.scopes.of_function(function as usize);
            for parameter in &node.parameters {
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
