"""JAX programs under ``jouletree run``: what is taken for a step, what is recorded, and that nothing else changes.

Needs pytest and JAX (the environment `frameworks`).
"""

from __future__ import annotations

import json
import time

import pytest

from conftest import EXAMPLES, PYTHON, covered, run_alone, run_recorded
from jouletree._jax.calls import Calls, Function, phase_of
from jouletree._jax.ledger import Ledger, Row

jax = pytest.importorskip("jax", reason="JAX is not installed here")

#: Reads what the profiler wrote; older versions have no reader.
has_reader = pytest.mark.skipif(not hasattr(jax.profiler, "ProfileData"), reason="JAX cannot read its profiles")

#: Lets recording cost what it costs: on a busy machine it may take more of a short program's time than it should.
AT_ANY_COST = "import jouletree._session\njouletree._session._COST_SECONDS = 1e9\n"

#: A model with names, and a training step.
MODEL = """
import jax, jax.numpy as jnp, numpy
def loss_of(weights, inputs):
    with jax.named_scope("model"):
        for number, weight in enumerate(weights):
            with jax.named_scope(f"layer_{number}"):
                inputs = jnp.tanh(inputs @ weight)
    return (inputs ** 2).mean()
def train_step(weights, inputs):
    loss, gradients = jax.value_and_grad(loss_of)(weights, inputs)
    with jax.named_scope("optimizer"):
        return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients)], loss
random = numpy.random.default_rng(0)
weights = [jnp.asarray(random.normal(size=(300, 300)), jnp.float32) for _ in range(3)]
inputs = jnp.asarray(random.normal(size=(512, 300)), jnp.float32)
"""


# Which calls begin steps


def steps_of(order: str, **seconds: float) -> str:
    """The calls of functions named by letters; a capital letter begins a step."""
    calls, functions = Calls(), {}
    result = ""
    for letter in order:
        function = functions.setdefault(letter, Function(letter))
        timed = function.is_to_be_timed()
        result += letter.upper() if calls.begins_step(function) else letter
        if timed:
            function.took(seconds.get(letter, 1.0))
    return result


def test_every_call_of_one_function_is_a_step():
    assert steps_of("tttt") == "TTTT"


def test_functions_that_take_turns_make_a_step():
    # Gradients and update: the first calls compile.
    assert steps_of("gugugugu") == "GUGuGuGu"
    assert steps_of("pgupgupgu") == "PGUPguPgu"


def test_phases_that_follow_each_other_do_not():
    assert steps_of("ttttteeeettttee") == "TTTTTEEEETTTTEE"


def test_an_evaluation_now_and_then_takes_no_step_away():
    called = steps_of(("t" * 50 + "e") * 4)
    assert (called.count("T"), called.count("E")) == (200, 4)
    # Nor does one that is much heavier, beyond the calls that may be those of a helper.
    assert steps_of(("t" * 50 + "e") * 4, t=0.5).count("T") == 200


class Written:
    """A test double of a session: keeps the steps that are written."""

    def __init__(self):
        self.rows = []

    def next_step(self):
        return len(self.rows) + 1

    def ran_step(self, step, start, end, phase, recorded, function):
        self.rows.append((step, start, end, function, recorded))


def written(order: str, recorded: str = "") -> list[tuple]:
    """The steps that a ledger writes for calls of functions named by letters, at the times 0, 10, 20, …"""
    session, calls = Written(), Calls()
    ledger = Ledger(session)
    calls.when_in_turn = ledger.in_turn
    functions: dict[str, Function] = {}
    under_way = None
    for number, letter in enumerate(order):
        function = functions.setdefault(letter, Function(letter))
        if calls.begins_step(function):
            if under_way:
                ledger.add(under_way._replace(end_ns=10 * number))
            is_recorded = not recorded or letter in recorded
            under_way = Row(10 * number, 0, function, is_recorded, function.was_called_once())
    ledger.add(under_way._replace(end_ns=10 * len(order)))
    ledger.write()
    return session.rows


def test_the_first_round_of_functions_that_take_turns_is_one_step():
    assert [row[:4] for row in written("gugugu")] == [(1, 0, 20, "g"), (2, 20, 40, "g"), (3, 40, 60, "g")]
    assert [row[1:4] for row in written("ipgupgupgu")] == [(0, 10, "i"), (10, 40, "p"), (40, 70, "p"), (70, 100, "p")]
    # What is recorded and what is not stay apart.
    assert [row[1:] for row in written("gugu", "g")] == [(0, 10, "g", True), (10, 20, "u", False), (20, 40, "g", True)]


