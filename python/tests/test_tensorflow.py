"""TensorFlow: sessions, estimators and functions under ``jouletree run``.

Needs an environment with TensorFlow: ``tensorflow-2.15`` for all of it, ``frameworks`` for what is not tf.estimator.
"""

from __future__ import annotations

import collections
import re

import pytest
from tensorflow_traces import EXAMPLES, events_of, run

tensorflow = pytest.importorskip("tensorflow", reason="needs TensorFlow")
estimator = pytest.mark.skipif(
    tuple(map(int, tensorflow.__version__.split(".")[:2])) > (2, 15), reason="needs tf.estimator: TensorFlow up to 2.15"
)

SMALL = ["--layers", "2", "--hidden", "128", "--heads", "2", "--seq", "64", "--steps", "4"]

SESSION = """
    import sys
    import numpy as np
    import tensorflow.compat.v1 as tf
    tf.disable_eager_execution()
    x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.float32, [None, 1])
    with tf.variable_scope("net"):
        hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w", [64, 512], initializer=tf.ones_initializer()) * 0.01))
        out = tf.matmul(hidden, tf.get_variable("v", [512, 1], initializer=tf.ones_initializer()))
    loss = tf.reduce_mean((out - y) ** 2)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.001).minimize(loss, global_step=step)
    feed = {x: np.ones([16, 64]), y: np.ones([16, 1])}
    asked = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(4):
            print("loss", session.run([train, loss], feed)[1])
            session.run(step)
        metadata = tf.RunMetadata()
        session.run(out, feed, run_metadata=metadata)
        print("unasked", len(metadata.step_stats.dev_stats))
        session.run(out, feed, options=asked, run_metadata=metadata)
        print("asked", len(metadata.step_stats.dev_stats))
        tf.train.Saver().save(session, "weights")
        try:
            session.run("nothing:0")
        except ValueError:
            print("refused")
"""


@pytest.mark.alone
@estimator
def test_estimators_are_recorded_with_the_names_of_the_paper(tmp_path):
    found = run(tmp_path, [EXAMPLES / "bert_estimator.py", *SMALL])
    assert found.done.returncode == 0, found.done.stderr
    assert found.warnings == ""
    assert (found.count("train", True), found.count("predict", True), len(found.steps)) == (8, 4, 12)
    assert {row["samples"] for row in found.steps} == {"8"}
    names = {name for name, _, _ in found.operations}
    assert "bert/encoder/layer_0/attention/self/query/MatMul" in names
    assert "gradients/bert/encoder/layer_1/output/dense/MatMul_grad/MatMul" in names
    # The model is tiny and the machine may be busy: what is left out is the session's own time.
    assert found.coverage() > 0.7


@estimator
def test_albert_shares_its_layers(tmp_path):
    found = run(tmp_path, [EXAMPLES / "albert_estimator.py", *SMALL, "--stage", "fine-tuning"], steps="2..3")
    assert found.done.returncode == 0, found.done.stderr
    # The first step, which is not wanted, prepares the graph; it counts nevertheless.
    assert (found.count("train", True), found.count("train", False)) == (2, 2)
    names = {name for name, _, _ in found.operations}
    assert any(name.startswith("bert/encoder/transformer/group_0/layer_0/inner_group_0/attention_1") for name in names)
    assert any(name.startswith("bert/encoder/transformer/group_0_1/layer_1/inner_group_0/ffn_1") for name in names)


def test_sessions_give_the_same_results_and_only_steps_count(tmp_path):
    (tmp_path / "plain").mkdir()
    plain = run(tmp_path / "plain", SESSION, level="none")
    found = run(tmp_path, SESSION)
    assert found.done.returncode == plain.done.returncode == 0, found.done.stderr
    assert found.done.stdout == plain.done.stdout
    assert "unasked 0\nasked 1\nrefused" in found.done.stdout
    # Neither initialising nor reading a counter nor saving is a step.
    assert (found.count("train", True), found.count("predict", True), len(found.steps)) == (4, 2, 6)
    assert {row["samples"] for row in found.steps} == {"16"}
    assert len(found.files("tensorflow-*.pb")) == 6
    # Preparing the graph is no part of the first step.
    first, *others = (row["end"] - row["start"] for row in found.steps)
    assert first < 50 * max(others)


