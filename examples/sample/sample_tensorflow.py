"""A TensorFlow timeline of one training step of a small BERT, as ProfilerHook writes it.

The graph is built op by op with TensorFlow's own naming habits, differentiated by a small tape, given an AdamW
update, and then run by a simulated executor. Only the file format and the names are TensorFlow's: nothing here was
recorded.
"""

import collections
import heapq
import json
import random
from dataclasses import dataclass

LAYERS = 4
HIDDEN = 192
HEADS = 4
INTERMEDIATE = 4 * HIDDEN
VOCABULARY = 4000
SEQUENCE = 64
BATCH = 8
TOKENS = SEQUENCE * BATCH
PREDICTIONS = 10 * BATCH
TRAINED = ("kernel", "embeddings", "output_bias")  # other variables are frozen, which keeps the file small

WORKERS = 3
FLOPS_PER_US = 55_000
FLOATS_PER_US = 1_300
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
START_US = 1_772_442_000_123_456  # 2 March 2026, 09:00 UTC


def resize(**sizes):
    """Makes the model another one: `LAYERS=12` and so on, by the names above. What follows from a size follows."""
    model = globals()
    assert sizes.keys() <= model.keys(), sizes.keys() - model.keys()
    model.update(sizes)
    model["INTERMEDIATE"] = 4 * HIDDEN
    model["TOKENS"] = SEQUENCE * BATCH


@dataclass
class Op:
    """A node of the graph; `heat` is how hard it drives a core, from 0 to 1."""

    name: str
    type: str
    inputs: list[str]
    micros: float
    heat: float


@dataclass
class Run:
    """An op that was executed."""

    op: Op
    start: int
    end: int
    lane: int = 0


class Graph:
    """Ops in the order in which they were defined, and the tape for differentiating them."""

    def __init__(self):
        self.ops = {}
        self.tape = []
        self.trained = {}
        self.unscoped = collections.Counter()

    def add(self, name, op_type, *inputs, flops=0, floats=0):
        """Defines an op that does `flops` of arithmetic and moves `floats` numbers; returns its name."""
        assert name not in self.ops, name
        dispatch = 0.8 if op_type in ("Const", "VarHandleOp", "Reshape") else 1.6
        micros = dispatch + flops / FLOPS_PER_US + floats / FLOATS_PER_US
        heat = 0.95 if flops else 0.7 if floats > 1000 else 0.45
        self.ops[name] = Op(name, op_type, list(inputs), micros, heat)
        return name

    def add_unscoped(self, stem, op_type, *inputs, floats=0):
        """Defines an op outside every scope, numbered as TensorFlow does it: names differ by more than case."""
        number = self.unscoped[stem.lower()]
        self.unscoped[stem.lower()] += 1
        return self.add(f"{stem}_{number}" if number else stem, op_type, *inputs, floats=floats)

    def const(self, name):
        """A constant. Equal constants are one op named for some user, as the graph optimiser leaves them."""
        if name not in self.ops:
            self.add(name, "Const")
        return name

    def variable(self, name, size):
        """A variable of `size` numbers."""
        if name.endswith(TRAINED):
            self.trained[name] = size
        return self.add(name, "VarHandleOp")

    def read(self, user, variable):
        """Reads a variable on behalf of the op `user`."""
        return self.add(f"{user}/ReadVariableOp", "ReadVariableOp", variable)

    def differentiable(self, output, inputs, gradient):
        """Notes how the gradient of `output` turns into those of `inputs`; returns `output`."""
        self.tape.append((output, inputs, gradient))
        return output


def dense(graph, scope, x, width, out, rows=None):
    rows = rows or TOKENS
    kernel = graph.variable(f"{scope}/kernel", width * out)
    bias = graph.variable(f"{scope}/bias", out)
    matmul = f"{scope}/MatMul"
    weights = graph.read(matmul, kernel)
    flops = 2 * rows * width * out
    graph.add(matmul, "MatMul", x, weights, flops=flops)

    def matmul_gradient(dy):
        dx = graph.add(f"gradients/{matmul}_grad/MatMul", "MatMul", dy, weights, flops=flops)
        dw = graph.add(f"gradients/{matmul}_grad/MatMul_1", "MatMul", x, dy, flops=flops)
        return [dx, dw]

    graph.differentiable(matmul, [x, kernel], matmul_gradient)
    add = f"{scope}/BiasAdd"
    offset = graph.read(add, bias)
    graph.add(add, "BiasAdd", matmul, offset, floats=2 * rows * out)

    if bias not in graph.trained:
        return graph.differentiable(add, [matmul], lambda dy: [dy])

    def bias_gradient(dy):
        return [dy, graph.add(f"gradients/{add}_grad/BiasAddGrad", "BiasAddGrad", dy, floats=rows * out)]

    return graph.differentiable(add, [matmul, bias], bias_gradient)


