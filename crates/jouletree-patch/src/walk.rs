//! Walks a program, as often as there is something to learn, and at last notes its calls of libraries.

use crate::knowledge;
use crate::resolve::{Access, Knowledge, Made, Passed, STAR};
use crate::scopes::{MODULE, ScopeKind, each_part};
use crate::syntax::with_stack;
use crate::tree::*;
use crate::values::{PathId, Value, Values};

/// How often a program is walked at most. Each walk follows a value at least one function further.
const MOST_WALKS: usize = 20;

/// Of what is one of several, so many are named.
const MOST_NAMES: usize = 3;

/// A call of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub span: Span,
    /// Where its callee begins and where its arguments open.
    pub callee: u32,
    pub open: u32,
    pub name: String,
    /// Why it is left as it is.
    pub reason: Option<String>,
}

/// Finds the calls of libraries, in the order of the text; of a chain the first call comes first.
pub(crate) fn find(module: &Module, libraries: &[String]) -> Vec<Found> {
    let mut walk = Walk {
        known: Knowledge::new(module, libraries),
        scope: MODULE,
        function: None,
        class: None,
        left: None,
        found: None,
        imports_library: false,
    };
    walk.learn(module);
    walk.known.hand_parameters();
    walk.learn(module);
    walk.found = Some(Vec::new());
    walk.all(module);
    let mut found = walk.found.unwrap_or_default();
    found.sort_by_key(|site| (site.span.start, site.span.end));
    found
}

struct Walk<'a> {
    known: Knowledge<'a>,
    scope: usize,
    /// The function whose body is walked.
    function: Option<u32>,
    /// The class of which the walked function is a method, for `super()`.
    class: Option<u32>,
    /// Why nothing here is instrumented.
    left: Option<&'static str>,
    /// Calls, once everything is known.
    found: Option<Vec<Found>>,
    imports_library: bool,
}

impl<'a> Walk<'a> {
    fn learn(&mut self, module: &'a Module) {
        for _ in 0..MOST_WALKS {
            self.known.is_new = false;
            self.all(module);
            if !self.known.is_new {
                break;
            }
        }
    }

    fn all(&mut self, module: &'a Module) {
        self.known.begin(MODULE);
        self.body(&module.body);
        for index in 0..self.known.scopes.functions.len() {
            self.function_body(index as u32);
        }
    }

    /// Walks the body of a function. Those of lambdas are walked where they stand.
    fn function_body(&mut self, index: u32) {
        let Some(facts) = self.known.facts(index) else { return };
        let (node, class, parent) = (facts.node, facts.class, facts.parent);
        let FunctionBody::Statements(body) = &node.body else { return };
        let scope = self.known.scopes.of_function(index as usize);
        self.known.begin(scope);
        let class = class.map(|class| class as u32).or_else(|| self.class_around(parent));
        self.bind_self(index, node, scope);
        let before = (self.scope, self.function, self.class);
        (self.scope, self.function, self.class) = (scope, Some(index), class);
        self.body(body);
        (self.scope, self.function, self.class) = before;
    }

    /// The class of the method around a nested function, whose `super()` it may use.
    fn class_around(&self, mut scope: usize) -> Option<u32> {
        while scope != MODULE {
            let here = self.known.scopes.all.get(scope)?;
            if let Some(class) = self.known.scopes.class_of(scope) {
                return Some(class as u32);
            }
            scope = here.parent;
        }
        None
    }

    fn bind_self(&mut self, index: u32, node: &'a Function, scope: usize) {
        let class = self.known.facts(index).and_then(|facts| facts.class);
        let Some((class, first)) = class.zip(node.parameters.first()) else { return };
        let class = class as u32;
        let value = match self.known.access(index) {
            Access::Static => return,
            Access::OfClass => Value::Class(class),
            Access::Plain if &*node.name == "__new__" => Value::Class(class),
            Access::Plain | Access::Property => Value::Instance(class),
        };
        self.known.learn(scope, &first.name, &value.into());
    }

    // Statements.