def test_steps_are_not_held_back_for_ever():
    order = "t" * 5 + "e" + "t" * 60
    assert [row[3] for row in written(order)] == list(order)
    session = Written()
    ledger = Ledger(session)
    train, evaluate = Function("t"), Function("e")
    train.last, train.previous, evaluate.last = 2, 1, 0
    for number, leader in enumerate([train, evaluate] + [train] * 30):
        ledger.add(Row(number, number + 1, leader, False, leader is evaluate))
    assert len(session.rows) >= 32 - 18


def test_light_helpers_belong_to_the_step():
    assert steps_of("hhhthhhthhhthhht", h=0.01) == "HHHTHHHThhhThhhT"


def test_a_light_function_that_is_called_on_and_on_begins_steps():
    called = steps_of("tttt" + "pp" + "p" * 50, p=0.01)
    assert called.startswith("TTTTP")
    assert called[-20:] == "P" * 20


def test_training_between_long_calls_of_something_else():
    called = steps_of("tttt" + "g" + "t" * 50 + "g" + "t" * 50 + "g" + "t" * 50, g=50.0)
    assert called.count("T") > 4 + 150 - 2 * 21
    assert called.count("G") == 3


@pytest.mark.parametrize(
    "name, phase",
    [("train_step", "train"), ("eval_step", "evaluate"), ("predict", "predict"), ("update", "train"), ("", "train")],
)
def test_phases_by_name(name, phase):
    assert phase_of(name) == phase


# Programs


@has_reader
def test_steps_operations_and_compilation(tmp_path):
    script = AT_ANY_COST + MODEL + """
step = jax.jit(train_step)
for _ in range(12):
    weights, loss = step(weights, inputs)
print(float(loss) >= 0)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, steps="1..5,11")
    assert (outcome.code, outcome.out) == (0, "True\n"), outcome.err
    process = outcome.only
    assert process.warnings == []
    assert process.about["frameworks"] == {"jax": jax.__version__}
    assert [step["step"] for step in process.steps] == list(range(1, 13))
    assert [step["step"] for step in process.steps if step["recorded"]] == [1, 2, 3, 4, 5, 11]
    assert {step["phase"] for step in process.steps} == {"train"}
    assert all(one["end_ns"] <= next["start_ns"] for one, next in zip(process.steps, process.steps[1:]))
    compiled = [window for window in process.windows if window["name"].endswith(" train_step")]
    assert {window["name"].split()[0] for window in compiled} == {"trace", "lower", "compile"}
    # Compilation is told and is no part of the step that it precedes.
    assert max(window["end_ns"] for window in compiled) <= process.steps[0]["start_ns"]
    assert len(process.files("jax-*.xplane.pb")) == 2
    # Conversions of the inputs, which the program did not wait for, may still be under way when the first step begins.
    first, second = (operations_of(file, "jit_train_step") for file in process.files("jax-*.xplane.pb"))
    # Each step runs the same instructions; a window holds all of its steps' and no other's.
    assert len(first) == 5 * len(second)
    recorded = [step for step in process.steps if step["recorded"]]
    # By beginnings: results are there, and the waiting program goes on, before XLA's thread notes that it has ended.
    assert recorded[0]["start_ns"] <= min(first)[0] and max(first)[0] < recorded[4]["end_ns"]
    assert recorded[5]["start_ns"] <= min(second)[0] and max(second)[0] < recorded[5]["end_ns"]


@has_reader
def test_functions_that_take_turns_and_looks_at_their_results(tmp_path):
    script = AT_ANY_COST + """
import jax, jax.numpy as jnp
first = jax.jit(lambda x: jnp.tanh(x @ x))
second = jax.jit(lambda x: jnp.sin(x @ x))
@jax.jit
def evaluate(x):
    return jnp.cos(x @ x)
x = jnp.ones((300, 300)) / 300
for _ in range(6):
    y = second(first(x))
    # Compiled after the first step's work has run.
    print(float(y[0, 0]) >= 0)
ahead = evaluate.lower(x).compile()
for call in [evaluate, evaluate, ahead, ahead]:
    call(x)
