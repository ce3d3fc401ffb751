"""Runs a BERT-like encoder with ONNX Runtime: the model is built here, with random weights.

Its nodes have the names that exporters give them, such as ``/encoder/layer.0/attention/self/query/MatMul``:

    jouletree run -- python examples/onnx_infer.py
    jouletree run -- python examples/onnx_infer.py --layers 12 --hidden 768 --heads 12
"""

from __future__ import annotations

import argparse
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """A graph that grows node by node; the name of a node is the path of its module and its operator."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._random = numpy.random.default_rng(seed)
        self._names: dict[str, int] = {}

    def node(self, module: str, operator: str, *inputs: str, **attributes: object) -> str:
        """Adds a node, and returns the name of its output."""
        name = f"{module}/{operator}"
        again = self._names[name] = self._names.get(name, -1) + 1
        if again:
            name += f"_{again}"
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=name, **attributes))
        return output

    def weight(self, name: str, *shape: int, fill: float | None = None) -> str:
        """Adds a parameter, random unless it is filled."""
        if fill is None:
            values = self._random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
        else:
            values = numpy.full(shape, fill, numpy.float32)
        return self.constant(name, values)

    def constant(self, name: str, values: object) -> str:
        self.weights.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    # Modules

    def linear(self, module: str, inputs: str, size: int, outputs: int) -> str:
        name = module.strip("/").replace("/", ".")
        product = self.node(module, "MatMul", inputs, self.weight(f"{name}.weight", size, outputs))
        return self.node(module, "Add", product, self.weight(f"{name}.bias", outputs, fill=0.0))

    def layer_norm(self, module: str, inputs: str, size: int) -> str:
        name = module.strip("/").replace("/", ".")
        weight, bias = self.weight(f"{name}.weight", size, fill=1.0), self.weight(f"{name}.bias", size, fill=0.0)
        return self.node(module, "LayerNormalization", inputs, weight, bias, axis=-1, epsilon=1e-12)

    def gelu(self, module: str, inputs: str) -> str:
        root = self.constant(f"{module}/root", numpy.float32(2**0.5))
        error = self.node(module, "Erf", self.node(module, "Div", inputs, root))
        shifted = self.node(module, "Add", error, self.constant(f"{module}/one", numpy.float32(1)))
        half = self.constant(f"{module}/half", numpy.float32(0.5))
        return self.node(module, "Mul", self.node(module, "Mul", inputs, shifted), half)


def attention(build: Builder, module: str, hidden: str, batch: int, length: int, size: int, heads: int) -> str:
    """Self-attention, without the residual connection."""
    own = f"{module}/self"
    width = size // heads
    apart = build.constant(f"{own}/apart", numpy.array([batch, length, heads, width], numpy.int64))
    together = build.constant(f"{own}/together", numpy.array([batch, length, size], numpy.int64))

    def of_heads(name: str, order: list[int]) -> str:
        projected = build.linear(f"{own}/{name}", hidden, size, size)
        return build.node(own, "Transpose", build.node(own, "Reshape", projected, apart), perm=order)

    query, key, value = of_heads("query", [0, 2, 1, 3]), of_heads("key", [0, 2, 3, 1]), of_heads("value", [0, 2, 1, 3])
    root = build.constant(f"{own}/root", numpy.float32(width**0.5))
    weights = build.node(own, "Softmax", build.node(own, "Div", build.node(own, "MatMul", query, key), root), axis=-1)
    mixed = build.node(own, "Transpose", build.node(own, "MatMul", weights, value), perm=[0, 2, 1, 3])
    return build.linear(f"{module}/output/dense", build.node(own, "Reshape", mixed, together), size, size)


def encoder_layer(build: Builder, module: str, hidden: str, batch: int, length: int, size: int, heads: int) -> str:
    attended = attention(build, f"{module}/attention", hidden, batch, length, size, heads)
    added = build.node(f"{module}/attention/output", "Add", attended, hidden)
    hidden = build.layer_norm(f"{module}/attention/output/LayerNorm", added, size)
    wide = build.linear(f"{module}/intermediate/dense", hidden, size, 4 * size)
    wide = build.gelu(f"{module}/intermediate/intermediate_act_fn", wide)
    narrow = build.linear(f"{module}/output/dense", wide, 4 * size, size)
    return build.layer_norm(f"{module}/output/LayerNorm", build.node(f"{module}/output", "Add", narrow, hidden), size)


def bert(layers: int, size: int, heads: int, vocabulary: int, batch: int, length: int) -> bytes:
    """The model, as it would be in a file."""
    build = Builder()
    words = build.weight("embeddings.word_embeddings.weight", vocabulary, size)
    positions = build.weight("embeddings.position_embeddings.weight", length, size)
    hidden = build.node("/embeddings/word_embeddings", "Gather", words, "input_ids")
    hidden = build.layer_norm("/embeddings/LayerNorm", build.node("/embeddings", "Add", hidden, positions), size)
    for layer in range(layers):
        hidden = encoder_layer(build, f"/encoder/layer.{layer}", hidden, batch, length, size, heads)
    first = build.node("/pooler", "Gather", hidden, build.constant("/pooler/first", numpy.int64(0)), axis=1)
    pooled = build.node("/pooler/activation", "Tanh", build.linear("/pooler/dense", first, size, size))
    graph = helper.make_graph(
        build.nodes,
        "bert",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [batch, length])],
        [
            helper.make_tensor_value_info(hidden, TensorProto.FLOAT, [batch, length, size]),
            helper.make_tensor_value_info(pooled, TensorProto.FLOAT, [batch, size]),
        ],
        build.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()

    model = bert(
        arguments.layers, arguments.hidden, arguments.heads, arguments.vocabulary, arguments.batch, arguments.seq
    )
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    began = time.perf_counter()
    for step in range(1, arguments.steps + 1):
        ids = random.integers(0, arguments.vocabulary, (arguments.batch, arguments.seq))
        _, pooled = session.run(None, {"input_ids": ids})
        if step % 20 == 0 or step == arguments.steps:
            print(f"inference {step:4}  {time.perf_counter() - began:.1f} s  {pooled[0, 0]:+.4f}", flush=True)


if __name__ == "__main__":
    main()