    fn body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| with_stack(|| self.statement(statement)));
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) => {
                self.expr(expr);
            }
            StmtKind::Assign { targets, value } => {
                let values = self.expr(value);
                targets.iter().for_each(|target| self.assign(target, &values));
            }
            StmtKind::AugAssign { target, value } => {
                let right = self.expr(value);
                let left = self.expr_quietly(target);
                let values = left.joined(&self.operands(&right));
                self.assign(target, &values);
            }
            StmtKind::AnnAssign { target, annotation, value } => {
                let told = self.annotated(annotation);
                match value {
                    Some(value) => {
                        let values = self.expr(value);
                        let values = if values.is_empty() { told } else { values };
                        self.assign(target, &values);
                    }
                    None if !told.is_empty() => self.declare(target, &told),
                    None => {}
                }
            }
            StmtKind::Return(value) => {
                let values = value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                if let Some(function) = self.function {
                    self.known.returns(function, &values);
                }
            }
            StmtKind::For { target, iter, body, orelse } => {
                let over = self.expr(iter);
                let elements = self.known.elements(&over);
                self.repeated(statement.span.start, |walk| {
                    walk.assign(target, &elements);
                    walk.body(body);
                });
                self.body(orelse);
            }
            StmtKind::While { test, body, orelse } => {
                self.repeated(statement.span.start, |walk| {
                    walk.expr(test);
                    walk.body(body);
                });
                self.body(orelse);
            }
            StmtKind::If(arms) => {
                let is_exhaustive = arms.last().is_some_and(|(test, _)| test.is_none());
                // Every test is evaluated before the arms: what they assign by a walrus is there afterwards.
                arms.iter().filter_map(|(test, _)| test.as_ref()).for_each(|test| {
                    self.expr(test);
                });
                self.branches(arms, is_exhaustive, |walk, (_, body)| walk.body(body));
            }
            StmtKind::With { items, body } => {
                for (context, target) in items {
                    let values = self.expr(context);
                    if let Some(target) = target {
                        let entered = self.entered(&values);
                        self.assign(target, &entered);
                    }
                }
                self.body(body);
            }
            StmtKind::Match { subject, cases } => {
                let values = self.expr(subject);
                self.branches(cases, false, |walk, case| {
                    case.names.iter().for_each(|name| walk.known.assign(walk.scope, name, values));
                    case.guard.iter().for_each(|guard| {
                        walk.expr(guard);
                    });
                    walk.body(&case.body);
                });
            }
            StmtKind::Try { body, handlers, orelse, finally } => {
                self.body(body);
                self.body(orelse);
                self.branches(handlers, false, |walk, handler| {
                    handler.kind.iter().for_each(|kind| {
                        walk.expr(kind);
                    });
                    handler.name.iter().for_each(|name| walk.known.assign(walk.scope, name, Values::default()));
                    walk.body(&handler.body);
                });
                self.body(finally);
            }
            StmtKind::Import(names) => names.iter().for_each(|alias| self.import(alias)),
            StmtKind::ImportFrom { module, names, level } => self.import_from(module.as_deref(), names, *level),
            StmtKind::Function(function) => self.define(function),
            StmtKind::Class(class) => self.class(class),
            StmtKind::Bare(parts) => parts.iter().for_each(|part| {
                self.expr(part);
            }),
            StmtKind::Global(_) | StmtKind::Nonlocal(_) | StmtKind::Nothing | StmtKind::Magic => {}
        }
    }

    fn repeated(&mut self, start: u32, work: impl FnOnce(&mut Self)) {
        self.known.enter_loop(self.scope, start);
        let mark = self.known.mark();
        work(self);
        let outcome = self.known.undo(mark);
        self.known.merge(&[outcome], false);
    }

    fn branches<T>(&mut self, arms: &'a [T], is_exhaustive: bool, mut work: impl FnMut(&mut Self, &'a T)) {
        let mut outcomes = Vec::with_capacity(arms.len());
        for arm in arms {
            let mark = self.known.mark();
            work(self, arm);
            outcomes.push(self.known.undo(mark));
        }
        self.known.merge(&outcomes, is_exhaustive);
    }

    fn import(&mut self, alias: &'a Alias) {
        let path = match alias.renamed {
            Some(_) => &*alias.name,
            None => alias.name.split('.').next().unwrap_or(&alias.name),
        };
        self.bind_path(alias.renamed.as_deref().unwrap_or(path), path);
    }

    fn import_from(&mut self, module: Option<&str>, names: &'a [Alias], level: u32) {
        let module = module.unwrap_or_default();
        let dots = ".".repeat(level as usize);
        for alias in names.iter().filter(|alias| &*alias.name != "*") {
            let path = if module.is_empty() {
                format!("{dots}{}", alias.name)
            } else {
                format!("{dots}{module}.{}", alias.name)
            };
            self.bind_path(alias.renamed.as_deref().unwrap_or(&alias.name), &path);
        }
    }

    fn bind_path(&mut self, name: &'a str, path: &str) {
        self.imports_library |= self.known.is_library_name(path);
        let path = self.known.paths.id(path);
        self.known.assign(self.scope, name, Value::Path { path, is_object: false }.into());
    }

    fn define(&mut self, function: &'a Function) {
        let index = function.index as u32;
        let mut given: Values = Value::Function(index).into();
        for decorator in &function.decorators {
            let values = self.left_alone("decorator", |walk| walk.expr(decorator));
            for value in values.iter() {
                if let Value::Path { path, .. } = value
                    && let Some(tracer) = self.trace_function(path, index)
                {
                    // Calling what a tracer has made runs what the library has compiled.
                    given = Values::from(tracer).joined(&given);
                }
            }
        }
        self.parameters(function);
        if let Some(returns) = &function.returns {
            let told = self.annotated(returns);
            if self.known.facts(index).is_some_and(|facts| facts.returns.is_empty() && !facts.is_generator) {
                self.known.returns(index, &told);
            }
        }
        self.known.assign(self.scope, &function.name, given);
    }

    /// Marks a function as traced, if `path` traces; gives what stands for the compiled function.
    fn trace_function(&mut self, path: PathId, function: u32) -> Option<Value> {
        let name = self.known.paths.name(path);
        if !knowledge::is_tracer(name) {
            return None;
        }
        let handed = knowledge::handed_by_tracer(name);
        let reason = format!("traced by {name}");
        self.known.trace(function, &reason, handed);
        Some(Value::Path { path, is_object: true })
    }

    fn parameters(&mut self, function: &'a Function) {
        let scope = self.known.scopes.of_function(function.index);
        for parameter in &function.parameters {
            let mut values = parameter.default.as_ref().map(|default| self.expr(default)).unwrap_or_default();
            if let Some(annotation) = &parameter.annotation {
                let told = self.annotated(annotation);
                match parameter.kind {
                    ParameterKind::Star => {
                        let container = self.known.container(Made::Extra(function.index as u32, false));
                        self.known.put(container, &told);
                        values.add(Value::Container(container));
                    }
                    ParameterKind::DoubleStar => {}
                    _ => {
                        values.join(&told);
                    }
                }
            }
            self.known.learn(scope, &parameter.name, &values);
        }
    }

    fn class(&mut self, class: &'a Class) {
        let mut tracers = Values::default();
        for decorator in &class.decorators {
            tracers.join(&self.left_alone("decorator", |walk| walk.expr(decorator)));
        }
        let mut bases = Vec::new();
        for argument in &class.arguments {
            let values = self.expr(&argument.value);
            if argument.name == ArgumentName::Positional {
                bases.push(values);
            }
        }
        if let Some(Some(facts)) = self.known.scopes.classes.get_mut(class.index) {
            facts.bases = bases;
        }
        let scope = self.known.scopes.of_class(class.index);
        self.known.scopes.all.get_mut(scope).iter_mut().for_each(|scope| {
            scope.names.values_mut().for_each(|binding| binding.is_assigned = false);
        });
        let before = (self.scope, self.class);
        (self.scope, self.class) = (scope, Some(class.index as u32));
        self.body(&class.body);
        (self.scope, self.class) = before;
        self.trace_methods(class.index as u32);
        self.trace_compiled_class(scope, &tracers);
        self.known.assign(self.scope, &class.name, Value::Class(class.index as u32).into());
    }

    fn trace_methods(&mut self, class: u32) {
        let Some(base) = self.known.library_base(class) else { return };
        let base = self.known.paths.name(base).to_owned();
        for method in knowledge::traced_methods(&base) {
            let body = self.known.scopes.all.get(self.known.scopes.of_class(class as usize));
            let values = body.and_then(|body| body.names.get(method)).map(|binding| binding.ever);
            for value in values.unwrap_or_default().iter() {
                if let Value::Function(function) = value {
                    self.known.trace(
                        function,
                        &format!("traced: {base} calls {method}() while it compiles"),
                        None,
                    );
                }
            }
        }
    }

    /// A class under `torch.jit.script` is compiled with all its methods.
    fn trace_compiled_class(&mut self, scope: usize, decorators: &Values) {
        let methods: Vec<Values> = match self.known.scopes.all.get(scope) {
            Some(body) => body.names.values().map(|binding| binding.ever).collect(),
            None => return,
        };
        for decorator in decorators.iter() {
            let Value::Path { path, .. } = decorator else { continue };
            for value in methods.iter().flat_map(Values::iter) {
                if let Value::Function(function) = value {
                    self.trace_function(path, function);
                }
            }
        }
    }

    // Targets.

    fn assign(&mut self, target: &'a Expr, values: &Values) {
        match &target.kind {
            ExprKind::Name(name) => {
                self.known.assign(self.scope, name, *values);
            }
            ExprKind::Tuple(_, parts) | ExprKind::List(_, parts) => {
                for (place, part) in parts.iter().enumerate() {
                    let slot = match part.kind {
                        ExprKind::Starred(_) => self.known.elements(values),
                        _ => self.known.slot(values, place),
                    };
                    with_stack(|| self.assign(part, &slot));
                }
            }
            ExprKind::Starred(inner) => {
                let container = self.known.made_with(target.span.start, 0, values);
                self.assign(inner, &container.into());
            }
            ExprKind::Attribute(receiver, member) => {
                let receiver = self.expr(receiver);
                self.known.set_attribute(&receiver, member, values);
            }
            ExprKind::Subscript(receiver, key) => {
                let receiver = self.expr(receiver);
                self.expr(key);
                for value in receiver.iter() {
                    if let Value::Container(container) = value {
                        match &key.kind {
                            ExprKind::Text(text) => self.known.put_key(container, text, values),
                            _ => self.known.put(container, values),
                        }
                    }
                }
            }
            _ => {
                self.expr(target);
            }
        }
    }

    /// A declaration without a value: `model: tf.keras.Model`.
    fn declare(&mut self, target: &'a Expr, values: &Values) {
        match &target.kind {
            ExprKind::Name(name) => {
                self.known.learn(self.scope, name, values);
            }
            ExprKind::Attribute(..) => self.assign(target, values),
            _ => {}
        }
    }

    /// Where a walrus assigns.
    fn scope_outside_comprehensions(&self) -> usize {
        let mut at = self.scope;
        while let Some(scope) = self.known.scopes.all.get(at)
            && scope.kind == ScopeKind::Comprehension
        {
            at = scope.parent;
        }
        at
    }

    /// What `with … as` binds.
    fn entered(&mut self, values: &Values) -> Values {
        let mut found = Values::default();
        for value in values.iter() {
            match value {
                Value::Container(_) => {
                    found.join(&self.known.elements(&value.into()));
                }
                Value::Instance(_) => {
                    let method = self.known.attribute(&value.into(), "__enter__");
                    let own = method.iter().any(|value| matches!(value, Value::Method(_)));
                    let given = if own { self.apply(&method, &[], 0) } else { value.into() };
                    found.join(&given);
                }
                value => {
                    found.add(value);
                }
            }
        }
        found
    }

    // Annotations.

    /// What an annotation says a value is.
    fn annotated(&mut self, annotation: &'a Expr) -> Values {
        self.left_alone("annotation", |walk| walk.annotation(annotation))
    }

    fn annotation(&mut self, annotation: &'a Expr) -> Values {
        with_stack(|| match &annotation.kind {
            ExprKind::Text(text) => self.annotation_text(text),
            ExprKind::Binary(left, "|", right) => self.annotation(left).joined(&self.annotation(right)),
            ExprKind::Tuple(_, parts) => {
                parts.iter().fold(Values::default(), |all, part| all.joined(&self.annotation(part)))
            }
            ExprKind::Subscript(of, inner) => {
                let name = match &of.kind {
                    ExprKind::Name(name) | ExprKind::Attribute(_, name) => &**name,
                    _ => "",
                };
                let inside = self.annotation(inner);
                match name {
                    "Optional" | "Union" | "Annotated" | "Final" | "ClassVar" | "Awaitable" | "Coroutine" => {
                        inside
                    }
                    "type" | "Type" | "Callable" | "Literal" => Values::default(),
                    "list" | "List" | "Sequence" | "Iterable" | "Iterator" | "Generator" | "AsyncIterator"
                    | "set" | "Set" | "tuple" | "Tuple" | "deque" | "AsyncGenerator" | "Collection" => {
                        self.known.made_with(annotation.span.start, 9, &inside).into()
                    }
                    "dict" | "Dict" | "Mapping" => {
                        let made = self.known.made_with(annotation.span.start, 9, &inside);
                        if let Value::Container(container) = made
                            && let Some(container) = self.known.containers.get_mut(container as usize)
                        {
                            container.is_dictionary = true;
                        }
                        made.into()
                    }
                    _ => self.annotation(of),
                }
            }
            _ => {
                let values = self.expr(annotation);
                instances(&values)
            }
        })
    }

    /// A dotted name in quotes.
    fn annotation_text(&mut self, text: &'a str) -> Values {
        let mut parts = text.split('.');
        let Some(first) = parts.next() else { return Values::default() };
        let mut values = self.known.read(self.scope, first).unwrap_or_default();
        for part in parts {
            values = self.known.attribute(&values, part);
        }
        instances(&values)
    }

    // Expressions.

    /// Walks something that is not instrumented.
    fn left_alone<T>(&mut self, reason: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.left;
        self.left = before.or(Some(reason));
        let result = work(self);
        self.left = before;
        result
    }

    /// What an expression stands for, without noting the calls in it: it is noted elsewhere.
    fn expr_quietly(&mut self, expr: &'a Expr) -> Values {
        let found = self.found.take();
        let values = self.expr(expr);
        self.found = found;
        values
    }

    fn expr(&mut self, expr: &'a Expr) -> Values {
        with_stack(|| self.expr_inner(expr))
    }

    fn expr_inner(&mut self, expr: &'a Expr) -> Values {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Attribute(receiver, member) => {
                let values = self.expr(receiver);
                self.known.attribute(&values, member)
            }
            ExprKind::Call(call) => self.call(expr, call),
            ExprKind::Subscript(value, key) => {
                let values = self.expr(value);
                self.expr(key);
                let text = if let ExprKind::Text(text) = &key.kind { Some(&**text) } else { None };
                self.known.item(&values, key, text)
            }
            ExprKind::Starred(value) | ExprKind::Await(value) => self.expr(value),
            ExprKind::Yield(value) => {
                let values = value.as_ref().map(|value| self.expr(value)).unwrap_or_default();
                self.yields(&values);
                Values::default()
            }
            ExprKind::YieldFrom(value) => {
                let values = self.expr(value);
                let elements = self.known.elements(&values);
                self.yields(&elements);
                Values::default()
            }
            ExprKind::Named(target, value) => {
                let values = self.expr(value);
                if let ExprKind::Name(name) = &target.kind {
                    self.known.assign(self.scope_outside_comprehensions(), name, values);
                }
                values
            }
            ExprKind::Lambda(function) => self.lambda(function),
            ExprKind::If(parts) => {
                let [test, yes, no] = &**parts;
                self.expr(test);
                self.expr(yes).joined(&self.expr(no))
            }
            ExprKind::Binary(left, _, right) => {
                let both = self.expr(left).joined(&self.expr(right));
                self.operands(&both)
            }
            ExprKind::Unary(operator, value) => {
                let values = self.expr(value);
                if *operator == "not" { Values::default() } else { self.operands(&values) }
            }
            ExprKind::Bool(_, parts) => {
                parts.iter().fold(Values::default(), |all, part| all.joined(&self.expr(part)))
            }
            ExprKind::Compare(left, rest) => {
                let mut values = self.expr(left);
                let mut gives_tensors = true;
                for (operator, right) in rest {
                    values = values.joined(&self.expr(right));
                    gives_tensors &= !matches!(*operator, "is" | "is not" | "in" | "not in");
                }
                if gives_tensors { self.operands(&values) } else { Values::default() }
            }
            ExprKind::Tuple(display, parts) => {
                if parts.iter().any(|part| matches!(part.kind, ExprKind::Starred(_))) {
                    return self.display(*display, parts);
                }
                let slots: Vec<Values> = parts.iter().map(|part| self.expr(part)).collect();
                self.known.put_slots(*display as u32, &slots);
                Value::Container(*display as u32).into()
            }
            ExprKind::List(display, parts) | ExprKind::Set(display, parts) => self.display(*display, parts),
            ExprKind::Dict(display, items) => self.dictionary(*display as u32, items),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Interpolated(text) => {
                text.parts.iter().for_each(|part| self.interpolation(part, text.is_template));
                Values::default()
            }
            ExprKind::Slice(_)
            | ExprKind::Text(_)
            | ExprKind::Bytes
            | ExprKind::Number(_)
            | ExprKind::Constant(_)
            | ExprKind::Opaque => {
                each_part(expr, &mut |part| {
                    self.expr(part);
                });
                Values::default()
            }
        }
    }

    fn name(&mut self, name: &'a str) -> Values {
        if let Some(values) = self.known.read(self.scope, name) {
            return values;
        }
        let library = |star: &&&str| self.known.is_library_name(star);
        match self.known.scopes.stars.iter().find(library) {
            Some(star) if !knowledge::is_builtin(name) => {
                let path = format!("{star}{STAR}{name}");
                Value::Computed(self.known.paths.id(&path)).into()
            }
            _ => Values::default(),
        }
    }

    fn yields(&mut self, values: &Values) {
        if let Some(function) = self.function {
            let container = self.known.container(Made::Yields(function));
            self.known.put(container, values);
        }
    }

    /// A list, a set, or a tuple with a star.
    fn display(&mut self, display: usize, parts: &'a [Expr]) -> Values {
        for part in parts {
            let values = self.expr(part);
            let values = match part.kind {
                ExprKind::Starred(_) => self.known.elements(&values),
                _ => values,
            };
            self.known.put(display as u32, &values);
        }
        Value::Container(display as u32).into()
    }

    fn dictionary(&mut self, display: u32, items: &'a [(Option<Expr>, Expr)]) -> Values {
        if let Some(container) = self.known.containers.get_mut(display as usize) {
            container.is_dictionary = true;
        }
        for (key, value) in items {
            key.iter().for_each(|key| {
                self.expr(key);
            });
            let values = self.expr(value);
            match key.as_ref().map(|key| &key.kind) {
                Some(ExprKind::Text(text)) => self.known.put_key(display, text, &values),
                Some(_) => self.known.put(display, &values),
                None => {}
            }
        }
        Value::Container(display).into()
    }

    fn lambda(&mut self, function: &'a Function) -> Values {
        self.parameters(function);
        if let FunctionBody::Expression(body) = &function.body {
            let before = (self.scope, self.function);
            self.scope = self.known.scopes.of_function(function.index);
            self.function = Some(function.index as u32);
            let values = self.expr(body);
            (self.scope, self.function) = before;
            self.known.returns(function.index as u32, &values);
        }
        Value::Function(function.index as u32).into()
    }

    fn comprehension(&mut self, comprehension: &'a Comprehension) -> Values {
        let outer = self.scope;
        let scope = self.known.scopes.of_comprehension(comprehension.index);
        for (number, clause) in comprehension.clauses.iter().enumerate() {
            self.scope = if number == 0 { outer } else { scope };
            let over = self.expr(&clause.iter);
            let elements = self.known.elements(&over);
            self.scope = scope;
            self.assign(&clause.target, &elements);
            clause.conditions.iter().for_each(|condition| {
                self.expr(condition);
            });
        }
        let values: Vec<Values> = comprehension.elements.iter().map(|element| self.expr(element)).collect();
        self.scope = outer;
        let display = comprehension.display as u32;
        if let Some(container) = self.known.containers.get_mut(comprehension.display) {
            container.is_dictionary = comprehension.kind == ComprehensionKind::Dict;
        }
        if let Some(last) = values.last() {
            self.known.put(display, last);
        }
        Value::Container(display).into()
    }

    fn interpolation(&mut self, part: &'a Interpolation, is_template: bool) {
        if part.text_is_seen {
            let reason =
                if is_template { "a t-string shows its own text" } else { "f\"{…=}\" shows its own text" };
            self.left_alone(reason, |walk| walk.expr(&part.value));
        } else {
            self.expr(&part.value);
        }
        part.format.iter().for_each(|inner| self.interpolation(inner, is_template));
    }

    /// What arithmetic with values gives: with something of a library, something of the library.
    fn operands(&mut self, values: &Values) -> Values {
        let object = |value: Value| match value {
            Value::Path { path, .. } => Some(Value::Path { path, is_object: true }),
            Value::Container(_) => Some(value),
            _ => None,
        };
        values.iter().filter_map(object).collect()
    }

    // Calls.

    fn call(&mut self, expr: &'a Expr, call: &'a Call) -> Values {
        let (receiver, callee) = match &call.callee.kind {
            ExprKind::Attribute(receiver, member) => {
                let receiver = self.expr(receiver);
                (receiver, self.known.attribute(&receiver, member))
            }
            _ => (Values::default(), self.expr(&call.callee)),
        };
        let passed: Vec<Passed<'a>> =
            call.arguments.iter().map(|argument| (&argument.name, self.expr(&argument.value))).collect();
        self.note(expr, call, &callee);
        if let ExprKind::Name(name) = &call.callee.kind
            && self.known.scopes.find(self.scope, name).is_none()
            && knowledge::is_builtin(name)
        {
            return self.builtin(name, call, &passed);
        }
        if let Some(module) = self.imported_by_name(&callee, call) {
            return module.into();
        }
        let mut result = self.apply(&callee, &passed, call.open);
        if let ExprKind::Attribute(_, member) = &call.callee.kind {
            result.join(&self.container_method(&receiver, member, call, &passed));
        }
        result
    }

    /// `importlib.import_module("torch")`.
    fn imported_by_name(&mut self, callee: &Values, call: &'a Call) -> Option<Value> {
        let [Value::Path { path, .. }] = callee.as_slice() else { return None };
        let ExprKind::Text(module) = &call.arguments.first()?.value.kind else { return None };
        if self.known.paths.name(*path) != "importlib.import_module" {
            return None;
        }
        let path = self.known.paths.id(module);
        Some(Value::Path { path, is_object: false })
    }

    /// What calling values gives; arguments flow into the program's own functions.
    fn apply(&mut self, callee: &Values, passed: &[Passed<'a>], at: u32) -> Values {
        let mut result = Values::default();
        for value in callee.iter() {
            let given = match value {
                Value::Path { path, is_object } => self.apply_path(path, is_object, passed, at),
                Value::Class(class) => self.construct(class, passed),
                Value::Instance(class) => self.apply_instance(class, passed),
                Value::Function(function) => self.apply_function(function, passed, 0),
                Value::Method(function) => self.apply_function(function, passed, 1),
                Value::Computed(_) => value.into(),
                Value::Container(_) | Value::Super(_) => Values::default(),
            };
            result.join(&given);
        }
        result
    }

    fn apply_function(&mut self, function: u32, passed: &[Passed<'a>], skip: usize) -> Values {
        self.known.pass(function, passed, skip);
        if self.known.traced(self.scope).is_some() {
            self.known.trace(function, "traced: called from traced code", None);
        }
        self.known.result_of(function)
    }

    fn apply_instance(&mut self, class: u32, passed: &[Passed<'a>]) -> Values {
        let instance: Values = Value::Instance(class).into();
        let own = self.known.attribute(&instance, "__call__");
        if own.iter().any(|value| matches!(value, Value::Method(_))) {
            return self.apply(&own, passed, 0);
        }
        let Some(base) = self.known.library_base(class) else { return Values::default() };
        let base_name = self.known.paths.name(base).to_owned();
        let mut result = Values::default();
        if let Some(method) = knowledge::called_method(&base_name) {
            let method = self.known.attribute(&instance, method);
            for value in method.iter() {
                if let Value::Method(function) = value {
                    result.join(&self.apply_function(function, passed, 1));
                }
            }
        }
        if result.is_empty() {
            let called = self.known.paths.member(base, "__call__");
            result = self.object_of(called).into();
        }
        result
    }

    fn construct(&mut self, class: u32, passed: &[Passed<'a>]) -> Values {
        let instance: Values = Value::Instance(class).into();
        let initialiser = self.known.attribute(&instance, "__init__");
        let mut is_own = false;
        for value in initialiser.iter() {
            if let Value::Method(function) = value {
                self.known.pass(function, passed, 1);
                is_own = true;
            }
        }
        if !is_own {
            self.construct_fields(class, passed);
        }
        instance
    }

    /// A dataclass, or something like it, keeps what it is given.
    fn construct_fields(&mut self, class: u32, passed: &[Passed<'a>]) {
        let Some(Some(facts)) = self.known.scopes.classes.get(class as usize) else { return };
        let fields = facts.fields.clone();
        let mut places = fields.iter();
        let instance: Values = Value::Instance(class).into();
        for (name, values) in passed {
            let field = match name {
                ArgumentName::Positional => places.next().copied(),
                ArgumentName::Keyword(name) => Some(&**name),
                ArgumentName::Star | ArgumentName::DoubleStar => None,
            };
            if let Some(field) = field {
                self.known.set_attribute(&instance, field, values);
            }
        }
    }

    /// The object that a call of a path gives.
    fn object_of(&mut self, path: PathId) -> Value {
        let name = knowledge::result(self.known.paths.name(path));
        let path = self.known.paths.id(&name);
        self.known.object(path)
    }

    fn apply_path(&mut self, path: PathId, is_object: bool, passed: &[Passed<'a>], at: u32) -> Values {
        let name = self.known.paths.name(path).to_owned();
        if knowledge::hands_on(&name) {
            return passed.iter().take(1).fold(Values::default(), |all, (_, values)| all.joined(values));
        }
        match name.as_str() {
            "asyncio.gather" | "itertools.chain" => {
                let mut all = Values::default();
                for (argument, values) in passed {
                    let is_star = **argument == ArgumentName::Star;
                    all.join(&if is_star { self.known.elements(values) } else { *values });
                }
                let all = if name == "itertools.chain" { self.known.elements(&all) } else { all };
                return self.known.made_with(at, 1, &all).into();
            }
            "typing.cast" => return passed.get(1).map(|(_, values)| *values).unwrap_or_default(),
            _ => {}
        }
        if self.known.traced(self.scope).is_some() {
            self.trace_passed(passed);
        }
        if let Some(handed) = knowledge::handed_to_functions(&name) {
            for value in passed.iter().flat_map(|(_, values)| values.iter().collect::<Vec<_>>()) {
                if let Value::Function(function) | Value::Method(function) = value {
                    self.known.hand(function, handed);
                }
            }
        }
        let is_tracer = knowledge::is_tracer(&name) && !is_object;
        if is_tracer || knowledge::is_dataset_callback(&name) {
            return self.apply_tracer(path, &name, is_tracer, passed);
        }
        if is_object {
            let called = self.known.paths.member(path, "__call__");
            return self.object_of(called).into();
        }
        if knowledge::is_plain_result(&name) {
            return Values::default();
        }
        self.object_of(path).into()
    }

    /// What traced code hands to a library is traced as well: `strategy.run(step)`.
    fn trace_passed(&mut self, passed: &[Passed<'a>]) {
        for value in passed.iter().flat_map(|(_, values)| values.iter().collect::<Vec<_>>()) {
            if let Value::Function(function) | Value::Method(function) = value {
                self.known.trace(function, "traced: called from traced code", None);
            }
        }
    }

    /// A call of something that traces the functions among its arguments.
    fn apply_tracer(&mut self, path: PathId, name: &str, is_tracer: bool, passed: &[Passed<'a>]) -> Values {
        let reason = format!("traced by {name}");
        let handed = knowledge::handed_by_tracer(name);
        let mut compiled = Values::default();
        for value in passed.iter().flat_map(|(_, values)| values.iter().collect::<Vec<_>>()) {
            match value {
                Value::Function(function) | Value::Method(function) => {
                    self.known.trace(function, &reason, handed);
                    compiled.add(value);
                }
                Value::Instance(class) if is_tracer => {
                    self.trace_call(class, &reason, handed);
                    compiled.add(value);
                }
                _ => {}
            }
        }
        if !is_tracer {
            return if knowledge::is_plain_result(name) { Values::default() } else { self.object_of(path).into() };
        }
        // A compiled model is still that model; a compiled function is the library's.
        let is_model = |value: &Value| matches!(value, Value::Instance(_));
        if compiled.as_slice().iter().any(is_model) {
            return compiled.iter().filter(is_model).collect();
        }
        Values::from(Value::Path { path, is_object: true }).joined(&compiled)
    }

    /// Marks what runs when an instance is called.
    fn trace_call(&mut self, class: u32, reason: &str, handed: Option<&'static str>) {
        let instance: Values = Value::Instance(class).into();
        for method in ["forward", "call", "__call__"] {
            let found = self.known.attribute(&instance, method);
            for value in found.iter() {
                if let Value::Method(function) = value {
                    self.known.trace(function, reason, handed);
                }
            }
        }
    }

    /// Python's own containers.
    fn container_method(
        &mut self,
        receiver: &Values,
        method: &str,
        call: &'a Call,
        passed: &[Passed<'a>],
    ) -> Values {
        let mut found = Values::default();
        for value in receiver.iter() {
            let Value::Container(container) = value else { continue };
            match method {
                "append" | "add" | "appendleft" | "put" => {
                    passed.iter().for_each(|(_, values)| self.known.put(container, values));
                }
                "insert" | "setdefault" => {
                    passed.iter().skip(1).for_each(|(_, values)| self.known.put(container, values));
                }
                "extend" | "extendleft" => {
                    for (_, values) in passed {
                        let elements = self.known.elements(values);
                        self.known.put(container, &elements);
                    }
                }
                "values" | "items" => {
                    let content = self.known.containers.get(container as usize).map(|inside| inside.any);
                    let content = content.unwrap_or_default();
                    let inner = match method {
                        "values" => content,
                        _ => self.known.made_of(call.open, 2, &[Values::default(), content]).into(),
                    };
                    found.add(self.known.made_with(call.open, 1, &inner));
                }
                "copy" => {
                    found.add(value);
                }
                _ => {}
            }
            if matches!(method, "get" | "pop" | "popleft" | "setdefault" | "__getitem__") {
                let key = call.arguments.first().map(|argument| &argument.value);
                let text =
                    key.and_then(|key| if let ExprKind::Text(text) = &key.kind { Some(&**text) } else { None });
                let key = key.unwrap_or(&call.callee);
                found.join(&self.known.item(&value.into(), key, text));
            }
        }
        found
    }

    fn builtin(&mut self, name: &str, call: &'a Call, passed: &[Passed<'a>]) -> Values {
        let first = passed.first().map(|(_, values)| *values).unwrap_or_default();
        let at = call.open;
        match name {
            "super" => self.class.map(|class| Value::Super(class).into()).unwrap_or_default(),
            "getattr" => self.getattr(&first, call, passed),
            "iter" | "aiter" if first.iter().any(|value| matches!(value, Value::Path { .. })) => {
                let mut found = Values::default();
                for value in first.iter() {
                    if let Value::Path { path, .. } = value {
                        let path = self.known.paths.member(path, "__iter__");
                        found.add(self.known.object(path));
                    }
                }
                found
            }
            "iter" | "aiter" | "list" | "tuple" | "set" | "frozenset" | "sorted" | "reversed" => {
                let elements = self.known.elements(&first);
                self.apply_key(passed, &elements);
                self.known.made_with(at, 1, &elements).into()
            }
            "next" | "anext" => self.known.elements(&first),
            "enumerate" => {
                let elements = self.known.elements(&first);
                let pair = self.known.made_of(at, 2, &[Values::default(), elements]);
                self.known.made_with(at, 1, &pair.into()).into()
            }
            "zip" => {
                let slots: Vec<Values> = passed.iter().map(|(_, values)| self.known.elements(values)).collect();
                let row = self.known.made_of(at, 2, &slots);
                self.known.made_with(at, 1, &row.into()).into()
            }
            "map" | "filter" => {
                let elements: Vec<Values> =
                    passed.iter().skip(1).map(|(_, values)| self.known.elements(values)).collect();
                let inner: Vec<Passed<'a>> =
                    elements.iter().map(|values| (&ArgumentName::Positional, *values)).collect();
                let given = self.apply(&first, &inner, at);
                let content = if name == "map" { given } else { elements.first().copied().unwrap_or_default() };
                self.known.made_with(at, 1, &content).into()
            }
            "dict" => {
                let container = self.known.container(Made::By(at, 1));
                if let Some(container) = self.known.containers.get_mut(container as usize) {
                    container.is_dictionary = true;
                }
                for (name, values) in passed {
                    if let ArgumentName::Keyword(name) = name {
                        self.known.put_key(container, name, values);
                    }
                }
                Value::Container(container).into()
            }
            "sum" => self.known.elements(&first),
            "min" | "max" if passed.len() > 1 => {
                passed.iter().fold(Values::default(), |all, (_, values)| all.joined(values))
            }
            "min" | "max" => {
                let elements = self.known.elements(&first);
                self.apply_key(passed, &elements);
                elements
            }
            "abs" | "round" | "pow" => self.operands(&first),
            "type" => {
                let class =
                    |value| if let Value::Instance(class) = value { Some(Value::Class(class)) } else { None };
                first.iter().filter_map(class).collect()
            }
            _ => Values::default(),
        }
    }

    /// The function by which things are compared gets each of them.
    fn apply_key(&mut self, passed: &[Passed<'a>], elements: &Values) {
        for (name, values) in passed {
            if matches!(name, ArgumentName::Keyword(name) if &**name == "key") {
                self.apply(values, &[(&ArgumentName::Positional, *elements)], 0);
            }
        }
    }

    fn getattr(&mut self, of: &Values, call: &'a Call, passed: &[Passed<'a>]) -> Values {
        let otherwise = passed.get(2).map(|(_, values)| *values).unwrap_or_default();
        match call.arguments.get(1).map(|argument| &argument.value.kind) {
            Some(ExprKind::Text(member)) => self.known.attribute(of, member).joined(&otherwise),
            _ => {
                let mut found = otherwise;
                for value in of.iter() {
                    let path = match value {
                        Value::Path { path, .. } => Some(path),
                        Value::Instance(class) => self.known.library_base(class),
                        _ => None,
                    };
                    if let Some(path) = path {
                        let path = self.known.paths.member(path, "?");
                        found.add(Value::Computed(path));
                    }
                }
                found
            }
        }
    }

    // Notes.

    /// Notes a call if it is one of a library.
    fn note(&mut self, expr: &'a Expr, call: &'a Call, callee: &Values) {
        if self.found.is_none() {
            return;
        }
        let Some((name, reason)) = self.judge(call, callee) else { return };
        let reason = reason
            .or_else(|| self.left.map(str::to_owned))
            .or_else(|| self.known.traced(self.scope).map(str::to_owned));
        let callee = expr.span.start;
        let found = Found { span: expr.span, callee, open: call.open, name, reason };
        self.found.iter_mut().for_each(|all| all.push(found.clone()));
    }

    /// The name of what is called, and why the call cannot be instrumented; `None` if it is no call of a library.
    fn judge(&self, call: &'a Call, callee: &Values) -> Option<(String, Option<String>)> {
        let mut names: Vec<String> = Vec::new();
        for value in callee.iter() {
            if let Some(name) = self.library_name(value)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        if !names.is_empty() {
            if names.len() > MOST_NAMES {
                names.truncate(MOST_NAMES);
                names.push("…".to_owned());
            }
            return Some((names.join("|"), None));
        }
        for value in callee.iter() {
            if let Value::Computed(path) = value
                && self.known.is_library(path)
            {
                let name = self.known.paths.name(path);
                let reason = if name.contains(STAR) {
                    "the name may come from `import *`"
                } else {
                    "getattr with a name that only the running program knows"
                };
                return Some((name.replace(STAR, "."), Some(reason.to_owned())));
            }
        }
        self.judge_unknown(call, callee)
    }

    /// A method of something that is passed in from elsewhere, and that frameworks have.
    fn judge_unknown(&self, call: &'a Call, callee: &Values) -> Option<(String, Option<String>)> {
        let ExprKind::Attribute(receiver, method) = &call.callee.kind else { return None };
        if !callee.is_empty() || !self.imports_library || !knowledge::is_telling(method) {
            return None;
        }
        let ExprKind::Name(name) = &receiver.kind else { return None };
        self.known
            .is_unknown_parameter(self.scope, name)
            .then(|| (format!("?.{method}"), Some(format!("nothing in this file says what `{name}` is"))))
    }

    /// The name of a library's thing as it is called.
    fn library_name(&self, value: Value) -> Option<String> {
        match value {
            Value::Path { path, is_object } if self.known.is_library(path) => {
                let name = self.known.paths.name(path);
                Some(if is_object { format!("{name}.__call__") } else { name.to_owned() })
            }
            Value::Class(class) => {
                let base = self.known.library_base(class).filter(|base| self.known.is_library(*base))?;
                Some(self.known.paths.name(base).to_owned())
            }
            Value::Instance(class) => {
                let base = self.known.library_base(class).filter(|base| self.known.is_library(*base))?;
                (!self.known.defines(class, "__call__"))
                    .then(|| format!("{}.__call__", self.known.paths.name(base)))
            }
            _ => None,
        }
    }
}

/// What annotations with classes say: an object of each.
fn instances(values: &Values) -> Values {
    let instance = |value| match value {
        Value::Path { path, .. } => Some(Value::Path { path, is_object: true }),
        Value::Class(class) => Some(Value::Instance(class)),
        _ => None,
    };
    values.iter().filter_map(instance).collect()
}