"""
    process = run_recorded(PYTHON, script, tmp_path, steps="1..3").only
    assert process.warnings == []
    assert [(step["phase"], step["function"], step["recorded"]) for step in process.steps] == (
        [("train", "<lambda>", 1)] * 3 + [("train", "<lambda>", 0)] * 3
        # Each function has a plan of its own.
        # What was compiled ahead of time has the name of its function.
        + [("evaluate", "evaluate", 1)] * 3 + [("evaluate", "evaluate", 0)]
    )
    assert {window["kind"] for window in process.windows} == {"compilation", "overhead"}
    steps = [(step["start_ns"], step["end_ns"]) for step in process.steps if step["recorded"]]
    for file in process.files("jax-*.xplane.pb"):
        # By beginnings, as above: every operation of a function that was called lies within a recorded step.
        for module in ("jit__lambda", "jit_evaluate"):
            for start, _ in operations_of(file, module):
                assert any(begin <= start < end for begin, end in steps), (module, start, steps)
    first = min(operations_of(process.files("jax-1.*")[0], "jit__lambda"))
    assert steps[0][0] <= first[0] < steps[0][1]


def test_a_program_without_jit_is_given_the_reason(tmp_path):
    script = """
import jax, jax.numpy as jnp
weights = jnp.ones((20, 20))
for _ in range(3):
    weights -= 0.1 * jax.grad(lambda w: jnp.sum(jnp.tanh(w @ w)))(weights)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert ["no function compiled by jax.jit" in warning for warning in outcome.only.warnings] == [True]
    # A program that imports JAX and does not use it gets no sentence, at any level.
    other = tmp_path / "other"
    other.mkdir()
    assert run_recorded(PYTHON, "import jax\n", other, level="module").warnings == []


#: A test double of Flax NNX and Equinox, which these environments do not hold: classes whose instances are called.
LIBRARY = """
class Module:
    def __init_subclass__(cls, marked=False):
        super().__init_subclass__()
        cls.marked = marked
class Linear(Module):
    def __init__(self, weight):
        self.weight = weight
    def __call__(self, x):
        "Multiplies."
        return x @ self.weight
"""


def test_modules_without_scopes_of_their_own(tmp_path):
    for name in ("flax/nnx.py", "equinox/nn.py"):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text(LIBRARY)
    (tmp_path / "flax/__init__.py").write_text("")
    (tmp_path / "equinox/__init__.py").write_text(
        "from equinox.nn import Module, Linear\nclass Inside(Module):\n    def __call__(self, f, x): return f(x)\n"
    )
    script = """
import inspect, re, traceback
import jax, jax.numpy as jnp
import equinox
from flax import nnx

def model_of(library):
    class Block(library.Module, marked=True):
        def __init__(self, weight):
            self.parts = {"up": library.Linear(weight), 7: [library.Linear(weight)]}
        def __call__(self, x):
            return self.parts[7][0](jnp.tanh(self.parts["up"](x)))
    class Derived(Block):
        def __call__(self, x):
            return super().__call__(x)
    class Net(library.Module):
        def __init__(self, weight):
            self.blocks = [Block(weight), Derived(weight)]
            self.held = library.Module()
            self.held.head = library.Linear(weight)
        def __call__(self, x):
            for block in self.blocks:
                x = block(x)
            return self.held.head(x) + library.Linear(self.held.head.weight)(x)
    return Net(jnp.ones((4, 4))), Block

x = jnp.ones((2, 4))
for library in (nnx, equinox):
    net, block = model_of(library)
    print(block.marked, library.Linear.__call__.__doc__, inspect.signature(block.__call__), net(x).shape)
    text = jax.jit(lambda x: jax.grad(lambda x: net(x).sum())(x)).lower(x).as_text(debug_info=True)
    print(*sorted(set(re.findall(r'[^"]*jvp[^"]*dot_general', text))), sep="\\n")
    try:
        jax.jit(net.blocks[0])(jnp.ones(3))
    except TypeError as error:
        print(len(traceback.extract_tb(error.__traceback__)))
print(jax.jit(lambda x: equinox.Inside()(jnp.sin, x))(x).shape)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    alone = run_alone(PYTHON, tmp_path / "program.py")
    assert outcome.code == alone.code == 0, outcome.err
    assert outcome.only.warnings == []
    without_names = [line for line in outcome.out.splitlines() if "dot_general" not in line]
    assert without_names == [line for line in alone.out.splitlines() if "dot_general" not in line]
    names = {line for line in outcome.out.splitlines() if "dot_general" in line}
    scopes = {name.replace("transpose(jvp(Net))", "Net").replace("jvp(Net)", "Net") for name in names}
    layers = ("blocks.0/parts/up", "blocks.0/parts.7.0", "blocks.1/parts/up", "blocks.1/parts.7.0", "held/head", "Linear")
    assert scopes == {f"jit(<lambda>)/Net/{layer}/dot_general" for layer in layers}, names


def operations_of(file, module: str | None = None) -> list[tuple[int, int]]:
    """Starts and ends of the operations (of one compiled function) in a profile, in nanoseconds since the epoch."""
    planes = list(jax.profiler.ProfileData.from_file(str(file)).planes)
    base = next(
        value for plane in planes if plane.name == "Task Environment" for name, value in plane.stats
        if name == "profile_start_time"
    )
    began, ended = [], {}
    for plane in planes:
        for line in plane.lines:
            for event in line.events:
                about = dict(event.stats)
                if event.name.startswith("end: "):
                    ended[about.get("_ct"), about.get("_c")] = event.start_ns
                elif "hlo_op" in about and module in (None, about["hlo_module"]):
                    began.append((event.start_ns, event.end_ns, (about.get("_pt"), about.get("_p"))))
    # The work of an operation may go on in other threads after it was begun: an event of its own tells its end.
    return [(int(base + start), int(base + max(end, ended.get(number, 0)))) for start, end, number in began]


def without_log(err: str) -> str:
    """What a program wrote, without what XLA of JAX 0.4 says of its profiler."""
    return "".join(line for line in err.splitlines(True) if "python_hooks.cc" not in line)


def test_a_jitted_function_is_as_before(tmp_path):
    script = """
