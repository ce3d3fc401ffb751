//! Expressions as Python's `ast.unparse` writes them: one quote, one space around operators, brackets only where needed.
//! FECoM's names are such texts. The texts of f-strings and bytes are taken as they are.

use crate::syntax::with_stack;
use crate::tree::*;

/// How tightly something binds, in Python's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Walrus,
    Tuple,
    Yield,
    Test,
    Or,
    And,
    Not,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Term,
    Factor,
    Power,
    Await,
    Atom,
}

impl Level {
    fn next(self) -> Level {
        use Level::*;
        let order = [
            Walrus, Tuple, Yield, Test, Or, And, Not, Compare, BitOr, BitXor, BitAnd, Shift, Sum, Term, Factor,
            Power, Await, Atom,
        ];
        let at = order.iter().position(|level| *level == self).unwrap_or(order.len());
        order.get(at + 1).copied().unwrap_or(Atom)
    }
}

/// A callee without the brackets around its call: what precedes `()`.
pub(crate) fn unparsed_callee(expr: &Expr, source: &str) -> String {
    let mut unparsing = Unparsing { source, text: String::new() };
    unparsing.expr(expr, Level::Atom);
    unparsing.text
}

struct Unparsing<'a> {
    source: &'a str,
    text: String,
}

impl<'a> Unparsing<'a> {
    fn raw(&self, span: Span) -> &'a str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn separated<T>(&mut self, parts: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                self.text += ", ";
            }
            write(self, part);
        }
    }

    /// Writes something in brackets if it binds less tightly than is wanted.
    fn bound(&mut self, own: Level, wanted: Level, write: impl FnOnce(&mut Self)) {
        if wanted > own {
            self.text.push('(');
        }
        write(self);
        if wanted > own {
            self.text.push(')');
        }
    }

    fn expr(&mut self, expr: &Expr, wanted: Level) {
        with_stack(|| self.expr_inner(expr, wanted));
    }

    fn expr_inner(&mut self, expr: &Expr, wanted: Level) {
        match &expr.kind {
            ExprKind::Name(name) => self.text += name,
            ExprKind::Constant(name) => self.text += name,
            ExprKind::Attribute(value, member) => {
                self.expr(value, Level::Atom);
                if matches!(value.kind, ExprKind::Number(Number::Integer)) {
                    self.text.push(' ');
                }
                self.text.push('.');
                self.text += member;
            }
            ExprKind::Call(call) => {
                self.expr(&call.callee, Level::Atom);
                self.text.push('(');
                self.arguments(&call.arguments);
                self.text.push(')');
            }
            ExprKind::Subscript(value, key) => {
                self.expr(value, Level::Atom);
                self.text.push('[');
                match &key.kind {
                    ExprKind::Tuple(_, parts) if !parts.is_empty() => self.items(parts),
                    _ => self.expr(key, Level::Test),
                }
                self.text.push(']');
            }
            ExprKind::Starred(value) => {
                self.text.push('*');
                self.expr(value, Level::BitOr);
            }
            ExprKind::Await(value) => self.bound(Level::Await, wanted, |this| {
                this.text += "await ";
                this.expr(value, Level::Atom);
            }),
            ExprKind::Yield(value) => self.bound(Level::Yield, wanted, |this| {
                this.text += "yield";
                if let Some(value) = value {
                    this.text.push(' ');
                    this.expr(value, Level::Atom);
                }
            }),
            ExprKind::YieldFrom(value) => self.bound(Level::Yield, wanted, |this| {
                this.text += "yield from ";
                this.expr(value, Level::Atom);
            }),
            ExprKind::Named(target, value) => self.bound(Level::Walrus, wanted, |this| {
                this.expr(target, Level::Atom);
                this.text += " := ";
                this.expr(value, Level::Atom);
            }),
            ExprKind::Lambda(function) => self.bound(Level::Test, wanted, |this| this.lambda(function)),
            ExprKind::If(parts) => self.bound(Level::Test, wanted, |this| {
                let [test, yes, no] = &**parts;
                this.expr(yes, Level::Or);
                this.text += " if ";
                this.expr(test, Level::Or);
                this.text += " else ";
                this.expr(no, Level::Test);
            }),
            ExprKind::Binary(left, operator, right) => self.binary(left, operator, right, wanted),
            ExprKind::Unary(operator, value) => {
                let own = if *operator == "not" { Level::Not } else { Level::Factor };
                self.bound(own, wanted, |this| {
                    this.text += operator;
                    if own == Level::Not {
                        this.text.push(' ');
                    }
                    this.expr(value, own);
                });
            }
            ExprKind::Bool(operator, parts) => {
                let own = if *operator == "and" { Level::And } else { Level::Or };
                self.bound(own, wanted, |this| {
                    for (number, part) in parts.iter().enumerate() {
                        if number > 0 {
                            this.text += &format!(" {operator} ");
                        }
                        this.expr(part, own.next());
                    }
                });
            }
            ExprKind::Compare(left, rest) => self.bound(Level::Compare, wanted, |this| {
                this.expr(left, Level::BitOr);
                for (operator, right) in rest {
                    this.text += &format!(" {operator} ");
                    this.expr(right, Level::BitOr);
                }
            }),
            ExprKind::Tuple(_, parts) => {
                self.text.push('(');
                self.items(parts);
                self.text.push(')');
            }
            ExprKind::List(_, parts) => {
                self.text.push('[');
                self.separated(parts, |this, part| this.expr(part, Level::Test));
                self.text.push(']');
            }
            ExprKind::Set(_, parts) if parts.is_empty() => self.text += "{*()}",
            ExprKind::Set(_, parts) => {
                self.text.push('{');
                self.separated(parts, |this, part| this.expr(part, Level::Test));
                self.text.push('}');
            }
            ExprKind::Dict(_, items) => {
                self.text.push('{');
                self.separated(items, |this, (key, value)| match key {
                    Some(key) => {
                        this.expr(key, Level::Test);
                        this.text += ": ";
                        this.expr(value, Level::Test);
                    }
                    None => {
                        this.text += "**";
                        this.expr(value, Level::BitOr);
                    }
                });
                self.text.push('}');
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Slice(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    match (number, part) {
                        (1, _) => self.text.push(':'),
                        (2, Some(_)) => self.text.push(':'),
                        _ => {}
                    }
                    part.iter().for_each(|part| self.expr(part, Level::Test));
                }
            }
            ExprKind::Text(text) => self.text += &quoted(text),
            ExprKind::Number(number) => {
                let raw = self.raw(expr.span);
                self.text += &number_text(*number, raw);
            }
            ExprKind::Interpolated(_) | ExprKind::Bytes | ExprKind::Opaque => {
                let raw = self.raw(expr.span);
                self.text += &single_quoted(raw);
            }
        }
    }

    /// The elements of a tuple: one has a comma behind it.
    fn items(&mut self, parts: &[Expr]) {
        self.separated(parts, |this, part| this.expr(part, Level::Test));
        if parts.len() == 1 {
            self.text.push(',');
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        // Positional arguments come first, as in Python's own tree.
        let is_keyword = |one: &&Argument| matches!(one.name, ArgumentName::Keyword(_) | ArgumentName::DoubleStar);
        let (keywords, positional): (Vec<&Argument>, Vec<&Argument>) = arguments.iter().partition(is_keyword);
        let all: Vec<&Argument> = positional.into_iter().chain(keywords).collect();
        self.separated(&all, |this, argument| {
            match &argument.name {
                ArgumentName::Positional => {}
                ArgumentName::Star => this.text.push('*'),
                ArgumentName::Keyword(name) => this.text += &format!("{name}="),
                ArgumentName::DoubleStar => this.text += "**",
            }
            let wanted = if argument.name == ArgumentName::Star { Level::BitOr } else { Level::Test };
            this.expr(&argument.value, wanted);
        });
    }

    fn lambda(&mut self, function: &Function) {
        self.text += "lambda";
        let mut is_first = true;
        let kinds = [
            ParameterKind::PositionalOnly,
            ParameterKind::Ordinary,
            ParameterKind::Star,
            ParameterKind::KeywordOnly,
            ParameterKind::DoubleStar,
        ];
        let has = |kind| function.parameters.iter().any(|one| one.kind == kind);
        for kind in kinds {
            if kind == ParameterKind::KeywordOnly && has(kind) && !has(ParameterKind::Star) {
                self.text += if is_first { " *" } else { ", *" };
                is_first = false;
            }
            for parameter in function.parameters.iter().filter(|one| one.kind == kind) {
                self.text += if is_first { " " } else { ", " };
                is_first = false;
                match kind {
                    ParameterKind::Star => self.text.push('*'),
                    ParameterKind::DoubleStar => self.text += "**",
                    _ => {}
                }
                self.text += &parameter.name;
                if let Some(default) = &parameter.default {
                    self.text.push('=');
                    self.expr(default, Level::Test);
                }
            }
            if kind == ParameterKind::PositionalOnly && has(kind) {
                self.text += ", /";
            }
        }
        self.text += ": ";
        if let FunctionBody::Expression(body) = &function.body {
            self.expr(body, Level::Test);
        }
    }

    fn binary(&mut self, left: &Expr, operator: &str, right: &Expr, wanted: Level) {
        let own = match operator {
            "|" => Level::BitOr,
            "^" => Level::BitXor,
            "&" => Level::BitAnd,
            "<<" | ">>" => Level::Shift,
            "+" | "-" => Level::Sum,
            "**" => Level::Power,
            _ => Level::Term,
        };
        let (before, after) = if own == Level::Power { (own.next(), own) } else { (own, own.next()) };
        self.bound(own, wanted, |this| {
            this.expr(left, before);
            this.text += &format!(" {operator} ");
            // -1 may follow ** without brackets.
            let is_signed = matches!(right.kind, ExprKind::Unary(..)) && own == Level::Power;
            this.expr(right, if is_signed { Level::Factor } else { after });
        });
    }

    fn comprehension(&mut self, comprehension: &Comprehension) {
        let (open, close) = match comprehension.kind {
            ComprehensionKind::List => ('[', ']'),
            ComprehensionKind::Generator => ('(', ')'),
            ComprehensionKind::Set | ComprehensionKind::Dict => ('{', '}'),
        };
        self.text.push(open);
        for (number, element) in comprehension.elements.iter().enumerate() {
            if number > 0 {
                self.text += ": ";
            }
            self.expr(element, Level::Test);
        }
        for clause in &comprehension.clauses {
            self.text += " for ";
            self.expr(&clause.target, Level::Tuple);
            self.text += " in ";
            self.expr(&clause.iter, Level::Or);
            for condition in &clause.conditions {
                self.text += " if ";
                self.expr(condition, Level::Or);
            }
        }
        self.text.push(close);
    }
}

