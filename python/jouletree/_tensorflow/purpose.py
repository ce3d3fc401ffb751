"""What a graph is run for: training, prediction, or something that is no step at all.

A program runs graphs for many reasons: to initialise variables, to save them, to read a counter. A step is a run that
computes gradients or changes variables by an optimizer's rule (training), or that at least multiplies matrices or
convolves (evaluation and prediction). Graphs are looked at once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Optional

TRAIN = "train"
EVALUATE = "evaluate"
PREDICT = "predict"

#: What a user of ``--level module`` should know.
NO_MODULES = "TensorFlow runs graphs as a whole: with --level module there are steps, but no modules in them"

_UPDATES = ("ResourceApply", "ResourceSparseApply", "SparseApply", "Apply")
_WORK = ("MatMul", "Conv", "Einsum", "CudnnRNN", "XlaCallModule", "PartitionedCall")
_LOOPS = ("While", "StatelessWhile", "Enter", "RefEnter", "ForeverOp", "For", "ReduceDataset")
#: An operation, the executor's iteration, and three events for what is handed to a thread.
_EVENTS_OF_A_NODE = 5


def purpose_of(operations: Iterable[tuple[str, str]]) -> Optional[str]:
    """What operations are for, by their types and names; ``None`` when running them is no step."""
    works = False
    for kind, name in operations:
        if kind.startswith(_UPDATES) or "gradient_tape" in name or "gradients/" in name:
            return TRAIN
        works = works or any(word in kind for word in _WORK)
    return PREDICT if works else None


def needed_for(graph: Any, fetches: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The types and names of what is run in order to get `fetches`."""
    open_ = [operation_of(graph, fetch) for fetch in fetches]
    seen = set()
    while open_:
        operation = open_.pop()
        name = operation.name
        if name in seen:
            continue
        seen.add(name)
        yield operation.type, name
        open_.extend(tensor.op for tensor in operation.inputs)
        open_.extend(operation.control_inputs)


def operation_of(graph: Any, fetch: Any) -> Any:
    """The operation behind something that ``Session.run`` fetches."""
    element = graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
    return getattr(element, "op", element)


def flat(fetches: Any) -> Iterator[Any]:
    """The single fetches of a nest of them."""
    if isinstance(fetches, dict):
        for value in fetches.values():
            yield from flat(value)
    elif isinstance(fetches, (list, tuple)):
        for value in fetches:
            yield from flat(value)
    elif fetches is not None:
        yield fetches


def in_graph_def(definition: Any) -> Iterator[tuple[str, str]]:
    """The types and names of the operations of a GraphDef and of the functions it calls."""
    for node in definition.node:
        yield node.op, node.name
    for function in definition.library.function:
        for node in function.node_def:
            yield node.op, node.name


def most_events(definition: Any) -> Optional[float]:
    """How many events a run of a GraphDef leaves in a profile at most; ``None`` if it has loops of unknown length."""
    count = 0
    for kind, _ in in_graph_def(definition):
        if kind in _LOOPS:
            return None
        count += 1
    return float(_EVENTS_OF_A_NODE * count)


def is_compiled(definition: Any) -> bool:
    """Whether XLA compiles some of a GraphDef, as the program asked (``jit_compile=True``)."""
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    marked = [*nodes, *definition.library.function]
    return any("_XlaMustCompile" in each.attr and each.attr["_XlaMustCompile"].b for each in marked)


def batch_of(values: Any, depth: int = 3) -> Optional[int]:
    """How many samples a nest of tensors holds: the first dimension of the first that has two; ``None`` if unknown."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        found = (batch_of(value, depth - 1) for value in values) if depth else ()
        return next((size for size in found if size is not None), None)
    shape = getattr(values, "shape", None)
    try:
        return int(shape[0]) if shape is not None and len(shape) > 1 else None
    except (TypeError, ValueError):
        return None