import copy, functools, inspect, pickle, weakref
import jax, jax.numpy as jnp
from jax import jit

@jax.jit
def plain(x, y=2):
    "Adds."
    return x + y

@functools.partial(jax.jit, static_argnames=("times",))
def static(x, times):
    return x * times

@functools.partial(jax.jit, donate_argnums=0)
def given(x):
    return x + 1

class Model:
    scale = 3.0
    @functools.partial(jit, static_argnums=0)
    def apply(self, x):
        return x * self.scale

x = jnp.arange(3.0)
print(plain(x), plain(x, y=1), static(x, times=4), static(x, 5), Model().apply(x), Model.apply(Model(), x))
print(given(x + 0))
print(plain.__name__, plain.__doc__, plain.__module__, plain.__qualname__)
print(inspect.signature(plain), plain.__wrapped__(1, 2))
print(plain.lower(x).as_text()[:6], plain.trace(x).jaxpr, plain.eval_shape(x).shape, jax.eval_shape(plain, x).shape)
print(isinstance(plain, type(jax._src.api.jit(abs))), isinstance(plain, jax.stages.Wrapped), callable(plain))
print(plain.lower(x).compile()(x))
print(jax.vmap(plain)(x), jax.grad(lambda x: plain(x).sum())(x), jax.jit(plain)(x), jax.make_jaxpr(plain)(x))
print(jax.lax.scan(lambda carry, one: (plain(carry, one), static(one, 2)), 0.0, x))
print(hash(plain) == hash(plain), plain == plain, plain != static, weakref.ref(plain)() is plain, {plain: 1}[plain])
plain.note = "kept"
print(plain.note, "note" in vars(plain), "lower" in dir(plain), plain._cache_size() > 0)
plain.clear_cache()
print(plain._cache_size())
try:
    plain.nothing
except AttributeError as error:
    print(error)
def pickled(function):
    try:
        return type(pickle.loads(pickle.dumps(function))).__name__
    except Exception as error:
        return type(error).__name__, str(error).replace(hex(id(function)), "")
print(pickled(jax.jit(abs)), copy.copy(3))
print(str(inspect.signature(jax.jit)), jax.jit.__name__, jax.jit.__module__)
with jax.disable_jit():
    print(plain(x))
try:
    print(jax.jit(static_argnums=1)(lambda x, n: x * n)(x, 2))
except TypeError as error:
    print("old")
print(repr(plain) == repr(plain), repr(plain)[:12])
"""
    outcome = run_recorded(PYTHON, script, tmp_path, steps="2..3")
    alone = run_alone(PYTHON, tmp_path / "program.py")
    assert (outcome.code, outcome.out) == (0, alone.out), outcome.err
    assert without_log(outcome.err) == without_log(alone.err)


def test_what_is_not_a_step(tmp_path):
    script = MODEL + """