/// `repr` of a text.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut result = String::with_capacity(text.len() + 2);
    result.push(quote);
    for letter in text.chars() {
        match letter {
            '\\' => result += "\\\\",
            '\n' => result += "\\n",
            '\r' => result += "\\r",
            '\t' => result += "\\t",
            letter if letter == quote => {
                result.push('\\');
                result.push(letter);
            }
            letter if letter.is_control() => result += &format!("\\x{:02x}", u32::from(letter)),
            letter => result.push(letter),
        }
    }
    result.push(quote);
    result
}

/// A literal with single quotes, where that changes nothing else.
fn single_quoted(raw: &str) -> String {
    let can = !raw.contains(['\'', '\\']) && raw.matches('"').count() == 2;
    if can { raw.replace('"', "'") } else { raw.to_owned() }
}

fn number_text(number: Number, raw: &str) -> String {
    let plain = raw.replace('_', "");
    match number {
        Number::Integer => {
            let lower = plain.to_ascii_lowercase();
            let parsed = match lower.get(..2) {
                Some("0x") => u128::from_str_radix(lower.get(2..).unwrap_or_default(), 16).ok(),
                Some("0o") => u128::from_str_radix(lower.get(2..).unwrap_or_default(), 8).ok(),
                Some("0b") => u128::from_str_radix(lower.get(2..).unwrap_or_default(), 2).ok(),
                _ => lower.parse().ok(),
            };
            parsed.map_or(plain, |value| value.to_string())
        }
        Number::Float(value) => float_text(value),
        Number::Complex => plain,
    }
}