def layer_norm(graph, scope, x, rows=None):
    size = (rows or TOKENS) * HIDDEN
    norm, moments = f"{scope}/LayerNorm/batchnorm", f"{scope}/LayerNorm/moments"
    gamma = graph.variable(f"{scope}/LayerNorm/gamma", HIDDEN)
    beta = graph.variable(f"{scope}/LayerNorm/beta", HIDDEN)
    axis = graph.const("cls/predictions/Sum/reduction_indices")
    mean = graph.add(f"{moments}/mean", "Mean", x, axis, floats=size)
    squares = graph.add(f"{moments}/SquaredDifference", "SquaredDifference", x, mean, floats=2 * size)
    variance = graph.add(f"{moments}/variance", "Mean", squares, axis, floats=size)
    shifted = graph.add(f"{norm}/add", "AddV2", variance, graph.const("bert/embeddings/LayerNorm/batchnorm/add/y"))
    scale = graph.add(f"{norm}/Rsqrt", "Rsqrt", shifted)
    weight = graph.read(f"{norm}/mul", gamma)
    mul = graph.add(f"{norm}/mul", "Mul", scale, weight, floats=size)
    mul_1 = graph.add(f"{norm}/mul_1", "Mul", x, mul, floats=3 * size)
    mul_2 = graph.add(f"{norm}/mul_2", "Mul", mul, mean, floats=2 * size)
    offset = graph.read(norm, beta)
    sub = graph.add(f"{norm}/sub", "Sub", offset, mul_2, floats=size)
    out = graph.add(f"{norm}/add_1", "AddV2", mul_1, sub, floats=3 * size)

    def gradient(dy):
        def add(name, op_type, *inputs, floats=0):
            return graph.add(f"gradients/{name}", op_type, *inputs, floats=floats)

        rows_of = graph.const("gradients/bert/embeddings/LayerNorm/batchnorm/mul_grad/Sum/reduction_indices")
        reciprocal = graph.const(
            "ConstantFolding/gradients/bert/embeddings/LayerNorm/moments/variance_grad/truediv_recip"
        )
        neg = add(f"{norm}/sub_grad/Neg", "Neg", dy, floats=2 * size)
        d_mean = add(f"{norm}/mul_2_grad/Mul", "Mul", mul, neg, floats=2 * size)
        mean_sum = add(f"{norm}/mul_2_grad/Sum", "Sum", d_mean, rows_of, floats=size)
        mean_back = add(f"{moments}/mean_grad/truediv", "Mul", reciprocal, mean_sum, floats=size)
        d_mul = add(f"{norm}/mul_1_grad/Mul_1", "Mul", x, dy, floats=3 * size)
        d_scale = add(f"{norm}/mul_grad/Mul", "Mul", weight, d_mul, floats=2 * size)
        scale_sum = add(f"{norm}/mul_grad/Sum", "Sum", d_scale, rows_of, floats=size)
        root = add(f"{norm}/Rsqrt_grad/RsqrtGrad", "RsqrtGrad", scale, scale_sum)
        spread = add(f"{moments}/variance_grad/truediv", "Mul", reciprocal, root, floats=size)
        # TensorFlow holds this one back until its sibling is ready: a control edge.
        centred = add(f"{moments}/SquaredDifference_grad/sub", "Sub", x, mean, f"^{spread}", floats=2 * size)
        squared = add(f"{moments}/SquaredDifference_grad/mul_1", "Mul", spread, centred, floats=2 * size)
        direct = add(f"{norm}/mul_1_grad/Mul", "Mul", mul, dy, floats=2 * size)
        back = [add_n(graph, [direct, squared, mean_back], size)]
        if gamma in graph.trained:
            weighted = add(f"{norm}/mul_grad/Mul_1", "Mul", scale, d_mul, floats=2 * size)
            back.append(add(f"{norm}/mul_grad/Sum_1", "Sum", weighted, rows_of, floats=size))
        if beta in graph.trained:
            back.append(add(f"{norm}/sub_grad/Sum", "Sum", dy, rows_of, floats=size))
        return back

    return graph.differentiable(out, [x, *(name for name in (gamma, beta) if name in graph.trained)], gradient)