HOOK = """
    import tensorflow as tf
    from jouletree.tensorflow import EnergyHook
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        counter = v1.get_variable("counter", [], initializer=v1.zeros_initializer())
        more = counter.assign_add(1.0)
        with v1.train.MonitoredSession(hooks=[EnergyHook("evaluate")]) as session:
            print([float(session.run(more)) for _ in range(3)])
"""


def test_with_the_hook_every_run_is_a_step(tmp_path):
    found = run(tmp_path, HOOK)
    assert found.done.returncode == 0, found.done.stderr
    assert "[1.0, 2.0, 3.0]" in found.done.stdout
    assert (found.count("evaluate", True), len(found.steps)) == (3, 3)


def test_the_hook_alone_does_nothing(tmp_path):
    found = run(tmp_path, HOOK, level="none")
    assert found.done.returncode == 0, found.done.stderr
    assert "[1.0, 2.0, 3.0]" in found.done.stdout
    assert "jouletree run" in found.done.stderr
    assert found.folders == []


FUNCTION = """
    import tensorflow as tf
    w = tf.Variable(tf.ones([64, 64]) * 0.01)
    optimizer = tf.keras.optimizers.SGD(0.001)

    @tf.function(reduce_retracing=True)
    def train(x):
        with tf.GradientTape() as tape, tf.name_scope("net"):
            loss = tf.reduce_mean(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w) ** 2)
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    @tf.function
    def infer(x):
        return helper(tf.matmul(x, w))

    @tf.function
    def helper(x):
        return x + 1.0

    x = tf.ones([32, 64])
    for _ in range(6):
        print("loss", float(train(x)))
        helper(x)
    train(tf.ones([16, 64]))
"""


def test_calls_of_functions_are_steps(tmp_path):
    found = run(tmp_path, FUNCTION + "    infer(x); infer(x)\n    infer.get_concrete_function(x)(x)\n", steps="2..4,6")
    assert found.done.returncode == 0, found.done.stderr
    assert "TensorFlow" not in found.warnings
    train = [row for row in found.steps if row["phase"] == "train"]
    # The first of seven calls traces the function: it is not recorded, so that the beginning of its operations is unknown.
    # The last does so anew, for another shape, and is recorded.
    assert [(row["recorded"], row["samples"]) for row in train] == [
        (False, "32"), (True, "32"), (True, "32"), (True, "32"), (False, "32"), (True, "16")
    ]
    assert {(row["phase"], row["function"]) for row in found.steps} == {("train", "train"), ("predict", "infer")}
    assert found.count("predict") == 1 and len(found.steps) == 7
    assert [row["step"] for row in found.steps] == [str(number) for number in range(1, 8)]
    names = [row["name"] for row in found.windows if row["kind"] == "compilation"]
    assert {"trace train", "first run of train", "prepare train", "first run of infer"} <= set(names)
    # What was compiled is no part of a step.
    compiled = [(int(row["start_ns"]), int(row["end_ns"])) for row in found.windows if row["kind"] == "compilation"]
    assert all(end <= row["start"] or start >= row["end"] for start, end in compiled for row in found.steps)
    assert any(row["kind"] == "overhead" for row in found.windows), "what recording costs is noted"
    inside = [row for row in train if row["recorded"]]
    names = {name for name, start, end in found.operations if inside[0]["start"] <= start and end <= inside[-1]["end"]}
    assert any(name.startswith("net/MatMul") for name in names), names
    assert any("gradient_tape/net/MatMul" in name for name in names), names


def test_the_programs_own_profiler_goes_first(tmp_path):
    program = FUNCTION + """
    import glob
    tf.profiler.experimental.start("own")
    train(x)
    tf.profiler.experimental.stop()
    with tf.profiler.experimental.Profile("other"):
        train(x)
    train(x)
    print("profiles", len(glob.glob("own/**/*.xplane.pb", recursive=True)),
          len(glob.glob("other/**/*.xplane.pb", recursive=True)))
    """
    found = run(tmp_path, program)
    assert found.done.returncode == 0, found.done.stderr
    assert "profiles 1 1" in found.done.stdout
    assert "profiles itself" in found.warnings
    assert [row["recorded"] for row in found.steps[-3:]] == [False, False, True]
    assert len(found.files("*.xplane.pb")) == 3


