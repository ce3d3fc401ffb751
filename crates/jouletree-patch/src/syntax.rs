//! The one place that knows the parser: ruff's, which gives every expression's bytes, also inside f-strings. Its tree is
//! turned into that of `tree`.

use ruff_python_ast as ast;
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged;

use crate::nesting::too_deep;
use crate::tree::*;

/// Python refuses programs that are nested as deeply as this; so do we, before a stack overflows.
pub(crate) const DEEPEST: usize = 5_000;
/// How much of the stack must be left before it grows, and by how much it grows.
const STACK_LEFT: usize = 128 * 1024;
const STACK_MORE: usize = 4 * 1024 * 1024;
/// The stack that the parser needs for `DEEPEST` levels: it grows its own but for the defaults of lambdas.
const PARSER_STACK: usize = 64 * 1024 * 1024;

/// Lets the recursion of `work` go on wherever the stack ends.
pub(crate) fn with_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_LEFT, STACK_MORE, work)
}

/// Why a text is no program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where, in bytes.
    pub at: u32,
    pub message: String,
}

/// What is being parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Python,
    /// With the magics of notebooks.
    IPython,
}

/// Parses a program of any version of Python from 3.8 on. Its scopes are numbered from `counts` on.
pub(crate) fn parse(source: &str, dialect: Dialect, counts: &mut Counts) -> Result<Module, Malformed> {
    if u32::try_from(source.len()).is_err() {
        return Err(Malformed { at: 0, message: "the file has 4 GB or more".to_owned() });
    }
    // A file that Python refuses must not take gigabytes here.
    if let Some(at) = too_deep(source, DEEPEST) {
        return Err(Malformed { at, message: nested_too_deep() });
    }
    let mode = match dialect {
        Dialect::Python => Mode::Module,
        Dialect::IPython => Mode::Ipython,
    };
    let parsed =
        stacker::maybe_grow(PARSER_STACK, PARSER_STACK, || parse_unchecked(source, ParseOptions::from(mode)));
    let error = parsed.errors().first().map(|error| Malformed {
        at: error.location.start().to_u32(),
        message: message(&error.error.to_string()),
    });
    let first = counts.functions;
    let mut turning = Turning { counts: *counts, ..Turning::default() };
    let body = match parsed.syntax() {
        ast::Mod::Module(module) => turning.body(&module.body),
        ast::Mod::Expression(_) => Vec::new(),
    };
    if let Some(at) = turning.too_deep {
        // To free a tree this deep would overflow the stack just as well. It is given up instead, once.
        std::mem::forget(parsed);
        return Err(error.unwrap_or(Malformed { at, message: nested_too_deep() }));
    }
    match error {
        Some(error) => Err(error),
        None => {
            *counts = turning.counts;
            Ok(Module { body, functions: first..counts.functions, imports: turning.imports })
        }
    }
}

fn nested_too_deep() -> String {
    format!("nested more than {DEEPEST} levels deep, which Python refuses, too")
}

/// The parser's words in the form of our sentences.
fn message(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.as_str()) {
        (Some(first), rest) if rest.starts_with(char::is_lowercase) || rest.starts_with(' ') => {
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => text.to_owned(),
    }
}

#[derive(Default)]
struct Turning {
    depth: usize,
    too_deep: Option<u32>,
    counts: Counts,
    imports: Vec<Import>,
}

fn next(counter: &mut usize) -> usize {
    *counter += 1;
    *counter - 1
}

fn span(node: &impl Ranged) -> Span {
    Span { start: node.start().to_u32(), end: node.end().to_u32() }
}

fn text(name: &ast::Identifier) -> Box<str> {
    name.as_str().into()
}

impl Turning {
    /// Goes one level deeper, unless that is too deep.
    fn deeper<T>(&mut self, at: u32, otherwise: T, work: impl FnOnce(&mut Turning) -> T) -> T {
        if self.depth >= DEEPEST {
            self.too_deep.get_or_insert(at);
            return otherwise;
        }
        self.depth += 1;
        let result = with_stack(|| work(self));
        self.depth -= 1;
        result
    }

    fn body(&mut self, statements: &[ast::Stmt]) -> Vec<Stmt> {
        statements.iter().map(|statement| self.statement(statement)).collect()
    }

    fn statement(&mut self, statement: &ast::Stmt) -> Stmt {
        let span = span(statement);
        let kind = self.deeper(span.start, StmtKind::Nothing, |turning| turning.statement_kind(statement));
        Stmt { span, kind }
    }