def add_n(graph, terms, size):
    number = graph.unscoped["gradients/addn"]
    graph.unscoped["gradients/addn"] += 1
    name = f"gradients/AddN_{number}" if number else "gradients/AddN"
    return graph.add(name, "AddN", *terms, floats=(len(terms) + 1) * size)


def dropout(graph, scope, x, size):
    shape = graph.const("gradients/bert/encoder/Reshape_1_grad/Shape")
    noise = graph.add(f"{scope}/dropout/random_uniform/RandomUniform", "RandomUniform", shape, floats=5 * size)
    keep = graph.add(f"{scope}/dropout/GreaterEqual", "GreaterEqual", noise, graph.const("Mul_5/x"), floats=size)
    factor = graph.const("bert/embeddings/dropout/Const")
    zero = graph.const("bert/embeddings/dropout/Const_1")
    scaled = graph.add(f"{scope}/dropout/Mul", "Mul", x, factor, floats=2 * size)
    out = graph.add(f"{scope}/dropout/SelectV2", "SelectV2", keep, scaled, zero, floats=3 * size)

    def gradient(dy):
        select = f"gradients/{scope}/dropout/SelectV2_grad/SelectV2"
        graph.add(select, "SelectV2", keep, dy, zero, floats=3 * size)
        return [graph.add(f"gradients/{scope}/dropout/Mul_grad/Mul", "Mul", factor, select, floats=2 * size)]

    return graph.differentiable(out, [x], gradient)


def residual(graph, scope, x, y):
    out = graph.add(f"{scope}/add", "AddV2", x, y, floats=3 * TOKENS * HIDDEN)
    return graph.differentiable(out, [x, y], lambda dy: [dy, dy])


def rearranged(graph, name, op_type, x, floats=0):
    """A reshape or a transposition, whose gradient is another of its kind."""
    shape = graph.const("gradients/bert/embeddings/Reshape_1_grad/Shape")
    out = graph.add(name, op_type, x, shape, floats=floats)
    grad = f"gradients/{name}_grad/{op_type if op_type == 'Reshape' else 'transpose'}"
    return graph.differentiable(out, [x], lambda dy: [graph.add(grad, op_type, dy, shape, floats=floats)])


def batched_matmul(graph, name, a, b):
    flops = 2 * BATCH * SEQUENCE * SEQUENCE * HIDDEN
    out = graph.add(name, "BatchMatMulV2", a, b, flops=flops)

    def gradient(dy):
        return [
            graph.add(f"gradients/{name}_grad/MatMul", "BatchMatMulV2", dy, b, flops=flops),
            graph.add(f"gradients/{name}_grad/MatMul_1", "BatchMatMulV2", a, dy, flops=flops),
        ]

    return graph.differentiable(out, [a, b], gradient)


