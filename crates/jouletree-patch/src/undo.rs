//! The way back: what a patch has inserted is found by parsing, and removed.

use crate::PatchError;
use crate::header::{ADDED_LINE, BEGIN, HOOK};
use crate::scopes::each_part;
use crate::syntax::{self, Dialect, with_stack};
use crate::text::Text;
use crate::tree::*;

/// The original of a patched script; of one that is not patched, itself.
pub fn unpatched_script(source: &[u8]) -> Result<Vec<u8>, PatchError> {
    let text = Text::of(source)?;
    let module = syntax::parse(&text.text, Dialect::Python, &mut Counts::default())
        .map_err(|error| text.syntax_error(error))?;
    let removals = removals(&module, &text.text);
    let in_file = |span: &Span| (text.in_file(span.start), text.in_file(span.end));
    Ok(without(source, removals.iter().map(in_file)))
}

/// Bytes without some stretches, which are in order.
pub(crate) fn without(source: &[u8], removals: impl IntoIterator<Item = (usize, usize)>) -> Vec<u8> {
    let mut result = Vec::with_capacity(source.len());
    let mut at = 0;
    for (start, end) in removals {
        result.extend_from_slice(source.get(at..start.max(at)).unwrap_or_default());
        at = at.max(end);
    }
    result.extend_from_slice(source.get(at..).unwrap_or_default());
    result
}

/// Everything that patching has inserted, in order.
pub(crate) fn removals(module: &Module, source: &str) -> Vec<Span> {
    let mut undoing = Undoing { source, spans: Vec::new() };
    undoing.body(&module.body);
    undoing.spans.sort_by_key(|span| (span.start, span.end));
    undoing.spans
}

struct Undoing<'a> {
    source: &'a str,
    spans: Vec<Span>,
}

impl Undoing<'_> {
    fn remove(&mut self, start: u32, end: u32) {
        self.spans.push(Span { start, end });
    }

    fn after(&self, at: u32) -> &str {
        self.source.get(at as usize..).unwrap_or_default()
    }

    fn before(&self, at: u32) -> &str {
        self.source.get(..at as usize).unwrap_or_default()
    }

    /// A header, with what parts it from its neighbours.
    fn header(&mut self, span: Span) {
        let after = self.after(span.end);
        if after.starts_with("; ") {
            self.remove(span.start, span.end + 2);
        } else if let Some(rest) = after.strip_prefix(ADDED_LINE) {
            let newline = if rest.starts_with("\r\n") { 2 } else { rest.len().min(1) as u32 };
            self.remove(span.start, span.end + ADDED_LINE.len() as u32 + newline);
        } else if self.before(span.start).ends_with("; ") {
            self.remove(span.start - 2, span.end);
        } else {
            // On a line of its own, or beside a comment, whose own blanks precede its mark.
            let is_comment = after.trim_start_matches([' ', '\t', '\u{c}']).starts_with('#');
            self.remove(span.start, span.end + u32::from(is_comment));
        }
    }

    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|statement| with_stack(|| self.statement(statement)));
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Expr(expr) if is_header(expr) => self.header(statement.span),
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Assign { targets, value } => {
                targets.iter().for_each(|target| self.expr(target));
                self.expr(value);
            }
            StmtKind::AugAssign { target, value } => [target, value].into_iter().for_each(|part| self.expr(part)),
            StmtKind::AnnAssign { target, value, .. } => {
                self.expr(target);
                value.iter().for_each(|value| self.expr(value));
            }
            StmtKind::Return(value) => value.iter().for_each(|value| self.expr(value)),
            StmtKind::For { target, iter, body, orelse } => {
                [target, iter].into_iter().for_each(|part| self.expr(part));
                [body, orelse].into_iter().for_each(|body| self.body(body));
            }
            StmtKind::While { test, body, orelse } => {
                self.expr(test);
                [body, orelse].into_iter().for_each(|body| self.body(body));
            }
            StmtKind::If(arms) => arms.iter().for_each(|(test, body)| {
                test.iter().for_each(|test| self.expr(test));
                self.body(body);
            }),
            StmtKind::With { items, body } => {
                for (context, target) in items {
                    self.expr(context);
                    target.iter().for_each(|target| self.expr(target));
                }
                self.body(body);
            }
            StmtKind::Match { subject, cases } => {
                self.expr(subject);
                for case in cases {
                    case.guard.iter().for_each(|guard| self.expr(guard));
                    self.body(&case.body);
                }
            }
            StmtKind::Try { body, handlers, orelse, finally } => {
                self.body(body);
                for handler in handlers {
                    handler.kind.iter().for_each(|kind| self.expr(kind));
                    self.body(&handler.body);
                }
                [orelse, finally].into_iter().for_each(|body| self.body(body));
            }
            StmtKind::Function(function) => self.function(function),
            StmtKind::Class(class) => {
                class.decorators.iter().for_each(|decorator| self.expr(decorator));
                class.arguments.iter().for_each(|argument| self.expr(&argument.value));
                self.body(&class.body);
            }
            StmtKind::Bare(parts) => parts.iter().for_each(|part| self.expr(part)),
            StmtKind::Import(_)
            | StmtKind::ImportFrom { .. }
            | StmtKind::Global(_)
            | StmtKind::Nonlocal(_)
            | StmtKind::Nothing
            | StmtKind::Magic => {}
        }
    }

    fn function(&mut self, function: &Function) {
        function.decorators.iter().for_each(|decorator| self.expr(decorator));
        function.parameters.iter().flat_map(|one| &one.default).for_each(|default| self.expr(default));
        match &function.body {
            FunctionBody::Statements(body) => self.body(body),
            FunctionBody::Expression(body) => self.expr(body),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        with_stack(|| {
            match &expr.kind {
                ExprKind::Call(call) => self.hook(expr, call),
                ExprKind::Lambda(function) => self.function(function),
                ExprKind::Comprehension(comprehension) => {
                    for clause in &comprehension.clauses {
                        [&clause.target, &clause.iter].into_iter().for_each(|part| self.expr(part));
                        clause.conditions.iter().for_each(|condition| self.expr(condition));
                    }
                    comprehension.elements.iter().for_each(|element| self.expr(element));
                }
                _ => {}
            }
            each_part(expr, &mut |part| self.expr(part));
        });
    }

    /// A hook is a call of ours with the number of the site and the callee.
    fn hook(&mut self, expr: &Expr, call: &Call) {
        let is_ours = matches!(&call.callee.kind, ExprKind::Name(name) if &**name == HOOK);
        let [number, _callee] = call.arguments.as_slice() else { return };
        if !is_ours || !matches!(number.value.kind, ExprKind::Number(Number::Integer)) {
            return;
        }
        let comma = number.value.span.end;
        if self.after(comma).starts_with(", ") {
            self.remove(expr.span.start, comma + 2);
        } else {
            self.remove(expr.span.start.saturating_sub(1), comma + 1);
        }
        self.remove(expr.span.end - 1, expr.span.end);
    }
}

/// Whether an expression is what a header runs.
fn is_header(expr: &Expr) -> bool {
    let ExprKind::Call(call) = &expr.kind else { return false };
    let is_exec = matches!(&call.callee.kind, ExprKind::Name(name) if &**name == "exec");
    match call.arguments.as_slice() {
        [code] => is_exec && matches!(&code.value.kind, ExprKind::Text(code) if code.starts_with(BEGIN)),
        _ => false,
    }
}