inner = jax.jit(lambda x: x * 2)
@jax.jit
def outer(x):
    return jax.lax.fori_loop(0, 3, lambda _, y: inner(y), x)
jnp.linspace(0, 1, 7).sum()
jax.random.normal(jax.random.key(0), (3,))
for _ in range(4):
    outer(inputs)
jax.vmap(inner)(inputs)
jax.grad(lambda x: inner(x).sum())(inputs)
jax.eval_shape(outer, inputs)
outer.lower(inputs)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, level="module")
    assert outcome.code == 0, outcome.err
    assert len(outcome.only.steps) == 4
    assert not any(step["recorded"] for step in outcome.only.steps)
    assert outcome.only.files("*.pb") == []
    assert ["layers need --level op" in warning for warning in outcome.warnings] == [True]


def test_a_program_that_traces_itself(tmp_path):
    script = MODEL + """
import glob, sys
step = jax.jit(train_step)
for number in range(8):
    if number == 3:
        jax.profiler.start_trace("own")
    weights, loss = step(weights, inputs)
    if number == 5:
        loss.block_until_ready()
        jax.profiler.stop_trace()
with jax.profiler.trace("second"):
    step(weights, inputs)
print(len(glob.glob("own/**/*.xplane.pb", recursive=True)), len(glob.glob("second/**/*.xplane.pb", recursive=True)))
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out) == (0, "1 1\n"), outcome.err
    process = outcome.only
    assert [step["recorded"] for step in process.steps] == [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert len(process.files("jax-*.xplane.pb")) == 1
    assert ["jax.profiler itself" in warning for warning in process.warnings] == [True]


def test_a_failure_within_a_step_is_as_before(tmp_path):
    script = MODEL + """
step = jax.jit(train_step)
weights, loss = step(weights, inputs)
def go():
    step(weights, inputs[:, :7])
go()
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    alone = run_alone(PYTHON, tmp_path / "program.py")
    assert outcome.code == alone.code == 1
    assert without_log(outcome.err) == without_log(alone.err)
    assert "TypeError" in alone.err
    # What was recorded until then is there.
    assert len(outcome.only.steps) == 2
    assert len(outcome.only.files("jax-*.xplane.pb")) == 1


@pytest.mark.parametrize("end", ["os._exit(4)", "os.kill(os.getpid(), 9)"])
def test_ends_of_other_kinds(tmp_path, end):
    script = MODEL + f"""
import os, time
step = jax.jit(train_step)
for number in range(30):
    weights, loss = step(weights, inputs)
    loss.block_until_ready()
    time.sleep(0.1)
{end}
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    process = outcome.only
    if "_exit" in end:
        assert outcome.code == 4
        assert len(process.steps) == 30
    else:
        assert outcome.code == -9
        # Windows that were full are there, and so are their steps.
        assert len(process.steps) >= 10
    assert process.files("jax-*.xplane.pb")


def test_a_fork_while_the_profiler_runs(tmp_path):
    script = MODEL + """
import os, warnings
warnings.simplefilter("ignore")
step = jax.jit(train_step)
for _ in range(3):
    weights, loss = step(weights, inputs)
loss.block_until_ready()
child = os.fork()
if not child:
    os._exit(0)
print(os.waitpid(child, 0)[1])
step(weights, inputs)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out) == (0, "0\n"), outcome.err
    process = outcome.only
    assert len(process.steps) == 4
    assert len(process.files("jax-*.xplane.pb")) == 1


@pytest.mark.alone
@has_reader
def test_the_example(tmp_path):
    began = time.monotonic()
    outcome = run_recorded(
        PYTHON, str(EXAMPLES / "jax_mlp.py"), tmp_path, arguments=("--steps", "30", "--layers", "4"), steps="1..25"
    )
    assert outcome.code == 0, outcome.err
    process = outcome.only
    events = [(span["start_ns"], span["end_ns"]) for span in process.spans]
    for file in process.files("jax-*.xplane.pb"):
        events += operations_of(file)
    part = covered(process.steps, events)
    after = covered([step for step in process.steps if step["step"] > 1], events)
    print(json.dumps({"covered": part, "after the first": after, "seconds": time.monotonic() - began}))
    assert part > 0.95
    assert after > 0.95
