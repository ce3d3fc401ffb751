"""ONNX Runtime programs under ``jouletree run``: every run is a step, and the options of the program stay as they are.

Needs pytest, ONNX Runtime and onnx (the environment `frameworks`).
"""

from __future__ import annotations

import json

import pytest

from conftest import EXAMPLES, PYTHON, covered, run_alone, run_recorded

onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed here")
pytest.importorskip("onnx", reason="onnx is not installed here")

#: A small model, as bytes and in a file.
MODEL = """
import os, numpy, onnx, onnxruntime
from onnx import TensorProto, helper, numpy_helper
weight = numpy.random.default_rng(0).normal(size=(64, 64)).astype("float32")
graph = helper.make_graph(
    [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="/layer.0/dense/MatMul"),
        helper.make_node("Relu", ["h"], ["y"], name="/layer.0/Relu"),
    ],
    "small",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])],
    [numpy_helper.from_array(weight, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
with open("small.onnx", "wb") as file:
    file.write(model)
x = numpy.ones((8, 64), "float32")
cpu = ["CPUExecutionProvider"]
"""


def nodes_of(file) -> list[dict]:
    return [event for event in json.loads(file.read_text()) if event["cat"] == "Node"]


def test_steps_profile_and_model(tmp_path):
    script = MODEL + """
session = onnxruntime.InferenceSession("small.onnx", providers=cpu)
for _ in range(5):
    y, = session.run(None, {"x": x})
print(y.shape, isinstance(session, onnxruntime.InferenceSession), type(session).__name__)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out, outcome.err) == (0, "(8, 64) True InferenceSession\n", "")
    process = outcome.only
    assert process.warnings == []
    assert process.about["frameworks"] == {"onnxruntime": onnxruntime.__version__}
    assert [(step["step"], step["phase"], step["recorded"]) for step in process.steps] == [
        (number, "predict", 1) for number in range(1, 6)
    ]
    (profile,) = process.files("onnx-*[0-9].json")
    start = json.loads(profile.with_suffix(".meta.json").read_text())["start_ns"]
    names = {event["name"] for event in nodes_of(profile)}
    assert names == {"/layer.0/dense/MatMul_kernel_time", "/layer.0/Relu_kernel_time"}
    # By the time base each run lies within its step.
    runs = [event for event in json.loads(profile.read_text()) if event["name"] == "model_run"]
    for step, run in zip(process.steps, runs):
        begin = start + run["ts"] * 1000
        assert step["start_ns"] - 200_000 < begin and begin + run["dur"] * 1000 < step["end_ns"] + 200_000
    (model,) = process.files("model-*.onnx")
    assert model.read_bytes() == (tmp_path / "small.onnx").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"traces", "program.py", "small.onnx"}


def test_models_are_told_apart(tmp_path):
    # On a busy machine recording may cost more of a short program's time than it should.
    script = "import jouletree._session\njouletree._session._COST_SECONDS = 1e9\n" + MODEL + """
os.mkdir("other")
for name, opset in (("other/small", 18), ("quantised", 19)):
    again = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(again, f"{name}.onnx")
sessions = [onnxruntime.InferenceSession("small.onnx", providers=cpu)]
for _ in range(3):
    sessions[0].run(None, {"x": x})
for path in ("small.onnx", "other/small.onnx", "quantised.onnx", model, again.SerializeToString()):
    sessions.append(onnxruntime.InferenceSession(path, providers=cpu))
for session in sessions:
    session.run(None, {"x": x})
"""
    outcome = run_recorded(PYTHON, script, tmp_path, steps="1..2")
    assert (outcome.code, outcome.err) == (0, "")
    process = outcome.only
    assert process.warnings == []
    names = ["small", "small (other)", "quantised"]
    # Each model has a plan of its own; models that come as bytes have the name of their graph.
    assert [(step["function"], step["recorded"]) for step in process.steps] == (
        [("small", 1)] * 2 + [("small", 0)] + [("small", 0)] * 2
        + [(name, 1) for name in (*names[1:], "small (2)", "small (3)")]
    )
    notes = [json.loads(file.read_text()) for file in process.files("onnx-*.meta.json")]
    # The first profile ended while there was one model only.
    assert sorted(note["root"] for note in notes) == sorted([*names, "small (2)", "small (3)"])
    assert all((process.folder / note["model"]).is_file() for note in notes)
    assert len({note["model"] for note in notes}) == 5
    assert "overhead" in {window["kind"] for window in process.windows}


def test_options_of_the_program_stay_as_they_are(tmp_path):
    script = MODEL + """
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
before = options.enable_profiling, options.profile_file_prefix
one = onnxruntime.InferenceSession(model, options, cpu)
two = onnxruntime.InferenceSession(path_or_bytes=model, sess_options=options, providers=cpu)
three = onnxruntime.InferenceSession(model, None, cpu)
print((options.enable_profiling, options.profile_file_prefix) == before)
for session in (one, two, three):
    session.run(None, {"x": x})
print(repr(one.end_profiling()))
class Derived(onnxruntime.InferenceSession):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.note = "derived"
four = Derived(model, providers=cpu)
print(four.note, four.run(["y"], {"x": x})[0].shape)
del four
try:
    onnxruntime.InferenceSession(b"not a model", providers=cpu)
except Exception as error:
    print(type(error).__name__)
try:
    one.run(None, {"z": x})
except ValueError as error:
    print(error)
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    alone = run_alone(PYTHON, tmp_path / "program.py")
    # Without profiling, ONNX Runtime has an empty name for its profile, too.
    assert (outcome.code, outcome.out) == (0, alone.out), outcome.err
    assert len(outcome.only.files("onnx-*[0-9].json")) == 4
    # The run that failed is a step, too.
    assert len(outcome.only.steps) == 5
    assert not outcome.only.files("onnxruntime-*"), "something is left"


