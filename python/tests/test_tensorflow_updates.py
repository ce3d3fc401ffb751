"""The variables that an optimizer's operations work for, found in small graphs that are written out here."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow")

from jouletree._tensorflow.updates import updates  # noqa: E402


def graph(nodes, functions=(), variables="wmvux"):
    """A GraphDef: `nodes` are `(name, type, inputs)`, functions `(name, arguments, nodes)`, variables its placeholders."""
    from tensorflow.core.framework import graph_pb2

    made = graph_pb2.GraphDef()
    for variable in variables:
        node = made.node.add(name=variable, op="Placeholder")
        node.attr["dtype"].type = 20
    _fill(made.node, nodes)
    for name, arguments, inside in functions:
        function = made.library.function.add()
        function.signature.name = name
        for argument in arguments:
            function.signature.input_arg.add(name=argument)
        _fill(function.node_def, inside)
    return made


def _fill(place, nodes):
    for name, kind, inputs, *called in nodes:
        node = place.add(name=name, op=kind, input=inputs)
        for number, function in enumerate(called):
            node.attr[f"f{number}"].func.name = function


NAMES = {"w": "net/a/kernel", "u": "net/b/kernel", "m": "adam/m", "v": "adam/v", "x": "adam/rate"}

#: Two layers, with gradients of both.
MODEL = [
    ("net/a/MatMul/ReadVariableOp", "ReadVariableOp", ["w"]),
    ("net/a/MatMul", "MatMul", ["net/a/MatMul/ReadVariableOp"]),
    ("net/b/scale/mul/ReadVariableOp", "ReadVariableOp", ["u"]),
    ("gradient_tape/net/a/MatMul/MatMul", "MatMul", ["net/a/MatMul"]),
    ("gradient_tape/net/b/scale/mul/Mul", "Mul", ["net/b/scale/mul/ReadVariableOp"]),
]

#: A moment of one variable, a rate that both share.
UPDATES = [
    ("adam/rate", "ReadVariableOp", ["x"]),
    ("adam/square", "Square", ["adam/rate"]),
    ("adam/m", "ReadVariableOp", ["m"]),
    ("adam/sub", "Sub", ["gradient_tape/net/a/MatMul/MatMul", "adam/m"]),
    ("adam/AssignAdd", "AssignAddVariableOp", ["m", "adam/sub"]),
    ("adam/m_1", "ReadVariableOp", ["m", "^adam/AssignAdd"]),
    ("adam/step", "Mul", ["adam/m_1:0", "adam/square"]),
    ("adam/AssignSub", "AssignSubVariableOp", ["w", "adam/step"]),
    ("adam/square_1", "Square", ["adam/rate"]),
    ("adam/step_1", "Mul", ["gradient_tape/net/b/scale/mul/Mul", "adam/square_1"]),
    ("adam/AssignSub_1", "AssignSubVariableOp", ["u", "adam/step_1"]),
]


def test_an_update_is_in_the_layer_of_its_variable():
    found = updates(graph(MODEL + UPDATES), NAMES, {})
    first = ["adam/m", "adam/sub", "adam/AssignAdd", "adam/m_1", "adam/step", "adam/AssignSub"]
    # The rate and its squares are not of one variable: TensorFlow computes equal scalars once.
    assert found == {
        **{f"update:{name}": "net/a/kernel" for name in first},
        **{f"update:{name}": "net/b/kernel" for name in ("adam/step_1", "adam/AssignSub_1")},
    }


def test_layers_that_the_program_named_hold_their_variables():
    found = updates(graph(MODEL + UPDATES), NAMES, {"layer:net": "net", "layer:net/a": "a", "layer:net/b": "b"})
    assert set(found.values()) == {"net/a/kernel", "net/b/kernel"}
    found = updates(graph(MODEL + UPDATES), {}, {})
    assert set(found.values()) == {"net/a", "net/b/scale"}, "without names, the scope of what reads them"


def test_a_kernel_that_takes_slots_is_an_update_of_the_variable():
    nodes = [*MODEL, ("adam/update", "ResourceApplyAdam", ["m", "w", "v", "gradient_tape/net/a/MatMul/MatMul"])]
    assert updates(graph(nodes), NAMES, {}) == {"update:adam/update": "net/a/kernel"}


def test_calls_and_loops_are_followed():
    arguments = list("wmvux")
    step = ("step", arguments, MODEL + UPDATES)
    body = ("body", arguments, [("loop/scope/StatefulPartitionedCall", "StatefulPartitionedCall", arguments, "step")])
    nodes = [("loop", "While", arguments, "body")]
    found = updates(graph(nodes, [step, body]), NAMES, {})
    assert found["update:loop/scope|adam/AssignSub"] == "loop/scope|net/a/kernel"
    assert len(found) == 8
    # A function that is called twice at one place is not known apart.
    twice = [("call", "PartitionedCall", arguments, "step"), ("call_1", "PartitionedCall", list("umvwx"), "step")]
    assert "update:adam/AssignSub" not in updates(graph(twice, [step]), NAMES, {})


def test_what_the_data_flow_does_not_say_stays_with_the_optimizer():
    assert updates(graph(UPDATES), NAMES, {}) == {}, "nothing reads the variables"
    averages = [*MODEL, ("net/a/average", "AssignSubVariableOp", ["v", "net/a/MatMul"])]
    assert updates(graph(averages), NAMES, {}) == {}, "a layer's own update is no optimizer's"
    calls = [("f", "PartitionedCall", ["w"], "f")]
    assert updates(graph(calls, [("f", ["w"], calls)]), NAMES, {}) == {}, "functions without an end"
