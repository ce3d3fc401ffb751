//! Statements: what they assign, in the order in which they run; branches and loops.

use super::Walk;
use crate::syntax::with_stack;
use crate::tree::*;
use crate::values::Values;

impl<'a> Walk<'a> {
    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|statement| with_stack(|| self.statement(statement)));
    }

    pub(super) fn statement(&mut self, statement: &'a Stmt) {
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
                let annotated = self.annotated(annotation);
                match value {
                    Some(value) => {
                        let values = self.expr(value);
                        let values = if values.is_empty() { annotated } else { values };
                        self.assign(target, &values);
                    }
                    None if !annotated.is_empty() => self.declare(target, &annotated),
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

    pub(super) fn repeated(&mut self, start: u32, work: impl FnOnce(&mut Self)) {
        self.known.enter_loop(self.scope, start);
        let mark = self.known.mark();
        work(self);
        let outcome = self.known.undo(mark);
        self.known.merge(&[outcome], false);
    }

    pub(super) fn branches<T>(
        &mut self,
        arms: &'a [T],
        is_exhaustive: bool,
        mut work: impl FnMut(&mut Self, &'a T),
    ) {
        let mut outcomes = Vec::with_capacity(arms.len());
        for arm in arms {
            let mark = self.known.mark();
            work(self, arm);
            outcomes.push(self.known.undo(mark));
        }
        self.known.merge(&outcomes, is_exhaustive);
    }
}
