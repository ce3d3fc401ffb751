//! The syntax of a Python program as the patcher sees it: what is bound, what is called, and where. Everything
//! here is independent of the parser; `syntax` makes it.

use std::ops::Range;

/// A stretch of source text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

/// How many scopes and displays there are, so that tables can be made in advance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Functions and lambdas are numbered in the order of the text, and so are the others.
    pub functions: usize,
    pub classes: usize,
    pub comprehensions: usize,
    /// Literals that hold other values.
    pub displays: usize,
}

/// A file: its statements and what it imports. Numbers go on from one file of a program to the next.
#[derive(Debug)]
pub(crate) struct Module {
    pub body: Vec<Stmt>,
    pub functions: Range<usize>,
    pub imports: Vec<Import>,
}

/// An import, in whatever scope it is.
#[derive(Debug)]
pub(crate) struct Import {
    /// How many dots it begins with.
    pub level: u32,
    pub module: Box<str>,
    /// What is taken from it, each of which may be a module.
    pub names: Vec<Box<str>>,
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub span: Span,
    pub kind: StmtKind,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Expr(Expr),
    Assign {
        targets: Vec<Expr>,
        value: Expr,
    },
    AugAssign {
        target: Expr,
        value: Expr,
    },
    AnnAssign {
        target: Expr,
        annotation: Expr,
        value: Option<Expr>,
    },
    Return(Option<Expr>),
    For {
        target: Expr,
        iter: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    While {
        test: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    /// `if`, every `elif`, and `else`, which has no test.
    If(Vec<(Option<Expr>, Vec<Stmt>)>),
    With {
        items: Vec<(Expr, Option<Expr>)>,
        body: Vec<Stmt>,
    },
    Match {
        subject: Expr,
        cases: Vec<Case>,
    },
    Try {
        body: Vec<Stmt>,
        handlers: Vec<Handler>,
        orelse: Vec<Stmt>,
        finally: Vec<Stmt>,
    },
    Import(Vec<Alias>),
    ImportFrom {
        module: Option<Box<str>>,
        names: Vec<Alias>,
        level: u32,
    },
    /// `global` and `nonlocal`.
    Global(Vec<Box<str>>),
    Nonlocal(Vec<Box<str>>),
    Function(Box<Function>),
    Class(Box<Class>),
    /// `raise`, `assert`, `del`: expressions and nothing else.
    Bare(Vec<Expr>),
    /// `pass`, `break`, `continue`, a type alias.
    Nothing,
    /// A magic of IPython.
    Magic,
}

/// `name` of an import, with its `as`.
#[derive(Debug)]
pub(crate) struct Alias {
    pub name: Box<str>,
    pub renamed: Option<Box<str>>,
}

#[derive(Debug)]
pub(crate) struct Case {
    /// The names that the pattern binds.
    pub names: Vec<Box<str>>,
    pub guard: Option<Expr>,
    pub body: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) struct Handler {
    pub kind: Option<Expr>,
    pub name: Option<Box<str>>,
    pub body: Vec<Stmt>,
}

/// A function or a lambda.
#[derive(Debug)]
pub(crate) struct Function {
    pub index: usize,
    /// Empty for a lambda.
    pub name: Box<str>,
    pub decorators: Vec<Expr>,
    pub parameters: Vec<Parameter>,
    pub returns: Option<Expr>,
    pub body: FunctionBody,
}

#[derive(Debug)]
pub(crate) enum FunctionBody {
    Statements(Vec<Stmt>),
    Expression(Expr),
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub name: Box<str>,
    pub kind: ParameterKind,
    pub annotation: Option<Expr>,
    pub default: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    PositionalOnly,
    Ordinary,
    Star,
    KeywordOnly,
    DoubleStar,
}

#[derive(Debug)]
pub(crate) struct Class {
    pub index: usize,
    pub name: Box<str>,
    pub decorators: Vec<Expr>,
    pub arguments: Vec<Argument>,
    pub body: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Name(Box<str>),
    Attribute(Box<Expr>, Box<str>),
    Call(Box<Call>),
    Subscript(Box<Expr>, Box<Expr>),
    Starred(Box<Expr>),
    Await(Box<Expr>),
    Yield(Option<Box<Expr>>),
    YieldFrom(Box<Expr>),
    Named(Box<Expr>, Box<Expr>),
    Lambda(Box<Function>),
    /// Test, value if true, value if false.
    If(Box<[Expr; 3]>),
    Binary(Box<Expr>, &'static str, Box<Expr>),
    Unary(&'static str, Box<Expr>),
    /// `and`, `or`.
    Bool(&'static str, Vec<Expr>),
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    Tuple(usize, Vec<Expr>),
    List(usize, Vec<Expr>),
    Set(usize, Vec<Expr>),
    /// A missing key is `**value`.
    Dict(usize, Vec<(Option<Expr>, Expr)>),
    Comprehension(Box<Comprehension>),
    Slice(Vec<Option<Expr>>),
    Interpolated(Box<Interpolated>),
    Text(Box<str>),
    Bytes,
    Number(Number),
    /// `True`, `False`, `None`, `...`.
    Constant(&'static str),
    /// A magic of IPython, or what the parser could not make out.
    Opaque,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Integer,
    Float(f64),
    Complex,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub callee: Expr,
    pub arguments: Vec<Argument>,
    /// Where the opening parenthesis of the arguments is.
    pub open: u32,
}

#[derive(Debug)]
pub(crate) struct Argument {
    pub name: ArgumentName,
    pub value: Expr,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ArgumentName {
    Positional,
    /// `*value`; the value is what follows the star.
    Star,
    Keyword(Box<str>),
    DoubleStar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComprehensionKind {
    List,
    Set,
    Dict,
    Generator,
}

#[derive(Debug)]
pub(crate) struct Comprehension {
    pub index: usize,
    /// What holds the values, among the displays.
    pub display: usize,
    pub kind: ComprehensionKind,
    /// The element, or key and value.
    pub elements: Vec<Expr>,
    pub clauses: Vec<Clause>,
}

/// `for target in iter if …`.
#[derive(Debug)]
pub(crate) struct Clause {
    pub target: Expr,
    pub iter: Expr,
    pub conditions: Vec<Expr>,
}

/// An f-string or a t-string.
#[derive(Debug)]
pub(crate) struct Interpolated {
    pub is_template: bool,
    pub parts: Vec<Interpolation>,
}

#[derive(Debug)]
pub(crate) struct Interpolation {
    pub value: Expr,
    /// Whether the program sees the text of the expression: `{value=}`, and everything in a t-string.
    pub text_is_seen: bool,
    /// What the format specification interpolates.
    pub format: Vec<Interpolation>,
}