    fn statement_kind(&mut self, statement: &ast::Stmt) -> StmtKind {
        match statement {
            ast::Stmt::FunctionDef(function) => StmtKind::Function(Box::new(self.function(function))),
            ast::Stmt::ClassDef(class) => StmtKind::Class(Box::new(self.class(class))),
            ast::Stmt::Return(node) => StmtKind::Return(node.value.as_deref().map(|value| self.expr(value))),
            ast::Stmt::Delete(node) => StmtKind::Bare(self.exprs(&node.targets)),
            ast::Stmt::TypeAlias(_) => StmtKind::Nothing,
            ast::Stmt::Assign(node) => {
                StmtKind::Assign { targets: self.exprs(&node.targets), value: self.expr(&node.value) }
            }
            ast::Stmt::AugAssign(node) => {
                StmtKind::AugAssign { target: self.expr(&node.target), value: self.expr(&node.value) }
            }
            ast::Stmt::AnnAssign(node) => StmtKind::AnnAssign {
                target: self.expr(&node.target),
                annotation: self.expr(&node.annotation),
                value: node.value.as_deref().map(|value| self.expr(value)),
            },
            ast::Stmt::For(node) => StmtKind::For {
                iter: self.expr(&node.iter),
                target: self.expr(&node.target),
                body: self.body(&node.body),
                orelse: self.body(&node.orelse),
            },
            ast::Stmt::While(node) => StmtKind::While {
                test: self.expr(&node.test),
                body: self.body(&node.body),
                orelse: self.body(&node.orelse),
            },
            ast::Stmt::If(node) => {
                let mut arms = vec![(Some(self.expr(&node.test)), self.body(&node.body))];
                arms.extend(
                    node.elif_else_clauses
                        .iter()
                        .map(|clause| (clause.test.as_ref().map(|test| self.expr(test)), self.body(&clause.body))),
                );
                StmtKind::If(arms)
            }
            ast::Stmt::With(node) => StmtKind::With {
                items: node
                    .items
                    .iter()
                    .map(|item| {
                        (self.expr(&item.context_expr), item.optional_vars.as_deref().map(|to| self.expr(to)))
                    })
                    .collect(),
                body: self.body(&node.body),
            },
            ast::Stmt::Match(node) => StmtKind::Match {
                subject: self.expr(&node.subject),
                cases: node.cases.iter().map(|case| self.case(case)).collect(),
            },
            ast::Stmt::Raise(node) => StmtKind::Bare(
                [&node.exc, &node.cause].into_iter().flatten().map(|part| self.expr(part)).collect(),
            ),
            ast::Stmt::Try(node) => StmtKind::Try {
                body: self.body(&node.body),
                handlers: node.handlers.iter().map(|handler| self.handler(handler)).collect(),
                orelse: self.body(&node.orelse),
                finally: self.body(&node.finalbody),
            },
            ast::Stmt::Assert(node) => {
                let test = self.expr(&node.test);
                StmtKind::Bare(
                    [Some(test), node.msg.as_deref().map(|message| self.expr(message))]
                        .into_iter()
                        .flatten()
                        .collect(),
                )
            }
            ast::Stmt::Import(node) => {
                let import =
                    |alias: &ast::Alias| Import { level: 0, module: text(&alias.name), names: Vec::new() };
                self.imports.extend(node.names.iter().map(import));
                StmtKind::Import(aliases(&node.names))
            }
            ast::Stmt::ImportFrom(node) => {
                self.imports.push(Import {
                    level: node.level,
                    module: node.module.as_ref().map(text).unwrap_or_default(),
                    names: node.names.iter().map(|alias| text(&alias.name)).collect(),
                });
                StmtKind::ImportFrom {
                    module: node.module.as_ref().map(text),
                    names: aliases(&node.names),
                    level: node.level,
                }
            }
            ast::Stmt::Global(node) => StmtKind::Global(node.names.iter().map(text).collect()),
            ast::Stmt::Nonlocal(node) => StmtKind::Nonlocal(node.names.iter().map(text).collect()),
            ast::Stmt::Expr(node) => StmtKind::Expr(self.expr(&node.value)),
            ast::Stmt::Pass(_) | ast::Stmt::Break(_) | ast::Stmt::Continue(_) => StmtKind::Nothing,
            ast::Stmt::IpyEscapeCommand(_) => StmtKind::Magic,
        }
    }

