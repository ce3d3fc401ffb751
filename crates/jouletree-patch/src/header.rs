//! The one statement that is added to a patched file, and where it goes: onto a line that is there already, after the
//! docstring and `__future__` imports, so that every line keeps its number.

use crate::tree::{ExprKind, FunctionBody, Span, Stmt, StmtKind};
use crate::walk::Found;

/// The function that every patched call goes through.
pub(crate) const HOOK: &str = "__jouletree_call__";
/// How the code in a header begins, after Python has read its quotes.
pub(crate) const BEGIN: &str = "try:\n from jouletree.calls import ";
/// How a header begins in a patched file.
const MARK: &str = "exec('try:\\n from jouletree.calls import ";
/// What follows a header on a line of its own, which is the only one that is ever added.
pub(crate) const ADDED_LINE: &str = "  # a line added by jouletree";

/// Where a text has a hook or a header already.
pub(crate) fn found_in(source: &str) -> Option<usize> {
    source.find(HOOK).into_iter().chain(source.find(MARK)).min()
}

/// The statement that gets the hook. Without the package the program runs as it is.
pub(crate) fn of_calls(file: &str, digest: &str) -> String {
    let file = quoted(file);
    format!(
        "exec('try:\\n from jouletree.calls import patched as {HOOK}\\n {HOOK} = {HOOK}(\"{file}\", \"{digest}\")\\n\
         except ImportError:\\n def {HOOK}(site, callee): return callee')"
    )
}

/// The statement that begins the window of a whole program.
pub(crate) fn of_program(file: &str) -> String {
    let file = quoted(file);
    format!(
        "exec('try:\\n from jouletree.calls import program as __jouletree_program__\\n \
         __jouletree_program__(\"{file}\")\\n del __jouletree_program__\\nexcept ImportError: pass')"
    )
}

/// A file's name inside of quotes inside of quotes.
fn quoted(file: &str) -> String {
    let mut text = String::with_capacity(file.len());
    for letter in file.chars() {
        if letter.is_ascii_alphanumeric() || "_-./ ,+=@".contains(letter) {
            text.push(letter);
        } else {
            text += &format!("\\\\U{:08x}", u32::from(letter));
        }
    }
    text
}

/// What is inserted where.
pub(crate) struct Placed {
    pub at: u32,
    pub text: String,
}

/// Where a header goes among the statements of a file or a cell, whose text is from `free` to `end`.
pub(crate) fn place(
    header: &str,
    source: &str,
    statements: &[Stmt],
    free: u32,
    end: u32,
    found: &[Found],
) -> Option<Placed> {
    let first = statements.iter().position(|statement| !goes_first(statement, statements));
    let (before, rest) = statements.split_at(first.unwrap_or(statements.len()));
    let placed = |at, text| Some(Placed { at, text });
    if let Some(next) = rest.first().filter(|next| is_simple(next)) {
        return placed(next.span.start, format!("{header}; "));
    }
    if let Some(last) = before.last() {
        return placed(last.span.end, format!("; {header}"));
    }
    let next = rest.first()?;
    if let Some((at, is_comment)) = free_line(source, free, next.span.start.min(end)) {
        return placed(at, format!("{header}{}", if is_comment { " " } else { "" }));
    }
    // What is only defined does not run yet.
    let later = rest.iter().find(|statement| !only_defines(statement, found));
    if let Some(later) = later.filter(|later| is_simple(later)) {
        return placed(later.span.start, format!("{header}; "));
    }
    placed(next.span.start, format!("{header}{ADDED_LINE}{}", newline(source)))
}

/// Whether a statement must stay first: the docstring and `from __future__`.
fn goes_first(statement: &Stmt, all: &[Stmt]) -> bool {
    match &statement.kind {
        StmtKind::Expr(expr) => {
            matches!(expr.kind, ExprKind::Text(_))
                && all.first().is_some_and(|first| std::ptr::eq(first, statement))
        }
        StmtKind::ImportFrom { module, level: 0, .. } => module.as_deref() == Some("__future__"),
        _ => false,
    }
}

/// Whether another statement may come before it on the same line.
fn is_simple(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::For { .. }
        | StmtKind::While { .. }
        | StmtKind::If(_)
        | StmtKind::With { .. }
        | StmtKind::Match { .. }
        | StmtKind::Try { .. }
        | StmtKind::Function(_)
        | StmtKind::Class(_)
        | StmtKind::Magic => false,
        // `files = !ls` is read by IPython, and only if it is alone on its line.
        StmtKind::Assign { value, .. } => !matches!(value.kind, ExprKind::Opaque),
        StmtKind::Expr(expr) => !matches!(expr.kind, ExprKind::Opaque),
        _ => true,
    }
}

/// Whether running a statement calls nothing.
fn only_defines(statement: &Stmt, found: &[Found]) -> bool {
    let function = match &statement.kind {
        StmtKind::Function(function) => function,
        // What IPython does for a magic calls none of our hooks.
        StmtKind::Magic => return true,
        _ => return false,
    };
    let FunctionBody::Statements(body) = &function.body else { return false };
    let Some(body) = body.first().map(|first| first.span.start) else { return false };
    let head = Span { start: statement.span.start, end: body };
    let is_in_head = |site: &Found| site.span.start >= head.start && site.span.start < head.end;
    function.decorators.is_empty() && !found.iter().any(is_in_head)
}

/// A line with nothing but blanks, or with nothing but a comment, in a stretch without statements.
fn free_line(source: &str, from: u32, to: u32) -> Option<(u32, bool)> {
    let mut at = from as usize;
    while at < to as usize {
        let rest = source.get(at..to as usize)?;
        let end = rest.find(['\n', '\r'])?;
        let line = rest.get(..end)?.trim_matches([' ', '\t', '\u{c}']);
        if line.is_empty() || line.starts_with('#') {
            return Some((at as u32, !line.is_empty()));
        }
        at += end + if rest.get(end..).is_some_and(|rest| rest.starts_with("\r\n")) { 2 } else { 1 };
    }
    None
}

/// How lines end in a text.
fn newline(source: &str) -> &'static str {
    match source.find(['\n', '\r']).and_then(|at| source.get(at..)) {
        Some(rest) if rest.starts_with("\r\n") => "\r\n",
        Some(rest) if rest.starts_with('\r') => "\r",
        _ => "\n",
    }
}