def attention(graph, scope, x, mask):
    size = TOKENS * HIDDEN
    scores_size = BATCH * HEADS * SEQUENCE * SEQUENCE
    this = f"{scope}/self"
    heads = []
    for part, suffix in [("query", ""), ("key", "_1"), ("value", "_2")]:
        projected = dense(graph, f"{this}/{part}", x, HIDDEN, HIDDEN)
        reshaped = rearranged(graph, f"{this}/Reshape{suffix}", "Reshape", projected)
        heads.append(rearranged(graph, f"{this}/transpose{suffix}", "Transpose", reshaped, floats=2 * size))
    query, key, value = heads
    scores = batched_matmul(graph, f"{this}/MatMul", query, key)
    factor = graph.const("bert/encoder/layer_0/attention/self/Mul/y")
    scaled = graph.add(f"{this}/Mul", "Mul", scores, factor, floats=2 * scores_size)
    scale_grad = f"gradients/{this}/Mul_grad/Mul"
    graph.differentiable(
        scaled, [scores], lambda dy: [graph.add(scale_grad, "Mul", dy, factor, floats=2 * scores_size)]
    )
    masked = graph.add(f"{this}/add", "AddV2", scaled, mask, floats=3 * scores_size)
    graph.differentiable(masked, [scaled], lambda dy: [dy])
    softmax = graph.add(f"{this}/Softmax", "Softmax", masked, floats=8 * scores_size)

    def softmax_gradient(dy):
        grad = f"gradients/{softmax}_grad"
        axis = graph.const("cls/predictions/Sum/reduction_indices")
        mul = graph.add(f"{grad}/mul", "Mul", dy, softmax, floats=3 * scores_size)
        total = graph.add(f"{grad}/Sum", "Sum", mul, axis, floats=scores_size)
        sub = graph.add(f"{grad}/sub", "Sub", dy, total, floats=2 * scores_size)
        return [graph.add(f"{grad}/mul_1", "Mul", sub, softmax, floats=3 * scores_size)]

    graph.differentiable(softmax, [masked], softmax_gradient)
    context = batched_matmul(graph, f"{this}/MatMul_1", dropout(graph, this, softmax, scores_size), value)
    joined = rearranged(graph, f"{this}/transpose_3", "Transpose", context, floats=2 * size)
    flat = rearranged(graph, f"{this}/Reshape_3", "Reshape", joined)
    out = dense(graph, f"{scope}/output/dense", flat, HIDDEN, HIDDEN)
    added = residual(graph, f"{scope}/output", x, dropout(graph, f"{scope}/output", out, size))
    return layer_norm(graph, f"{scope}/output", added)


def gelu(graph, scope, x, size):
    """The activation in the tanh form, inside its dense layer's scope as BERT has it."""
    half, one = graph.const("cls/predictions/transform/dense/mul_2/x"), graph.const("Mul_11/x")
    power = graph.add(
        f"{scope}/Pow", "Pow", x, graph.const("bert/encoder/layer_0/intermediate/dense/Pow/y"), floats=4 * size
    )
    mul = graph.add(f"{scope}/mul", "Mul", power, half, floats=2 * size)
    added = graph.add(f"{scope}/add", "AddV2", x, mul, floats=3 * size)
    mul_1 = graph.add(f"{scope}/mul_1", "Mul", added, half, floats=2 * size)
    tanh = graph.add(f"{scope}/Tanh", "Tanh", mul_1, floats=5 * size)
    add_1 = graph.add(f"{scope}/add_1", "AddV2", tanh, one, floats=2 * size)
    mul_2 = graph.add(f"{scope}/mul_2", "Mul", add_1, half, floats=2 * size)
    out = graph.add(f"{scope}/mul_3", "Mul", x, mul_2, floats=3 * size)

    def gradient(dy):
        grad = f"gradients/{scope}"
        direct = graph.add(f"{grad}/mul_3_grad/Mul", "Mul", dy, mul_2, floats=3 * size)
        other = graph.add(f"{grad}/mul_3_grad/Mul_1", "Mul", x, dy, floats=3 * size)
        d_tanh = graph.add(f"{grad}/Tanh_grad/TanhGrad", "TanhGrad", tanh, other, floats=3 * size)
        d_mul_1 = graph.add(f"{grad}/mul_1_grad/Mul_1", "Mul", d_tanh, half, floats=2 * size)
        square = graph.add(f"{grad}/Pow_grad/Pow", "Square", x, floats=2 * size)
        d_power = graph.add(f"{grad}/Pow_grad/mul_1", "Mul", d_mul_1, square, floats=3 * size)
        return [add_n(graph, [direct, d_mul_1, d_power], size)]

    return graph.differentiable(out, [x], gradient)