@pytest.mark.parametrize(
    ("ending", "status", "processes"),
    [
        ("raise SystemError('its own')", 1, 1),
        ("import os; os._exit(7)", 7, 1),
        ("import os; os.chdir('/')", 0, 1),
        ("import os; pid = os.fork(); (os._exit(0) if pid == 0 else os.waitpid(pid, 0))", 0, 1),
        ("import multiprocessing as m; p = m.get_context('spawn').Process(target=print); p.start(); p.join()", 0, 1),
    ],
)
def test_however_a_program_ends_its_steps_are_kept(tmp_path, ending, status, processes):
    body = FUNCTION.replace("\n    ", "\n        ")
    found = run(tmp_path, f"    if __name__ == '__main__':\n{body}\n        {ending}\n")
    assert found.done.returncode == status, found.done.stderr
    # A function that is traced anew has a window of its own.
    assert (found.count("train"), len(found.files("*.xplane.pb")), len(found.folders)) == (7, 2, processes)
    assert found.count("train", True) == 7


def test_level_module_notes_steps_without_the_profiler(tmp_path):
    found = run(tmp_path, FUNCTION, level="module")
    assert found.done.returncode == 0, found.done.stderr
    assert (found.count("train", False), len(found.steps)) == (5, 5)
    assert found.files("tensorflow-*.pb") == []
    assert found.files("spans.csv")[0].read_text().count(",step,train,") == 5
    assert "no modules" in found.warnings
    # Keras 3 imports JAX without using it.
    assert "JAX" not in found.warnings


EAGER = """
    import tensorflow as tf
    keras = tf.keras
    dense = keras.layers.Dense
    net = keras.Sequential([keras.Input((32,)), dense(64, name="a"), dense(1, name="b")], name="net")
    w, optimizer, x = tf.Variable(tf.ones([32, 1])), keras.optimizers.SGD(0.001), tf.ones([16, 32])

    def penalised():
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_mean(net(x) ** 2)
            loss += tf.reduce_mean(inner.gradient(loss, x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))

    def by_hand():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(x, w) ** 2)
        w.assign_sub(0.001 * tape.gradient(loss, w))
        return loss

    for _ in range(3):
        penalised()
    for _ in range(4):
        print("loss", float(by_hand()))
    for _ in range(5):
        net(x)
    tf.matmul(x, w)
    keras.Sequential([keras.Input((32,)), net])
    lite = tf.lite.Interpreter(model_content=tf.lite.TFLiteConverter.from_keras_model(net).convert())
    lite.allocate_tensors()
    for _ in range(6):
        lite.invoke()
"""


def test_programs_without_functions_have_steps(tmp_path):
    found = run(tmp_path, EAGER)
    assert found.done.returncode == 0, found.done.stderr
    counts = collections.Counter((row["phase"], row["function"], row["recorded"], row["samples"]) for row in found.steps)
    lite = counts.pop(("predict", "TensorFlow Lite", False, ""))
    assert (lite, "TensorFlow Lite runs models outside" in found.warnings) == (6, True)
    assert counts == {
        ("train", "penalised", True, "16"): 3,
        ("train", "by_hand", True, ""): 4,
        ("predict", "net", True, "16"): 5,
    }
    events = [event for path in found.files("*.xplane.pb") for event in events_of(path)]
    assert {"scope::net", "scope::net/a", "scope::gradient_tape", "EagerLocalExecute: MatMul"} <= set(events)
    assert [line for line in found.done.stdout.splitlines() if line.startswith("loss")][:1] == ["loss 1024.0"]


def test_a_program_without_any_step_is_told_why(tmp_path):
    found = run(tmp_path, "import tensorflow as tf\nprint(float(tf.reduce_sum(tf.ones([4, 4]) @ tf.ones([4, 4]))))\n")
    assert (found.done.returncode, found.done.stdout, found.steps) == (0, "64.0\n", [])
    assert "no step was found" in found.warnings
    (tmp_path / "unused").mkdir()
    assert run(tmp_path / "unused", "import tensorflow\nprint(1)\n").warnings == ""


