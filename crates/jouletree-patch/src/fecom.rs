//! FECoM's way of finding calls, with its limits: no scopes, only statements that assign or are a call, names that grow
//! with assignments. For comparison with what FECoM measured.

use rustc_hash::FxHashMap;

use crate::scopes::each_part;
use crate::syntax::with_stack;
use crate::tree::*;
use crate::unparse::unparsed_callee;
use crate::walk::Found;

/// The calls that FECoM would wrap, in the order of the text, each with the name it would record.
pub(crate) fn find(module: &Module, source: &str, libraries: &[String]) -> Vec<Found> {
    let mut fecom = Fecom { source, libraries, ..Fecom::default() };
    fecom.each(&module.body, &mut Fecom::import);
    fecom.each(&module.body, &mut Fecom::class);
    fecom.each(&module.body, &mut Fecom::object);
    fecom.each(&module.body, &mut Fecom::wrap);
    fecom.found
}

#[derive(Default)]
struct Fecom<'a> {
    source: &'a str,
    libraries: &'a [String],
    /// Full paths by alias.
    imports: FxHashMap<&'a str, String>,
    /// Classes that derive from a library's, with the text of their base.
    bases: FxHashMap<&'a str, &'a str>,
    /// Names that were assigned from something of a library, anywhere.
    objects: Vec<&'a str>,
    /// The class of which a name was made.
    made_of: FxHashMap<&'a str, &'a str>,
    /// The text of the callee that a name was last assigned from.
    signatures: FxHashMap<&'a str, String>,
    found: Vec<Found>,
}

impl<'a> Fecom<'a> {
    fn raw(&self, expr: &Expr) -> &'a str {
        self.source.get(expr.span.start as usize..expr.span.end as usize).unwrap_or_default()
    }

    /// Visits every statement in the order of the text.
    fn each(&mut self, body: &'a [Stmt], visit: &mut dyn FnMut(&mut Self, &'a Stmt) -> bool) {
        for statement in body {
            with_stack(|| {
                if visit(self, statement) {
                    each_block(statement, &mut |block| self.each(block, visit));
                }
            });
        }
    }

    fn is_wanted(&self, path: &str) -> bool {
        path.split('.').any(|part| self.libraries.iter().any(|library| library == part))
    }

    fn import(&mut self, statement: &'a Stmt) -> bool {
        match &statement.kind {
            StmtKind::Import(names) => {
                for alias in names.iter().filter(|alias| self.is_wanted(&alias.name)).collect::<Vec<_>>() {
                    // Without `as` Python binds the first part; FECoM takes the last.
                    let last = alias.name.rsplit('.').next().unwrap_or_default();
                    self.imports.insert(alias.renamed.as_deref().unwrap_or(last), alias.name.to_string());
                }
            }
            StmtKind::ImportFrom { module: Some(module), names, .. } if self.is_wanted(module) => {
                for alias in names.iter().filter(|alias| alias.renamed.is_some() || &*alias.name != "*") {
                    let name = alias.renamed.as_deref().unwrap_or(&alias.name);
                    self.imports.insert(name, format!("{module}.{}", alias.name));
                }
            }
            _ => {}
        }
        true
    }

    fn class(&mut self, statement: &'a Stmt) -> bool {
        let StmtKind::Class(class) = &statement.kind else { return true };
        let bases: Vec<&'a str> = class
            .arguments
            .iter()
            .filter(|argument| matches!(argument.name, ArgumentName::Positional | ArgumentName::Star))
            .map(|argument| self.raw(&argument.value))
            .collect();
        let Some(first) = bases.first() else { return false };
        let first_word = |base: &&str| base.split('.').next().unwrap_or_default().to_owned();
        if bases.iter().any(|base| self.imports.contains_key(first_word(base).as_str())) {
            self.bases.insert(&class.name, first);
        }
        if bases.iter().any(|base| self.bases.contains_key(first_word(base).as_str()))
            && let Some(inherited) = self.bases.get(first)
        {
            self.bases.insert(&class.name, inherited);
        }
        // Classes inside of classes are not seen.
        false
    }

    fn object(&mut self, statement: &'a Stmt) -> bool {
        let StmtKind::Assign { targets, value } = &statement.kind else { return true };
        let ExprKind::Call(call) = &value.kind else { return true };
        let Some(ExprKind::Name(target)) = targets.first().map(|target| &target.kind) else { return true };
        let chain = chain(&call.callee);
        let Some(first) = chain.first() else { return true };
        let is_library = chain.iter().any(|name| self.imports.contains_key(name));
        let is_known = self.bases.keys().any(|class| first.contains(class))
            || self.objects.iter().any(|object| first.contains(object));
        if (is_library || is_known) && !self.objects.contains(&&**target) {
            self.objects.push(target);
        }
        true
    }

    fn wrap(&mut self, statement: &'a Stmt) -> bool {
        match &statement.kind {
            StmtKind::Assign { targets, value } => self.wrap_assignment(targets.first(), value),
            StmtKind::Expr(expr) => {
                if let ExprKind::Call(call) = &expr.kind {
                    self.wrap_call(expr, call);
                }
            }
            _ => {}
        }
        true
    }

    fn wrap_assignment(&mut self, target: Option<&'a Expr>, value: &'a Expr) {
        // Other targets have names that no expression begins with.
        let target = match target.map(|target| &target.kind) {
            Some(ExprKind::Name(name) | ExprKind::Attribute(_, name)) => Some(&**name),
            _ => None,
        };
        if let Some((target, class)) = target.zip(made_class(value))
            && self.bases.contains_key(class)
        {
            self.made_of.insert(target, class);
            let raw = self.raw(value).to_owned();
            self.signatures.insert(target, raw);
        }
        let ExprKind::Call(call) = &value.kind else { return };
        self.wrap_call(value, call);
        if let Some(target) = target {
            let raw = self.raw(&call.callee);
            let first = raw.split('.').next().unwrap_or_default();
            let signature = match self.signatures.get(first).filter(|earlier| !earlier.is_empty()) {
                Some(earlier) => raw.replacen(first, earlier, 1),
                None => raw.to_owned(),
            };
            self.signatures.insert(target, signature);
        }
    }

    fn wrap_call(&mut self, expr: &'a Expr, call: &'a Call) {
        if let Some(name) = self.name(call) {
            self.found.push(Found {
                span: expr.span,
                callee: expr.span.start,
                open: call.open,
                name,
                reason: None,
            });
        }
    }

    /// The name that FECoM records, if it wraps the call.
    fn name(&self, call: &'a Call) -> Option<String> {
        let chain = chain(&call.callee);
        let first = *chain.first()?;
        let replacement = if let Some(path) = self.imports.get(first) {
            path.clone()
        } else {
            if !self.objects.contains(&first) {
                return None;
            }
            let signature = self.signatures.get(first)?;
            let class = self.made_of.get(first).filter(|class| self.bases.contains_key(*class));
            match (self.bases.get(signature.as_str()), class) {
                (Some(base), Some(_)) => self.full(base)?,
                _ if self.imports.keys().any(|alias| signature.contains(alias)) => self.full(signature)?,
                _ => return None,
            }
        };
        let text = format!("{}()", unparsed_callee(&call.callee, self.source));
        Some(text.replacen(first, &replacement, 1))
    }

    /// A text that begins with an alias, with the alias's path instead.
    fn full(&self, text: &str) -> Option<String> {
        let first = text.split('.').next()?;
        Some(text.replacen(first, self.imports.get(first)?, 1))
    }
}