def embeddings(graph):
    size = TOKENS * HIDDEN
    scope = "bert/embeddings"
    words = graph.variable(f"{scope}/word_embeddings", VOCABULARY * HIDDEN)
    positions = graph.variable(f"{scope}/position_embeddings", SEQUENCE * HIDDEN)
    types = graph.variable(f"{scope}/token_type_embeddings", 2 * HIDDEN)
    flat = graph.const("cls/predictions/Sum/reduction_indices")
    ids = graph.add(f"{scope}/Reshape", "Reshape", "IteratorGetNext", flat)
    gather = graph.add(f"{scope}/Gather", "ResourceGather", words, ids, floats=3 * size)
    graph.differentiable(
        gather,
        [words],
        lambda dy: [
            graph.add(
                f"gradients/{scope}/Gather_grad/UnsortedSegmentSum", "UnsortedSegmentSum", dy, ids, floats=6 * size
            )
        ],
    )
    one_hot = graph.add(
        f"{scope}/one_hot", "OneHot", "IteratorGetNext:6", graph.const(f"{scope}/one_hot/depth"), floats=2 * TOKENS
    )
    type_rows = graph.add(
        f"{scope}/MatMul", "MatMul", one_hot, graph.read(f"{scope}/MatMul", types), flops=4 * size
    )
    graph.differentiable(
        type_rows,
        [types],
        lambda dy: [graph.add(f"gradients/{scope}/MatMul_grad/MatMul_1", "MatMul", one_hot, dy, flops=4 * size)],
    )
    begin = graph.const(f"{scope}/Slice/begin")
    rows = graph.add(
        f"{scope}/Slice", "Slice", graph.read(f"{scope}/Slice", positions), begin, floats=SEQUENCE * HIDDEN
    )

    def slice_gradient(dy):
        axis = graph.const("cls/predictions/Const")
        summed = graph.add(f"gradients/{scope}/add_1_grad/Sum", "Sum", dy, axis, floats=size)
        return [graph.add(f"gradients/{scope}/Slice_grad/Pad", "Pad", summed, begin, floats=SEQUENCE * HIDDEN)]

    graph.differentiable(rows, [positions], slice_gradient)
    # The graph optimiser has turned two additions into these.
    leaf = graph.add(
        f"{scope}/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_add_1", "AddN", gather, type_rows, floats=3 * size
    )
    graph.differentiable(leaf, [gather, type_rows], lambda dy: [dy, dy])
    total = graph.add(f"{scope}/ArithmeticOptimizer/AddOpsRewrite_add_1", "AddV2", leaf, rows, floats=3 * size)
    graph.differentiable(total, [leaf, rows], lambda dy: [dy, dy])
    return dropout(graph, scope, layer_norm(graph, scope, total), size)


def masked_language_model(graph, encoded):
    """The head and its loss; returns the gradient of the loss with respect to the logits."""
    scope = "cls/predictions"
    size = PREDICTIONS * VOCABULARY
    flops = 2 * size * HIDDEN
    places = graph.add("GatherV2", "GatherV2", encoded, "IteratorGetNext:3", floats=2 * PREDICTIONS * HIDDEN)
    graph.differentiable(
        places,
        [encoded],
        lambda dy: [
            graph.add(
                "gradients/GatherV2_grad/UnsortedSegmentSum",
                "UnsortedSegmentSum",
                dy,
                "IteratorGetNext:3",
                floats=TOKENS * HIDDEN,
            )
        ],
    )
    hidden = dense(graph, f"{scope}/transform/dense", places, HIDDEN, HIDDEN, rows=PREDICTIONS)
    active = gelu(graph, f"{scope}/transform/dense", hidden, PREDICTIONS * HIDDEN)
    normal = layer_norm(graph, f"{scope}/transform", active, rows=PREDICTIONS)
    words = "bert/embeddings/word_embeddings"
    table = graph.read(f"{scope}/MatMul", words)
    matmul = graph.add(f"{scope}/MatMul", "MatMul", normal, table, flops=flops)
    graph.differentiable(
        matmul,
        [normal, words],
        lambda dy: [
            graph.add(f"gradients/{scope}/MatMul_grad/MatMul", "MatMul", dy, table, flops=flops),
            graph.add(f"gradients/{scope}/MatMul_grad/MatMul_1", "MatMul", dy, normal, flops=flops),
        ],
    )
    bias = graph.variable(f"{scope}/output_bias", VOCABULARY)
    logits = graph.add(
        f"{scope}/BiasAdd", "BiasAdd", matmul, graph.read(f"{scope}/BiasAdd", bias), floats=2 * size
    )
    graph.differentiable(
        logits,
        [matmul, bias],
        lambda dy: [dy, graph.add(f"gradients/{scope}/BiasAdd_grad/BiasAddGrad", "BiasAddGrad", dy, floats=size)],
    )
    log_softmax = graph.add(f"{scope}/LogSoftmax", "LogSoftmax", logits, floats=6 * size)
    labels = graph.add(
        f"{scope}/one_hot", "OneHot", "IteratorGetNext:2", graph.const(f"{scope}/one_hot/depth"), floats=size
    )
    picked = graph.add(f"{scope}/mul", "Mul", log_softmax, labels, floats=3 * size)
    each = graph.add(f"{scope}/Sum", "Sum", picked, graph.const(f"{scope}/Sum/reduction_indices"), floats=size)
    graph.add(f"{scope}/truediv", "RealDiv", each, "IteratorGetNext:4")
    exponent = graph.add(f"gradients/{scope}/LogSoftmax_grad/Exp", "Exp", log_softmax, floats=4 * size)
    weighted = graph.add(f"gradients/{scope}/mul_grad/Mul", "Mul", labels, "IteratorGetNext:4", floats=2 * size)
    sub = graph.add(f"gradients/{scope}/LogSoftmax_grad/sub", "Sub", weighted, exponent, floats=3 * size)
    return logits, sub


