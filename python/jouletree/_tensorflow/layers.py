"""The layers of a Keras model as a tree: names as in its traces, classes, parameters, shapes, data flow."""

from __future__ import annotations

from math import prod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tree_of(model: Any) -> dict[str, Any]:
    """The tree in the form of ``tree.json``."""
    nodes: list[dict[str, Any]] = []
    layers: dict[int, Any] = {}
    _add(model, "", nodes, layers)
    numbers = {key: number for number, key in enumerate(layers)}
    flows = {
        (numbers[id(giver)], number)
        for number, taker in enumerate(layers.values())
        for giver in _givers(taker)
        if id(giver) in numbers
    }
    return {"nodes": nodes, "edges": [{"from": giver, "to": taker} for giver, taker in sorted(flows)]}


def _givers(layer: Any) -> list[Any]:
    """The layers whose outputs a layer of a functional model takes."""
    nodes = [parent for node in getattr(layer, "_inbound_nodes", ()) for parent in getattr(node, "parent_nodes", ())]
    return [getattr(node, "operation", None) or getattr(node, "layer", None) for node in nodes]


def _add(layer: Any, above: str, nodes: list[dict[str, Any]], seen: dict[int, Any]) -> None:
    # A layer that is used twice is listed where it is first.
    if id(layer) in seen:
        return
    seen[id(layer)] = layer
    path = f"{above}/{layer.name}" if above else str(layer.name)
    node: dict[str, Any] = {
        "path": path,
        "type": type(layer).__name__,
        "name": path,
        "pass": "forward",
        "is_module": True,
        "parameters": sum(prod(map(int, weight.shape)) for weight in layer.weights),
    }
    for side, end in (("inputs", "input"), ("outputs", "output")):
        tensors = _tensors(layer, end)
        if tensors:
            node[side] = tensors
    nodes.append(node)
    for inner in _inner(layer):
        _add(inner, path, nodes, seen)


def _inner(layer: Any) -> list[Any]:
    try:
        return list(layer._flatten_layers(recursive=False, include_self=False))
    except (AttributeError, TypeError):
        return list(getattr(layer, "layers", ()))


def _tensors(layer: Any, end: str) -> list[dict[str, Any]]:
    """The tensors that a layer takes or makes; none where the model was not built from them."""
    try:
        tensors = getattr(layer, end)
        several = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        return [
            {
                "type": getattr(tensor.dtype, "name", str(tensor.dtype)),
                "dims": [-1 if size is None else int(size) for size in tensor.shape],
            }
            for tensor in several
        ]
    except Exception:  # noqa: BLE001 -- Keras has many ways to say that it does not know
        return []
