//! Random Python programs that call a made-up library. Every expression is a whole number, so that every program runs.

#![allow(dead_code)]

use proptest::collection::vec;
use proptest::prelude::*;

/// An expression whose value is a number.
pub fn expression(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        4 => (0..9_u8).prop_map(|number: u8| number.to_string()),
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => Just("lib.CONSTANT".to_owned()),
        1 => Just("lib.f()".to_owned()),
        1 => Just("obj.m()".to_owned()),
        1 => Just("g(1)".to_owned()),
    ];
    leaf.prop_recursive(depth, 40, 4, |inner| {
        let one = inner.clone();
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            4 => vec(inner.clone(), 0..4).prop_map(|parts| format!("lib.f({})", parts.join(", "))),
            2 => two.clone().prop_map(|(x, y)| format!("lib.Obj({x}).m({y})")),
            2 => two.clone().prop_map(|(x, y)| format!("lib.sub.h(*[{x}], k={y})")),
            1 => two.clone().prop_map(|(x, y)| format!("lib.sub.h(**{{'k': {x}}}, j={y})")),
            2 => two.clone().prop_map(|(x, y)| format!("(lib.f)({x} , {y})")),
            1 => one.clone().prop_map(|x| format!("lib . f \\\n  ( {x} )")),
            1 => one.clone().prop_map(|x| format!("(lib.f  # ( why\n ({x}))")),
            2 => one.clone().prop_map(|x| format!("obj.child.m({x})")),
            2 => one.clone().prop_map(|x| format!("obj({x})")),
            1 => one.clone().prop_map(|x| format!("imported({x})")),
            1 => two.clone().prop_map(|(x, y)| format!("lib.make({x})({y})")),
            1 => two.clone().prop_map(|(x, y)| format!("lib.Obj({x}).self().self().m({y})")),
            2 => two.clone().prop_map(|(x, y)| format!("({x} + {y})")),
            1 => two.clone().prop_map(|(x, y)| format!("({x} and {y})")),
            1 => two.clone().prop_map(|(x, y)| format!("({x} or lib.f({y}))")),
            1 => two.clone().prop_map(|(x, y)| format!("({x} < lib.f({y}) <= {x})")),
            1 => one.clone().prop_map(|x| format!("(not(lib.f)({x}))")),
            1 => one.clone().prop_map(|x| format!("-lib.f({x})")),
            2 => three.clone().prop_map(|(x, y, z)| format!("({x} if {y} else {z})")),
            1 => two.clone().prop_map(|(x, y)| format!("(0if {x} else(lib.f)({y}))")),
            2 => two.clone().prop_map(|(x, y)| format!("len([{x} for v in range(lib.f({y}) % 3) if v])")),
            1 => two.clone().prop_map(|(x, y)| format!("sum(lib.f(v, {x}) for v in [{y}, 1])")),
            1 => two.clone().prop_map(|(x, y)| format!("len({{lib.f({x}): {y}}})")),
            1 => two.clone().prop_map(|(x, y)| format!("len(({x}, *[{y}]))")),
            1 => two.clone().prop_map(|(x, y)| format!("(lambda q, r=lib.f({x}): lib.f(q, r))({y})")),
            1 => one.clone().prop_map(|x| format!("(w := lib.f({x}))")),
            1 => Just("len(f'{lib.f(1)!r:>{lib.f(2)}} {obj.m()}')".to_owned()),
            1 => Just("len(f'{lib.f(1)=}')".to_owned()),
            1 => one.clone().prop_map(|x| format!("lib.table['k']({x})")),
            1 => one.clone().prop_map(|x| format!("getattr(lib, 'f')({x})")),
            1 => one.prop_map(|x| format!("sum(v for v in (lib.f({x}),))")),
        ]
    })
    .boxed()
}

/// Lines of statements, indented by one level each.
fn block(depth: u32, in_function: bool) -> BoxedStrategy<Vec<String>> {
    vec(statement(depth, in_function), 1..4).prop_map(|parts| parts.concat()).boxed()
}