def differentiate(graph, seed):
    """Walks the tape backwards and returns the gradient of every trained variable."""
    output, gradient = seed
    gradients = collections.defaultdict(list, {output: [gradient]})
    for output, inputs, rule in reversed(graph.tape):
        terms = gradients.pop(output, [])
        if terms:
            dy = terms[0] if len(terms) == 1 else add_n(graph, terms, TOKENS * HIDDEN)
            for name, term in zip(inputs, rule(dy), strict=True):
                gradients[name].append(term)
    return {
        name: gradients[name][0] if len(gradients[name]) == 1 else add_n(graph, gradients[name], size)
        for name, size in graph.trained.items()
    }


def clip(graph, gradients):
    """Scales all gradients by their common norm."""
    losses = []
    for number, (name, gradient) in enumerate(gradients.items()):
        suffix = f"_{number}" if number else ""
        losses.append(graph.add(f"global_norm/L2Loss{suffix}", "L2Loss", gradient, floats=graph.trained[name]))
    stack = graph.add("global_norm/stack", "Pack", *losses)
    total = graph.add("global_norm/Sum", "Sum", stack, graph.const("global_norm/Const"))
    norm = graph.add("global_norm/global_norm", "Sqrt", total)
    factor = graph.add("clip_by_global_norm/truediv", "RealDiv", graph.const("clip_by_global_norm/mul/x"), norm)
    return {
        name: graph.add(
            f"clip_by_global_norm/mul_{number}", "Mul", gradient, factor, floats=2 * graph.trained[name]
        )
        for number, (name, gradient) in enumerate(gradients.items(), start=1)
    }


def adam_w(graph, gradients):
    """Updates every variable, outside every scope as BERT's own optimiser does."""
    rate = graph.add_unscoped("Mul", "Mul", graph.const("PolynomialDecay/Cast/x"), "IteratorGetNext:1")
    beta, beta_rest = graph.const("Mul_4/x"), graph.const("Mul_5/x")
    gamma, gamma_rest = graph.const("Mul_11/x"), graph.const("Mul_12/x")
    epsilon, decay = graph.const("add_5/y"), graph.const("mul_8/x")
    updates = []
    for variable, gradient in gradients.items():
        size = graph.trained[variable]

        def add(stem, op_type, *inputs, weight=3, size=size):
            return graph.add_unscoped(stem, op_type, *inputs, floats=weight * size)

        first, second = (graph.add(f"{variable}/adam_{moment}", "VarHandleOp") for moment in "mv")
        old_first = add("ReadVariableOp", "ReadVariableOp", first, weight=0)
        kept = add("Mul", "Mul", old_first, beta, weight=2)
        fresh = add("Mul", "Mul", gradient, beta_rest, weight=2)
        next_first = add("add", "AddV2", kept, fresh)
        old_second = add("ReadVariableOp", "ReadVariableOp", second, weight=0)
        kept = add("Mul", "Mul", old_second, gamma, weight=2)
        fresh = add("Mul", "Mul", add("Square", "Square", gradient, weight=2), gamma_rest, weight=2)
        next_second = add("add", "AddV2", kept, fresh)
        root = add("add", "AddV2", add("Sqrt", "Sqrt", next_second, weight=5), epsilon, weight=2)
        update = add("truediv", "RealDiv", next_first, root, weight=4)
        weights = add("ReadVariableOp", "ReadVariableOp", variable, weight=0)
        if not variable.endswith(("bias", "gamma", "beta")):
            update = add("add", "AddV2", update, add("mul", "Mul", weights, decay, weight=2))
        moved = add("sub", "Sub", weights, add("mul", "Mul", update, rate, weight=2))
        for target, value in [(variable, moved), (first, next_first), (second, next_second)]:
            updates.append(add("AssignVariableOp", "AssignVariableOp", target, value, weight=0))
    graph.add("group_deps", "NoOp", *(f"^{update}" for update in updates))


