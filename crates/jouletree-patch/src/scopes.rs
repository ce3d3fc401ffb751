//! Who binds which name: the scopes of all files of a program, before anything is known of values.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::syntax::with_stack;
use crate::tree::*;
use crate::values::Values;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Module,
    Function,
    Class,
    Comprehension,
}

/// A name in its scope.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Binding {
    /// What it refers to where the program has come to; meaningless before the first assignment.
    pub now: Values,
    pub is_assigned: bool,
    /// What it ever refers to: what others see, who run at some other time.
    pub ever: Values,
    /// Whether others assign it, too.
    pub is_shared: bool,
    pub is_parameter: bool,
}

#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub kind: ScopeKind,
    pub parent: usize,
    /// The scope of its file.
    pub module: usize,
    pub names: FxHashMap<&'a str, Binding>,
    globals: FxHashSet<&'a str>,
    nonlocals: FxHashSet<&'a str>,
}

/// A function, and what was found out about it.
#[derive(Debug)]
pub(crate) struct FunctionFacts<'a> {
    pub node: &'a Function,
    /// The scope in which it is defined.
    pub parent: usize,
    /// The class whose method it is.
    pub class: Option<usize>,
    pub is_generator: bool,
    pub returns: Values,
    pub traced: Option<String>,
    /// What a tracer hands to its parameters.
    pub handed: Option<&'static str>,
}

/// A class, and what was found out about it.
#[derive(Debug)]
pub(crate) struct ClassFacts<'a> {
    pub bases: Vec<Values>,
    /// What is assigned to attributes of `self`, or of an instance.
    pub attributes: FxHashMap<&'a str, Values>,
    /// Annotated names of the body, which a dataclass takes as arguments.
    pub fields: Vec<&'a str>,
}

/// All scopes of a program.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    pub all: Vec<Scope<'a>>,
    pub functions: Vec<Option<FunctionFacts<'a>>>,
    pub classes: Vec<Option<ClassFacts<'a>>>,
    /// Names that a loop assigns, by its file and where it starts.
    pub loops: FxHashMap<(usize, u32), Vec<&'a str>>,
    /// Of each file, the modules of which everything is imported, and with how many dots.
    pub stars: Vec<Vec<(u32, &'a str)>>,
    function_base: usize,
    class_base: usize,
    comprehension_base: usize,
}