def test_a_version_that_is_not_known_runs_as_before(tmp_path):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("__version__ = '99.0.0'\n")
    found = run(tmp_path, "import tensorflow as tf\nprint('version', tf.__version__)\n")
    assert (found.done.returncode, found.done.stdout) == (0, "version 99.0.0\n")
    assert "TensorFlow 99.0.0 is not known" in found.warnings
    assert found.done.stderr == ""


def test_importing_the_adapter_imports_no_framework(tmp_path):
    program = """
        import sys
        import jouletree.tensorflow, jouletree.keras
        print(sorted({"tensorflow", "keras", "numpy"} & set(sys.modules)))
    """
    assert run(tmp_path, program, level="none").done.stdout == "[]\n"


COST = """
    import statistics, sys, tempfile, time
    sys.path.insert(0, EXAMPLES)
    sys.argv[1:] = ["--layers", "2", "--hidden", "128", "--heads", "2", "--seq", "64"]
    import bert_estimator, bert_tf1, tensorflow as tf
    from jouletree._plan import StepPlan
    from jouletree._session import current
    v1, options, never, always = tf.compat.v1, bert_tf1.arguments(""), StepPlan("0"), StepPlan("1..")
    current().plan = never
    with tf.Graph().as_default():
        data = v1.data.make_one_shot_iterator(bert_tf1.synthetic_data(options, 4).repeat()).get_next()
        with v1.variable_scope("bert"):
            x, pooled, table = bert_estimator.encode(data, options, True)
        loss = bert_tf1.masked_language_loss(x, table, data, options)
        loss += bert_tf1.classification(pooled, data["labels"], "cls/seq_relationship")[0]
        train = bert_tf1.training(loss, 1000)
        theirs = v1.train.MonitoredSession(hooks=[v1.train.ProfilerHook(save_steps=1, output_dir=tempfile.mkdtemp())])
        ours = v1.train.MonitoredSession()
        times = {"plain": [], "ours": [], "ProfilerHook": []}
        for turn in range(13):
            for kind, each in times.items():
                current().plan = always if kind == "ours" else never
                began = time.process_time()
                (theirs if kind == "ProfilerHook" else ours).run(train)
                each.append((time.process_time() - began) * 1e3)
    medians = {kind: statistics.median(each[3:]) for kind, each in times.items()}
    print(*(f"{kind} {median:.1f}" for kind, median in medians.items()))
"""


@estimator
def test_our_trace_costs_less_than_profiler_hook(tmp_path):
    found = run(tmp_path, COST.replace("EXAMPLES", repr(str(EXAMPLES))))
    assert found.done.returncode == 0, found.done.stderr
    plain, ours, theirs = map(float, re.findall(r"[\d.]+", found.done.stdout))
    print(f"CPU ms of a step: {plain} plain, {ours} recorded ({ours / plain - 1:+.0%}), {theirs} with ProfilerHook "
          f"({theirs / plain - 1:+.0%})")
    assert ours < theirs


LOOP = """
    import jouletree._session, jouletree._tensorflow.profiler
    jouletree._session._COST_SECONDS, jouletree._tensorflow.profiler._EVENT_SECONDS = BUDGET, 1.0
    import tensorflow as tf
    weights = tf.Variable(tf.ones([8, 8]))
    @tf.function
    def apply(x):
        for _ in tf.range(50):
            x = x @ weights
        return x
    @tf.function
    def once(x):
        return x @ weights
    for _ in range(12):
        apply(tf.ones([2, 8]))
    for _ in range(12):
        once(tf.ones([2, 8]))
"""


@pytest.mark.parametrize(("budget", "loop", "plain"), [(20, 3, 0), (200, 3, 12)])
def test_a_window_has_as_many_steps_as_recording_may_cost(tmp_path, budget, loop, plain):
    """An event costs a second here, and the whole program may cost `budget` of them: a loop of 50 matrix products has more
    than 200, which only its first window shows; one product has at most five for each of its few nodes."""
    found = run(tmp_path, LOOP.replace("BUDGET", str(budget)), steps="1..20")
    assert found.done.returncode == 0, found.done.stderr
    recorded = [row["recorded"] for row in found.steps if row["function"] == "apply"]
    assert recorded == [True] * loop + [False] * (12 - loop)
    assert [row["recorded"] for row in found.steps if row["function"] == "once"].count(True) == plain
    assert "fewer steps are recorded" in found.warnings