    fn function(&mut self, node: &ast::StmtFunctionDef) -> Function {
        let index = next(&mut self.counts.functions);
        Function {
            index,
            name: text(&node.name),
            decorators: node.decorator_list.iter().map(|decorator| self.expr(&decorator.expression)).collect(),
            parameters: self.parameters(&node.parameters),
            returns: node.returns.as_deref().map(|returns| self.expr(returns)),
            body: FunctionBody::Statements(self.body(&node.body)),
        }
    }

    fn parameters(&mut self, parameters: &ast::Parameters) -> Vec<Parameter> {
        let mut found = Vec::new();
        let mut plain = |turning: &mut Turning, from: &[ast::ParameterWithDefault], kind| {
            found.extend(from.iter().map(|one| turning.parameter(&one.parameter, kind, one.default.as_deref())));
        };
        plain(self, &parameters.posonlyargs, ParameterKind::PositionalOnly);
        plain(self, &parameters.args, ParameterKind::Ordinary);
        plain(self, &parameters.kwonlyargs, ParameterKind::KeywordOnly);
        if let Some(star) = &parameters.vararg {
            found.push(self.parameter(star, ParameterKind::Star, None));
        }
        if let Some(stars) = &parameters.kwarg {
            found.push(self.parameter(stars, ParameterKind::DoubleStar, None));
        }
        found
    }

    fn parameter(&mut self, node: &ast::Parameter, kind: ParameterKind, default: Option<&ast::Expr>) -> Parameter {
        Parameter {
            name: text(&node.name),
            kind,
            annotation: node.annotation.as_deref().map(|annotation| self.expr(annotation)),
            default: default.map(|default| self.expr(default)),
        }
    }

    fn class(&mut self, node: &ast::StmtClassDef) -> Class {
        let index = next(&mut self.counts.classes);
        Class {
            index,
            name: text(&node.name),
            decorators: node.decorator_list.iter().map(|decorator| self.expr(&decorator.expression)).collect(),
            arguments: node.arguments.as_deref().map(|arguments| self.arguments(arguments)).unwrap_or_default(),
            body: self.body(&node.body),
        }
    }