/// The names of a callee, in FECoM's order: through inner calls, but not into their arguments.
fn chain(expr: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    collect(expr, &mut names);
    names
}

fn collect<'a>(expr: &'a Expr, names: &mut Vec<&'a str>) {
    with_stack(|| match &expr.kind {
        ExprKind::Name(name) => names.push(name),
        ExprKind::Attribute(value, member) => {
            collect(value, names);
            names.push(member);
        }
        ExprKind::Call(call) => collect(&call.callee, names),
        _ => each_part(expr, &mut |part| collect(part, names)),
    });
}

/// The name of what is called to make a value.
fn made_class(value: &Expr) -> Option<&str> {
    match &value.kind {
        ExprKind::Call(call) => match &call.callee.kind {
            ExprKind::Name(name) | ExprKind::Attribute(_, name) => Some(name),
            ExprKind::Call(_) => made_class(&call.callee),
            _ => None,
        },
        ExprKind::Binary(left, ..) => made_class(left),
        _ => None,
    }
}

/// Visits the blocks of a statement.
fn each_block<'a>(statement: &'a Stmt, visit: &mut dyn FnMut(&'a [Stmt])) {
    match &statement.kind {
        StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
            [body, orelse].into_iter().for_each(|block| visit(block));
        }
        StmtKind::If(arms) => arms.iter().for_each(|(_, body)| visit(body)),
        StmtKind::With { body, .. } => visit(body),
        StmtKind::Match { cases, .. } => cases.iter().for_each(|case| visit(&case.body)),
        StmtKind::Try { body, handlers, orelse, finally } => {
            visit(body);
            handlers.iter().for_each(|handler| visit(&handler.body));
            [orelse, finally].into_iter().for_each(|block| visit(block));
        }
        StmtKind::Function(function) => {
            if let FunctionBody::Statements(body) = &function.body {
                visit(body);
            }
        }
        StmtKind::Class(class) => visit(&class.body),
        _ => {}
    }
}