def training_step():
    graph = Graph()
    graph.add("IteratorV2", "IteratorV2")
    graph.add("IteratorGetNext", "IteratorGetNext", "IteratorV2", floats=300_000)
    mask = graph.add(
        "bert/encoder/mul",
        "Mul",
        "IteratorGetNext:1",
        graph.const("bert/encoder/mul/x"),
        floats=BATCH * SEQUENCE * SEQUENCE,
    )
    x = embeddings(graph)
    for layer in range(LAYERS):
        scope = f"bert/encoder/layer_{layer}"
        x = attention(graph, f"{scope}/attention", x, mask)
        wide = dense(graph, f"{scope}/intermediate/dense", x, HIDDEN, INTERMEDIATE)
        active = gelu(graph, f"{scope}/intermediate/dense", wide, TOKENS * INTERMEDIATE)
        narrow = dense(graph, f"{scope}/output/dense", active, INTERMEDIATE, HIDDEN)
        added = residual(graph, f"{scope}/output", x, dropout(graph, f"{scope}/output", narrow, TOKENS * HIDDEN))
        x = layer_norm(graph, f"{scope}/output", added)
    gradients = differentiate(graph, masked_language_model(graph, x))
    adam_w(graph, clip(graph, gradients))
    return graph


def producer(name):
    """The op behind an input: `^X` is a control edge from X, `X:1` is X's second output."""
    return name.removeprefix("^").partition(":")[0]


def execute(graph, seed=5):
    """Runs the graph with a few workers, each taking the earliest defined op that is ready."""
    rng = random.Random(seed)
    ops = list(graph.ops.values())
    number = {op.name: index for index, op in enumerate(ops)}
    waiting = [len({producer(name) for name in op.inputs}) for op in ops]
    users = [[] for _ in ops]
    for index, op in enumerate(ops):
        for name in {producer(name): None for name in op.inputs}:
            users[number[name]].append(index)
    source = Run(Op("_SOURCE", "NoOp", [], 0, 0.2), 0, 686)
    ready = [index for index, count in enumerate(waiting) if count == 0]
    now, idle, running, runs = 741.0, WORKERS, [], [source]
    while ready or running:
        while ready and idle:
            op = ops[heapq.heappop(ready)]
            slow = rng.uniform(0.8, 1.25) * (4 if rng.random() < 0.004 else 1)
            begin = now + rng.uniform(0.1, 0.9)
            end = begin + op.micros * slow
            heapq.heappush(running, (end, number[op.name]))
            runs.append(Run(op, int(begin), max(int(begin), int(end))))
            idle -= 1
        now, index = heapq.heappop(running)
        idle += 1
        for user in users[index]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    return assign_lanes(runs)


def assign_lanes(runs):
    """Gives every run the first lane that is free: lanes are drawing rows, not threads."""
    runs.sort(key=lambda run: (run.start, run.end))
    lane_ends = []
    for run in runs:
        lane = next((lane for lane, end in enumerate(lane_ends) if end <= run.start), len(lane_ends))
        lane_ends[lane : lane + 1] = [run.end]
        run.lane = lane
    return runs


def timeline(runs):
    """The trace as ProfilerHook(show_dataflow=False) writes it."""
    processes = ["Allocators", f"{DEVICE} Compute", f"{DEVICE} Tensors"]
    events = [
        {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
        for pid, name in enumerate(processes)
    ]
    for run in runs:
        arguments = {"name": run.op.name, "op": run.op.type}
        arguments |= {f"input{index}": name for index, name in enumerate(run.op.inputs)}
        place = {"pid": 1, "tid": run.lane, "ts": START_US + run.start}
        events.append(
            {"ph": "X", "cat": "Op", "name": run.op.type, **place, "dur": run.end - run.start, "args": arguments}
        )
    return json.dumps({"traceEvents": events}, indent=4)