impl<'a> Scopes<'a> {
    /// Finds every binding of a program. The scope of a file has the number of the file.
    pub fn of(modules: &[&'a Module], counts: &Counts) -> Scopes<'a> {
        let files = modules.len();
        let count = files + counts.functions + counts.classes + counts.comprehensions;
        let scope = |kind| Scope {
            kind,
            parent: 0,
            module: 0,
            names: FxHashMap::default(),
            globals: FxHashSet::default(),
            nonlocals: FxHashSet::default(),
        };
        let mut scopes = Scopes {
            all: (0..count).map(|_| scope(ScopeKind::Module)).collect(),
            functions: (0..counts.functions).map(|_| None).collect(),
            classes: (0..counts.classes).map(|_| None).collect(),
            loops: FxHashMap::default(),
            stars: vec![Vec::new(); files],
            function_base: files,
            class_base: files + counts.functions,
            comprehension_base: files + counts.functions + counts.classes,
        };
        for (file, module) in modules.iter().enumerate() {
            scopes.place(file, ScopeKind::Module, file, file);
            Declaring {
                scopes: &mut scopes,
                module: file,
                scope: file,
                class: None,
                function: None,
                loops: Vec::new(),
            }
            .body(&module.body);
        }
        scopes.share();
        scopes
    }

    pub fn of_function(&self, index: usize) -> usize {
        self.function_base + index
    }

    pub fn of_class(&self, index: usize) -> usize {
        self.class_base + index
    }

    pub fn of_comprehension(&self, index: usize) -> usize {
        self.comprehension_base + index
    }

    /// Says what a scope is and where.
    fn place(&mut self, scope: usize, kind: ScopeKind, parent: usize, module: usize) {
        if let Some(scope) = self.all.get_mut(scope) {
            (scope.kind, scope.parent, scope.module) = (kind, parent, module);
        }
    }

    /// The function whose body a scope is.
    pub fn function_of(&self, scope: usize) -> Option<usize> {
        scope.checked_sub(self.function_base).filter(|index| *index < self.functions.len())
    }

    /// The class whose body a scope is.
    pub fn class_of(&self, scope: usize) -> Option<usize> {
        scope.checked_sub(self.class_base).filter(|index| *index < self.classes.len())
    }

    /// Where an assignment in a scope goes.
    pub fn assigned_in(&self, scope: usize, name: &str) -> usize {
        let Some(here) = self.all.get(scope) else { return scope };
        if here.globals.contains(name) {
            return here.module;
        }
        if here.nonlocals.contains(name) {
            let mut at = here.parent;
            while let Some(outer) = self.all.get(at).filter(|outer| at != outer.module) {
                if outer.kind == ScopeKind::Function && outer.names.contains_key(name) {
                    return at;
                }
                at = outer.parent;
            }
        }
        scope
    }

    /// Where a name that is read in a scope is bound, and whether what runs there is also what reads it now.
    pub fn find(&self, scope: usize, name: &str) -> Option<(usize, bool)> {
        let mut at = scope;
        let mut is_same_run = true;
        loop {
            let here = self.all.get(at)?;
            if here.globals.contains(name) {
                let module = self.all.get(here.module)?;
                return module.names.contains_key(name).then_some((here.module, at == here.module));
            }
            let is_seen = here.kind != ScopeKind::Class || at == scope;
            if is_seen && !here.nonlocals.contains(name) && here.names.contains_key(name) {
                return Some((at, is_same_run));
            }
            if at == here.module {
                return None;
            }
            is_same_run &= here.kind != ScopeKind::Function;
            at = here.parent;
        }
    }

    /// Marks names that more than one scope assigns.
    fn share(&mut self) {
        for scope in 0..self.all.len() {
            let Some(here) = self.all.get(scope) else { continue };
            let named: Vec<&'a str> = here.globals.iter().chain(&here.nonlocals).copied().collect();
            for name in named {
                let target = self.assigned_in(scope, name);
                if target != scope
                    && let Some(owner) = self.all.get_mut(target)
                {
                    owner.names.entry(name).or_default().is_shared = true;
                }
            }
        }
    }
}

/// Walks a program and notes what each scope binds.
struct Declaring<'a, 's> {
    scopes: &'s mut Scopes<'a>,
    /// The scope of the file.
    module: usize,
    scope: usize,
    /// The class whose body is walked.
    class: Option<usize>,
    /// The function whose body is walked.
    function: Option<usize>,
    /// Loops around the walked statement, in the same scope.
    loops: Vec<u32>,
}

impl<'a> Declaring<'a, '_> {
    fn bind(&mut self, name: &'a str) {
        for start in &self.loops {
            self.scopes.loops.entry((self.module, *start)).or_default().push(name);
        }
        if let Some(scope) = self.scopes.all.get_mut(self.scope)
            && !scope.globals.contains(name)
            && !scope.nonlocals.contains(name)
        {
            scope.names.entry(name).or_default();
        } else if let Some(module) = self.scopes.all.get(self.module) {
            // A name that only functions assign, by `global`.
            let is_global = |scope: &Scope<'a>| scope.globals.contains(name);
            if module.names.contains_key(name) {
                return;
            }
            if self.scopes.all.get(self.scope).is_some_and(is_global)
                && let Some(module) = self.scopes.all.get_mut(self.module)
            {
                module.names.entry(name).or_default();
            }
        }
    }

    fn body(&mut self, body: &'a [Stmt]) {
        // `global` holds for the whole scope, also for what precedes it.
        for statement in body {
            if let StmtKind::Global(names) = &statement.kind
                && let Some(scope) = self.scopes.all.get_mut(self.scope)
            {
                scope.globals.extend(names.iter().map(|name| &**name));
            } else if let StmtKind::Nonlocal(names) = &statement.kind
                && let Some(scope) = self.scopes.all.get_mut(self.scope)
            {
                scope.nonlocals.extend(names.iter().map(|name| &**name));
            }
        }
        body.iter().for_each(|statement| with_stack(|| self.statement(statement)));
    }

    /// Walks what runs repeatedly.
    fn repeated(&mut self, start: u32, work: impl FnOnce(&mut Self)) {
        self.loops.push(start);
        work(self);
        self.loops.pop();
        if let Some(names) = self.scopes.loops.get_mut(&(self.module, start)) {
            names.sort_unstable();
            names.dedup();
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Assign { targets, value } => {
                self.expr(value);
                targets.iter().for_each(|target| self.target(target));
            }
            StmtKind::AugAssign { target, value } => {
                self.expr(value);
                self.target(target);
            }
            StmtKind::AnnAssign { target, annotation, value } => {
                if let (Some(class), ExprKind::Name(name)) = (self.class, &target.kind)
                    && let Some(Some(class)) = self.scopes.classes.get_mut(class)
                {
                    class.fields.push(name);
                }
                self.expr(annotation);
                value.iter().for_each(|value| self.expr(value));
                self.target(target);
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::For { target, iter, body, orelse } => {
                self.expr(iter);
                self.repeated(statement.span.start, |this| {
                    this.target(target);
                    this.body(body);
                });
                self.body(orelse);
            }
            StmtKind::While { test, body, orelse } => {
                self.repeated(statement.span.start, |this| {
                    this.expr(test);
                    this.body(body);
                });
                self.body(orelse);
            }
            StmtKind::If(arms) => {
                for (test, body) in arms {
                    test.iter().for_each(|test| self.expr(test));
                    self.body(body);
                }
            }
            StmtKind::With { items, body } => {
                for (context, target) in items {
                    self.expr(context);
                    target.iter().for_each(|target| self.target(target));
                }
                self.body(body);
            }
            StmtKind::Match { subject, cases } => {
                self.expr(subject);
                for case in cases {
                    case.names.iter().for_each(|name| self.bind(name));
                    case.guard.iter().for_each(|guard| self.expr(guard));
                    self.body(&case.body);
                }
            }
            StmtKind::Try { body, handlers, orelse, finally } => {
                self.body(body);
                for handler in handlers {
                    handler.kind.iter().for_each(|kind| self.expr(kind));
                    handler.name.iter().for_each(|name| self.bind(name));
                    self.body(&handler.body);
                }
                self.body(orelse);
                self.body(finally);
            }
            StmtKind::Import(names) => {
                for alias in names {
                    let first = alias.name.split('.').next().unwrap_or(&alias.name);
                    self.bind(alias.renamed.as_deref().unwrap_or(first));
                }
            }
            StmtKind::ImportFrom { module, names, level } => {
                for alias in names {
                    if &*alias.name == "*" {
                        let stars = self.scopes.stars.get_mut(self.module);
                        stars.into_iter().for_each(|stars| stars.push((*level, module.as_deref().unwrap_or(""))));
                    } else {
                        self.bind(alias.renamed.as_deref().unwrap_or(&alias.name));
                    }
                }
            }
            StmtKind::Function(function) => {
                self.bind(&function.name);
                self.function(function);
            }
            StmtKind::Class(class) => {
                self.bind(&class.name);
                self.class(class);
            }
            StmtKind::Bare(parts) => parts.iter().for_each(|part| self.expr(part)),
            StmtKind::Global(_) | StmtKind::Nonlocal(_) | StmtKind::Nothing | StmtKind::Magic => {}
        }
    }

    fn function(&mut self, function: &'a Function) {
        function.decorators.iter().for_each(|decorator| self.expr(decorator));
        for parameter in &function.parameters {
            parameter.annotation.iter().for_each(|annotation| self.expr(annotation));
            parameter.default.iter().for_each(|default| self.expr(default));
        }
        function.returns.iter().for_each(|returns| self.expr(returns));
        let scope = self.scopes.of_function(function.index);
        if let Some(place) = self.scopes.functions.get_mut(function.index) {
            *place = Some(FunctionFacts {
                node: function,
                parent: self.scope,
                class: self.class.filter(|_| !function.name.is_empty()),
                is_generator: false,
                returns: Values::default(),
                traced: None,
                handed: None,
            });
        }
        self.scopes.place(scope, ScopeKind::Function, self.scope, self.module);
        if let Some(inner) = self.scopes.all.get_mut(scope) {
            for parameter in &function.parameters {
                inner.names.entry(&parameter.name).or_default().is_parameter = true;
            }
        }
        let mut inner = Declaring {
            scopes: self.scopes,
            module: self.module,
            scope,
            class: None,
            function: Some(function.index),
            loops: Vec::new(),
        };
        match &function.body {
            FunctionBody::Statements(body) => inner.body(body),
            FunctionBody::Expression(body) => inner.expr(body),
        }
    }

    fn class(&mut self, class: &'a Class) {
        class.decorators.iter().for_each(|decorator| self.expr(decorator));
        class.arguments.iter().for_each(|argument| self.expr(&argument.value));
        let scope = self.scopes.of_class(class.index);
        if let Some(place) = self.scopes.classes.get_mut(class.index) {
            *place = Some(ClassFacts { bases: Vec::new(), attributes: FxHashMap::default(), fields: Vec::new() });
        }
        self.scopes.place(scope, ScopeKind::Class, self.scope, self.module);
        Declaring {
            scopes: self.scopes,
            module: self.module,
            scope,
            class: Some(class.index),
            function: self.function,
            loops: Vec::new(),
        }
        .body(&class.body);
    }

    fn target(&mut self, target: &'a Expr) {
        match &target.kind {
            ExprKind::Name(name) => self.bind(name),
            ExprKind::Tuple(_, parts) | ExprKind::List(_, parts) => {
                parts.iter().for_each(|part| with_stack(|| self.target(part)));
            }
            ExprKind::Starred(inner) => self.target(inner),
            _ => self.expr(target),
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        with_stack(|| match &expr.kind {
            ExprKind::Lambda(function) => self.function(function),
            ExprKind::Named(target, value) => {
                self.expr(value);
                // A walrus in a comprehension binds outside of it.
                let here = self.scope;
                while let Some(scope) = self.scopes.all.get(self.scope)
                    && scope.kind == ScopeKind::Comprehension
                {
                    self.scope = scope.parent;
                }
                self.target(target);
                self.scope = here;
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Yield(_) | ExprKind::YieldFrom(_) => {
                let function = self.function.and_then(|index| self.scopes.functions.get_mut(index));
                if let Some(Some(facts)) = function {
                    facts.is_generator = true;
                }
                each_part(expr, &mut |part| self.expr(part));
            }
            _ => each_part(expr, &mut |part| self.expr(part)),
        });
    }

    fn comprehension(&mut self, comprehension: &'a Comprehension) {
        let outer = self.scope;
        let scope = self.scopes.of_comprehension(comprehension.index);
        self.scopes.place(scope, ScopeKind::Comprehension, outer, self.module);
        for (number, clause) in comprehension.clauses.iter().enumerate() {
            // The first iterable is evaluated outside.
            self.scope = if number == 0 { outer } else { scope };
            self.expr(&clause.iter);
            self.scope = scope;
            self.target(&clause.target);
            clause.conditions.iter().for_each(|condition| self.expr(condition));
        }
        self.scope = scope;
        comprehension.elements.iter().for_each(|element| self.expr(element));
        self.scope = outer;
    }
}

/// Visits the expressions directly inside of one, in the order of evaluation; scopes of their own are not entered.
pub(crate) fn each_part<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Attribute(value, _)
        | ExprKind::Starred(value)
        | ExprKind::Await(value)
        | ExprKind::YieldFrom(value)
        | ExprKind::Unary(_, value) => visit(value),
        ExprKind::Call(call) => {
            visit(&call.callee);
            call.arguments.iter().for_each(|argument| visit(&argument.value));
        }
        ExprKind::Subscript(value, index) => [value, index].into_iter().for_each(|part| visit(part)),
        ExprKind::Binary(left, _, right) => [left, right].into_iter().for_each(|part| visit(part)),
        ExprKind::Yield(value) => value.iter().for_each(|value| visit(value)),
        ExprKind::Named(target, value) => [value, target].into_iter().for_each(|part| visit(part)),
        ExprKind::If(parts) => parts.iter().for_each(visit),
        ExprKind::Bool(_, parts)
        | ExprKind::Tuple(_, parts)
        | ExprKind::List(_, parts)
        | ExprKind::Set(_, parts) => parts.iter().for_each(visit),
        ExprKind::Compare(left, rest) => {
            visit(left);
            rest.iter().for_each(|(_, right)| visit(right));
        }
        ExprKind::Dict(_, items) => items.iter().for_each(|(key, value)| {
            key.iter().for_each(&mut *visit);
            visit(value);
        }),
        ExprKind::Slice(parts) => parts.iter().flatten().for_each(visit),
        ExprKind::Interpolated(text) => text.parts.iter().for_each(|part| each_interpolated(part, visit)),
        ExprKind::Lambda(_)
        | ExprKind::Comprehension(_)
        | ExprKind::Name(_)
        | ExprKind::Text(_)
        | ExprKind::Bytes
        | ExprKind::Number(_)
        | ExprKind::Constant(_)
        | ExprKind::Opaque => {}
    }
}

fn each_interpolated<'a>(part: &'a Interpolation, visit: &mut dyn FnMut(&'a Expr)) {
    visit(&part.value);
    part.format.iter().for_each(|inner| each_interpolated(inner, visit));
}