/// `repr` of a float.
fn float_text(value: f64) -> String {
    if value.is_infinite() {
        return "1e309".to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if value != 0.0 && !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        _ => {
            let text = value.to_string();
            if text.contains('.') { text } else { format!("{text}.0") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Dialect, parse};

    fn canonical(source: &str) -> String {
        let module = parse(source, Dialect::Python, &mut Counts::default()).unwrap();
        let StmtKind::Expr(expr) = &module.body[0].kind else { panic!("{source}") };
        let mut unparsing = Unparsing { source, text: String::new() };
        unparsing.expr(expr, Level::Test);
        unparsing.text
    }

    /// What CPython 3.11 gives for these.
    #[test]
    fn expressions_are_written_as_python_writes_them() {
        for (source, text) in [
            ("f(a , b= 1. , * c, **d)", "f(a, *c, b=1.0, **d)"),
            ("x [ 1 : 2 ,None]", "x[1:2, None]"),
            ("x[::2]", "x[::2]"),
            ("( a + b ) * c ** - 1", "(a + b) * c ** -1"),
            ("lambda x,y = 2 :x+y", "lambda x, y=2: x + y"),
            ("lambda:0", "lambda: 0"),
            ("\"it's\" 'x'", "\"it'sx\""),
            ("\"a\"", "'a'"),
            ("1e3 + 1e-05 + 1e16 + .5 + 0x1F + 1_000", "1000.0 + 1e-05 + 1e+16 + 0.5 + 31 + 1000"),
            ("(1,)", "(1,)"),
            ("1, 2", "(1, 2)"),
            ("{'a':1,**b}", "{'a': 1, **b}"),
            ("[x for x in y if x if not z]", "[x for x in y if x if not z]"),
            ("f(x for x in y)", "f((x for x in y))"),
            ("a if b else c", "a if b else c"),
            ("not a and b or c", "not a and b or c"),
            ("a < b <= c is not d", "a < b <= c is not d"),
            ("(a or b).c", "(a or b).c"),
            ("1 .real", "1 .real"),
            ("(await x).y", "(await x).y"),
            ("a - (b - c)", "a - (b - c)"),
            ("(a - b) - c", "a - b - c"),
            ("-(-a)", "--a"),
            ("f\"{x}\"", "f'{x}'"),
            ("(y := 2)", "(y := 2)"),
        ] {
            assert_eq!(canonical(source), text, "{source}");
        }
    }
}