    fn arguments(&mut self, arguments: &ast::Arguments) -> Vec<Argument> {
        let argument = |turning: &mut Turning, one: ast::ArgOrKeyword<'_>| match one {
            ast::ArgOrKeyword::Arg(ast::Expr::Starred(starred)) => {
                Argument { name: ArgumentName::Star, value: turning.expr(&starred.value) }
            }
            ast::ArgOrKeyword::Arg(value) => {
                Argument { name: ArgumentName::Positional, value: turning.expr(value) }
            }
            ast::ArgOrKeyword::Keyword(keyword) => {
                let name = keyword
                    .arg
                    .as_ref()
                    .map_or(ArgumentName::DoubleStar, |name| ArgumentName::Keyword(text(name)));
                Argument { name, value: turning.expr(&keyword.value) }
            }
        };
        arguments.iter_source_order().map(|one| argument(self, one)).collect()
    }

    fn case(&mut self, case: &ast::MatchCase) -> Case {
        let mut names = Vec::new();
        self.pattern(&case.pattern, &mut names);
        Case { names, guard: case.guard.as_deref().map(|guard| self.expr(guard)), body: self.body(&case.body) }
    }

    /// The names that a pattern binds. Patterns look like calls and are none.
    fn pattern(&mut self, pattern: &ast::Pattern, names: &mut Vec<Box<str>>) {
        self.deeper(span(pattern).start, (), |turning| {
            let mut each = |patterns: &[ast::Pattern]| {
                patterns.iter().for_each(|pattern| turning.pattern(pattern, names));
            };
            match pattern {
                ast::Pattern::MatchValue(_) | ast::Pattern::MatchSingleton(_) => {}
                ast::Pattern::MatchSequence(node) => each(&node.patterns),
                ast::Pattern::MatchOr(node) => each(&node.patterns),
                ast::Pattern::MatchMapping(node) => {
                    each(&node.patterns);
                    names.extend(node.rest.as_ref().map(text));
                }
                ast::Pattern::MatchClass(node) => {
                    each(&node.arguments.patterns);
                    node.arguments.keywords.iter().for_each(|keyword| turning.pattern(&keyword.pattern, names));
                }
                ast::Pattern::MatchStar(node) => names.extend(node.name.as_ref().map(text)),
                ast::Pattern::MatchAs(node) => {
                    if let Some(pattern) = &node.pattern {
                        turning.pattern(pattern, names);
                    }
                    names.extend(node.name.as_ref().map(text));
                }
            }
        });
    }

    fn handler(&mut self, handler: &ast::ExceptHandler) -> Handler {
        let ast::ExceptHandler::ExceptHandler(node) = handler;
        Handler {
            kind: node.type_.as_deref().map(|kind| self.expr(kind)),
            name: node.name.as_ref().map(text),
            body: self.body(&node.body),
        }
    }

    fn exprs(&mut self, nodes: &[ast::Expr]) -> Vec<Expr> {
        nodes.iter().map(|node| self.expr(node)).collect()
    }

    fn boxed(&mut self, node: &ast::Expr) -> Box<Expr> {
        Box::new(self.expr(node))
    }

    fn expr(&mut self, node: &ast::Expr) -> Expr {
        let span = span(node);
        let kind = self.deeper(span.start, ExprKind::Opaque, |turning| turning.expr_kind(node));
        Expr { span, kind }
    }

    fn expr_kind(&mut self, node: &ast::Expr) -> ExprKind {
        match node {
            ast::Expr::Name(node) => ExprKind::Name(node.id.as_str().into()),
            ast::Expr::Attribute(node) => ExprKind::Attribute(self.boxed(&node.value), text(&node.attr)),
            ast::Expr::Call(node) => {
                self.imports.extend(imported_by_name(node));
                ExprKind::Call(Box::new(Call {
                    callee: self.expr(&node.func),
                    arguments: self.arguments(&node.arguments),
                    open: span(&node.arguments).start,
                }))
            }
            ast::Expr::Subscript(node) => ExprKind::Subscript(self.boxed(&node.value), self.boxed(&node.slice)),
            ast::Expr::Starred(node) => ExprKind::Starred(self.boxed(&node.value)),
            ast::Expr::Await(node) => ExprKind::Await(self.boxed(&node.value)),
            ast::Expr::Yield(node) => ExprKind::Yield(node.value.as_deref().map(|value| self.boxed(value))),
            ast::Expr::YieldFrom(node) => ExprKind::YieldFrom(self.boxed(&node.value)),
            ast::Expr::Named(node) => ExprKind::Named(self.boxed(&node.target), self.boxed(&node.value)),
            ast::Expr::Lambda(node) => {
                let index = next(&mut self.counts.functions);
                ExprKind::Lambda(Box::new(Function {
                    index,
                    name: "".into(),
                    decorators: Vec::new(),
                    parameters: node.parameters.as_deref().map(|some| self.parameters(some)).unwrap_or_default(),
                    returns: None,
                    body: FunctionBody::Expression(self.expr(&node.body)),
                }))
            }
            ast::Expr::If(node) => {
                ExprKind::If(Box::new([self.expr(&node.test), self.expr(&node.body), self.expr(&node.orelse)]))
            }
            ast::Expr::BinOp(node) => {
                ExprKind::Binary(self.boxed(&node.left), node.op.as_str(), self.boxed(&node.right))
            }
            ast::Expr::UnaryOp(node) => ExprKind::Unary(node.op.as_str(), self.boxed(&node.operand)),
            ast::Expr::BoolOp(node) => ExprKind::Bool(node.op.as_str(), self.exprs(&node.values)),
            ast::Expr::Compare(node) => {
                let left = self.boxed(&node.left);
                let rest = node.ops.iter().zip(&node.comparators);
                ExprKind::Compare(
                    left,
                    rest.map(|(operator, right)| (operator.as_str(), self.expr(right))).collect(),
                )
            }
            ast::Expr::Tuple(node) => ExprKind::Tuple(next(&mut self.counts.displays), self.exprs(&node.elts)),
            ast::Expr::List(node) => ExprKind::List(next(&mut self.counts.displays), self.exprs(&node.elts)),
            ast::Expr::Set(node) => ExprKind::Set(next(&mut self.counts.displays), self.exprs(&node.elts)),
            ast::Expr::Dict(node) => {
                let display = next(&mut self.counts.displays);
                let items = node.items.iter();
                let item =
                    |item: &ast::DictItem| (item.key.as_ref().map(|key| self.expr(key)), self.expr(&item.value));
                ExprKind::Dict(display, items.map(item).collect())
            }
            ast::Expr::ListComp(node) => {
                self.comprehension(ComprehensionKind::List, &[&node.elt], &node.generators)
            }
            ast::Expr::SetComp(node) => self.comprehension(ComprehensionKind::Set, &[&node.elt], &node.generators),
            ast::Expr::DictComp(node) => {
                let elements: Vec<&ast::Expr> = node.key.as_deref().into_iter().chain([&*node.value]).collect();
                self.comprehension(ComprehensionKind::Dict, &elements, &node.generators)
            }
            ast::Expr::Generator(node) => {
                self.comprehension(ComprehensionKind::Generator, &[&node.elt], &node.generators)
            }
            ast::Expr::Slice(node) => {
                let parts = [&node.lower, &node.upper, &node.step];
                ExprKind::Slice(
                    parts.into_iter().map(|part| part.as_deref().map(|part| self.expr(part))).collect(),
                )
            }
            ast::Expr::FString(node) => {
                let elements: Vec<_> = node.value.elements().collect();
                ExprKind::Interpolated(Box::new(Interpolated {
                    is_template: false,
                    parts: self.interpolations(elements, false),
                }))
            }
            ast::Expr::TString(node) => {
                let elements: Vec<_> = node.value.elements().collect();
                ExprKind::Interpolated(Box::new(Interpolated {
                    is_template: true,
                    parts: self.interpolations(elements, true),
                }))
            }
            ast::Expr::StringLiteral(node) => ExprKind::Text(node.value.to_str().into()),
            ast::Expr::BytesLiteral(_) => ExprKind::Bytes,
            ast::Expr::NumberLiteral(node) => ExprKind::Number(match node.value {
                ast::Number::Int(_) => Number::Integer,
                ast::Number::Float(value) => Number::Float(value),
                ast::Number::Complex { .. } => Number::Complex,
            }),
            ast::Expr::BooleanLiteral(node) => ExprKind::Constant(if node.value { "True" } else { "False" }),
            ast::Expr::NoneLiteral(_) => ExprKind::Constant("None"),
            ast::Expr::EllipsisLiteral(_) => ExprKind::Constant("..."),
            ast::Expr::IpyEscapeCommand(_) => ExprKind::Opaque,
        }
    }

    fn comprehension(
        &mut self,
        kind: ComprehensionKind,
        elements: &[&ast::Expr],
        generators: &[ast::Comprehension],
    ) -> ExprKind {
        let index = next(&mut self.counts.comprehensions);
        let display = next(&mut self.counts.displays);
        let clauses = generators
            .iter()
            .map(|clause| Clause {
                iter: self.expr(&clause.iter),
                target: self.expr(&clause.target),
                conditions: self.exprs(&clause.ifs),
            })
            .collect();
        let elements = elements.iter().map(|element| self.expr(element)).collect();
        ExprKind::Comprehension(Box::new(Comprehension { index, display, kind, elements, clauses }))
    }

    fn interpolations<'a>(
        &mut self,
        elements: impl IntoIterator<Item = &'a ast::InterpolatedStringElement>,
        is_template: bool,
    ) -> Vec<Interpolation> {
        let mut found = Vec::new();
        for element in elements {
            if let ast::InterpolatedStringElement::Interpolation(element) = element {
                let format = match &element.format_spec {
                    Some(format) => {
                        let inner: Vec<_> = format.elements.iter().collect();
                        self.deeper(span(element).start, Vec::new(), |turning| {
                            turning.interpolations(inner, is_template)
                        })
                    }
                    None => Vec::new(),
                };
                let text_is_seen = is_template || element.debug_text.is_some();
                found.push(Interpolation { value: self.expr(&element.expression), text_is_seen, format });
            }
        }
        found
    }
}

/// What `import_module("…")` imports.
fn imported_by_name(node: &ast::ExprCall) -> Option<Import> {
    let name = match &*node.func {
        ast::Expr::Name(name) => name.id.as_str(),
        ast::Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => return None,
    };
    let ast::Expr::StringLiteral(text) = node.arguments.args.first().filter(|_| name == "import_module")? else {
        return None;
    };
    let module = text.value.to_str().trim_start_matches('.');
    let level = u32::try_from(text.value.to_str().len() - module.len()).ok()?;
    Some(Import { level, module: module.into(), names: Vec::new() })
}

fn aliases(names: &[ast::Alias]) -> Vec<Alias> {
    names.iter().map(|alias| Alias { name: text(&alias.name), renamed: alias.asname.as_ref().map(text) }).collect()
}