def test_a_program_that_profiles_itself(tmp_path):
    script = MODEL + """
options = onnxruntime.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = "own"
session = onnxruntime.InferenceSession(model, options, cpu)
session.run(None, {"x": x})
path = session.end_profiling()
print(path.startswith("own"), os.path.isfile(path), options.enable_profiling)
session.run(None, {"x": x})
left = onnxruntime.InferenceSession(model, options, cpu)
left.run(None, {"x": x})
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out) == (0, "True True True\n"), outcome.err
    process = outcome.only
    assert [step["recorded"] for step in process.steps] == [1, 0, 1]
    copies = [file.read_bytes() for file in process.files("onnx-*[0-9].json")]
    assert copies and set(copies) <= {file.read_bytes() for file in tmp_path.glob("own*.json")}
    assert len(copies) == 2


def test_a_profile_ends_with_the_plan(tmp_path):
    script = MODEL + """
session = onnxruntime.InferenceSession(model, providers=cpu)
for _ in range(6):
    session.run(None, {"x": x})
late = onnxruntime.InferenceSession(model, providers=cpu)
late.run(None, {"x": x})
"""
    process = run_recorded(PYTHON, script, tmp_path, steps="2..3").only
    # What comes before the first chosen step cannot be left out.
    assert [step["recorded"] for step in process.steps] == [1, 1, 1, 0, 0, 0, 0]
    (profile,) = process.files("onnx-*[0-9].json")
    assert len(nodes_of(profile)) == 6


def test_steps_at_a_distance(tmp_path):
    script = MODEL + """
session = onnxruntime.InferenceSession(model, providers=cpu)
for _ in range(120):
    session.run(None, {"x": x})
"""
    process = run_recorded(PYTHON, script, tmp_path, steps="1..3,30,every:100").only
    # The profile stays on for what comes soon, and cannot be taken up again.
    assert [step["step"] for step in process.steps if step["recorded"]] == list(range(1, 31))
    assert ["cannot take a profile up again" in warning for warning in process.warnings] == [True]


def test_other_ways_to_run(tmp_path):
    script = MODEL + """
import threading
session = onnxruntime.InferenceSession(model, providers=cpu)
binding = session.io_binding()
binding.bind_cpu_input("x", x)
binding.bind_output("y")
session.run_with_iobinding(binding)
print(binding.copy_outputs_to_cpu()[0].shape)
value = onnxruntime.OrtValue.ortvalue_from_numpy(x)
print(session.run_with_ort_values(["y"], {"x": value})[0].numpy().shape)
done = threading.Event()
def told(results, data, error):
    print(results[0].shape, data, repr(error))
    done.set()
session.run_async(["y"], {"x": x}, told, "data")
done.wait(20)
threads = [threading.Thread(target=session.run, args=(None, {"x": x})) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
session.set_providers(cpu)
session.run(None, {"x": x})
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    assert (outcome.code, outcome.out) == (0, "(8, 64)\n(8, 64)\n(8, 64) data ''\n"), outcome.err
    process = outcome.only
    assert sorted(step["step"] for step in process.steps) == list(range(1, 9))
    # A session that is made anew within is recorded no more.
    assert sum(step["recorded"] for step in process.steps) == 7
    assert len(nodes_of(*process.files("onnx-*[0-9].json"))) == 14


@pytest.mark.parametrize("end", ["os._exit(4)", "os.kill(os.getpid(), 9)", "raise KeyError('lost')"])
def test_ends_of_other_kinds(tmp_path, end):
    script = MODEL + f"""
session = onnxruntime.InferenceSession(model, providers=cpu)
for _ in range(5):
    session.run(None, {{"x": x}})
if not os.fork():
    os._exit(0)
os.wait()
{end}
"""
    outcome = run_recorded(PYTHON, script, tmp_path)
    process = outcome.only
    if "kill" in end:
        assert outcome.code == -9
        # ONNX Runtime keeps a profile in memory; nothing is there that could be taken for one.
        assert process.files("onnx-*[0-9].json") == []
    else:
        assert outcome.code == (4 if "_exit" in end else 1)
        assert len(process.steps) == 5
        (profile,) = process.files("onnx-*[0-9].json")
        assert len(nodes_of(profile)) == 10


def test_modules_are_not_known(tmp_path):
    script = MODEL + """
session = onnxruntime.InferenceSession(model, providers=cpu)
session.run(None, {"x": x})
print(session.get_session_options().enable_profiling)
"""
    outcome = run_recorded(PYTHON, script, tmp_path, level="module")
    assert (outcome.code, outcome.out) == (0, "False\n")
    assert [step["recorded"] for step in outcome.only.steps] == [0]
    assert outcome.only.files("onnx*") == outcome.only.files("model*") == []
    assert ["layers need --level op" in warning for warning in outcome.warnings] == [True]


@pytest.mark.alone
def test_the_example(tmp_path):
    outcome = run_recorded(PYTHON, str(EXAMPLES / "onnx_infer.py"), tmp_path, arguments=("--steps", "12"))
    assert outcome.code == 0, outcome.err
    process = outcome.only
    (profile,) = process.files("onnx-*[0-9].json")
    start = json.loads(profile.with_suffix(".meta.json").read_text())["start_ns"]
    events = [(start + node["ts"] * 1000, start + (node["ts"] + node["dur"]) * 1000) for node in nodes_of(profile)]
    part = covered(process.steps, events)
    print(json.dumps({"covered": part}))
    assert part > 0.95
    names = {node["name"] for node in nodes_of(profile)}
    assert any(name.startswith("/encoder/layer.3/attention/self/query/MatMul") for name in names)