fn indented(lines: &[String]) -> Vec<String> {
    // Lines inside of an expression may be indented, too.
    lines.iter().map(|line| format!("  {}", line.replace('\n', "\n  "))).collect()
}

fn with_head(head: &str, body: &[String]) -> Vec<String> {
    [vec![head.to_owned()], indented(body)].concat()
}

fn statement(depth: u32, in_function: bool) -> BoxedStrategy<Vec<String>> {
    let value = || expression(2);
    let name = || prop::sample::select(vec!["a", "b", "c"]);
    let simple = prop_oneof![
        3 => (name(), value()).prop_map(|(name, value)| vec![format!("{name} = {value}")]),
        2 => value().prop_map(|value| vec![value]),
        1 => (name(), value()).prop_map(|(name, value)| vec![format!("{name} += {value}")]),
        1 => (name(), value()).prop_map(|(name, value)| vec![format!("{name}: int = {value}  # kept")]),
        1 => (value(), value()).prop_map(|(x, y)| vec![format!("a, (b, *_) = {x}, [{y}, 1]")]),
        1 => value().prop_map(|value| vec![format!("print('p', {value})")]),
        1 => value().prop_map(|value| vec![format!("assert {value} is not None, lib.f()")]),
        1 => value().prop_map(|value| vec![format!("obj.attr = {value}")]),
        1 => value().prop_map(|value| vec![format!("lib.Obj({value}).attr = lib.f(1); a = 2")]),
        1 => value().prop_map(|value| vec![format!("del lib.make_list({value})[0]")]),
    ];
    if depth == 0 {
        return simple.boxed();
    }
    let inner = move || block(depth - 1, in_function);
    let function = move || block(depth - 1, true);
    let returning = if in_function { 2 } else { 0 };
    let mut choices: Vec<(u32, BoxedStrategy<Vec<String>>)> = vec![
        (6, simple.boxed()),
        (
            1,
            (value(), inner(), inner())
                .prop_map(|(test, yes, no)| {
                    [with_head(&format!("if {test}:"), &yes), with_head("else:", &no)].concat()
                })
                .boxed(),
        ),
        (
            1,
            (value(), inner())
                .prop_map(|(value, body)| with_head(&format!("for i in range({value} % 3):"), &body))
                .boxed(),
        ),
        (
            1,
            inner()
                .prop_map(|body| {
                    let body = [body, vec!["n -= 1".to_owned()]].concat();
                    [vec!["n = 2".to_owned()], with_head("while n > 0 and lib.f(n) is not None:", &body)].concat()
                })
                .boxed(),
        ),
        (
            1,
            (value(), inner())
                .prop_map(|(value, body)| {
                    with_head(
                        &format!("with lib.context({value}) as obj2, lib.context(2):"),
                        &[vec!["obj2.m()".to_owned()], body].concat(),
                    )
                })
                .boxed(),
        ),
        (
            1,
            (value(), inner(), inner())
                .prop_map(|(value, body, handler)| {
                    let body = [body, vec![format!("lib.fail({value})")]].concat();
                    [
                        with_head("try:", &body),
                        with_head("except lib.Error as error:", &handler),
                        with_head("finally:", &["lib.f('finally')".to_owned()]),
                    ]
                    .concat()
                })
                .boxed(),
        ),
        (
            1,
            (value(), function(), value())
                .prop_map(|(default, body, result)| {
                    let body = [
                        vec!["a, b, c, n, w = x, y, 1, 0, 0".to_owned()],
                        body,
                        vec![format!("return lib.f({result})")],
                    ]
                    .concat();
                    [
                        with_head(&format!("def local(x, y={default}, *rest, **named):"), &body),
                        vec!["a = local(1) + local(2, 3, 4, k=lib.f(5))".to_owned()],
                    ]
                    .concat()
                })
                .boxed(),
        ),
        (
            1,
            (function(), value())
                .prop_map(|(body, value)| {
                    let body = [
                        vec!["a = b = c = n = w = 1".to_owned()],
                        body,
                        vec![format!("yield lib.f({value})"), "yield from [lib.f(1)]".to_owned()],
                    ]
                    .concat();
                    [with_head("def generated():", &body), vec!["for item in generated(): lib.f(item)".to_owned()]]
                        .concat()
                })
                .boxed(),
        ),
        (
            1,
            (function(), value())
                .prop_map(|(body, value)| {
                    let body = [
                        vec!["a = b = c = n = w = 1".to_owned()],
                        body,
                        vec![format!("return await lib.later({value}) + (await lib.later(1))")],
                    ]
                    .concat();
                    [
                        with_head("async def later():", &body),
                        vec!["import asyncio; lib.f(asyncio.run(later()))".to_owned()],
                    ]
                    .concat()
                })
                .boxed(),
        ),
        (
            1,
            (function(), value())
                .prop_map(|(body, value)| {
                    let init = with_head(
                        "def __init__(self, x):",
                        &["super().__init__(x)".to_owned(), "self.inner = lib.Obj(x)".to_owned()],
                    );
                    let method = with_head(
                        "def own(self, x):",
                        &[
                            vec!["a = b = c = n = w = 1".to_owned()],
                            body,
                            vec!["return self.inner.m(x) + self.m(super().m(x))".to_owned()],
                        ]
                        .concat(),
                    );
                    let class = with_head(
                        "class Own(lib.Obj):",
                        &[vec!["field = lib.f('class')".to_owned()], init, method].concat(),
                    );
                    [class, vec![format!("own = Own({value}); a = own.own(1) + own(2)")]].concat()
                })
                .boxed(),
        ),
        (
            1,
            (value(), inner())
                .prop_map(|(value, body)| {
                    [
                        with_head(&format!("@lib.decorated({value})"), &[]),
                        with_head("def decorated():", &["pass".to_owned()]),
                        vec!["decorated()".to_owned()],
                        body,
                    ]
                    .concat()
                })
                .boxed(),
        ),
        (
            1,
            (value(), inner())
                .prop_map(|(value, body)| {
                    let cases = [
                        with_head("case 1 | 2:", &["lib.f('one')".to_owned()]),
                        with_head("case int(x) if lib.f(x):", &body),
                        with_head("case _:", &["pass".to_owned()]),
                    ]
                    .concat();
                    with_head(&format!("match(lib.f)({value}):"), &cases)
                })
                .boxed(),
        ),
    ];
    if returning > 0 {
        choices.push((
            returning,
            value()
                .prop_map(|value| with_head(&format!("if lib.f({value}) == 3:"), &["return(lib.f)(1)".to_owned()]))
                .boxed(),
        ));
    }
    proptest::strategy::Union::new_weighted(choices).boxed()
}

/// A whole program, in one of several dresses.
pub fn program() -> impl Strategy<Value = String> {
    let lead = prop::sample::select(vec![
        "",
        "\"\"\"Docstring\nof two lines.\"\"\"\n",
        "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n'doc'  # comment\nfrom __future__ import annotations\n",
        "# a comment\n\n",
        "from __future__ import (division,\n    generators)  # both\n",
    ]);
    let imports = prop::sample::select(vec![
        "import lib\nfrom lib import f as imported\n",
        "import lib, sys; from lib import f as imported\n",
        "if True:\n  import lib\n  from lib import f as imported\n",
        "try: import lib\nexcept ImportError: raise\nelse: from lib import f as imported\n",
    ]);
    (lead, imports, block(3, false), any::<bool>()).prop_map(|(lead, imports, body, is_dos)| {
        let start = "a = b = c = n = w = 1\nobj = lib.Obj(0)\ndef g(x, y=lib.f(0)):\n\treturn lib.f(x) + y\n";
        let text = format!("{lead}{imports}{start}{}\nprint(a, b, c)\n", body.join("\n"));
        if is_dos { text.replace('\n', "\r\n") } else { text }
    })
}
