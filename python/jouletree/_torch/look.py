"""A first look at a model while it runs: shapes, parameters, operations and the data flow between its modules."""

from __future__ import annotations

import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional
    from .names import Entry
    from .recorder import Recorder

#: How far back an input is followed through operations that belong to no module of their own.
_FURTHEST = 200


class Look:
    """What was seen of one model during one call of it. Holds no tensor."""

    def __init__(self, recorder: Recorder, root: Entry) -> None:
        self._tensor = recorder.torch.Tensor
        self._recorder = recorder
        self._root = root
        self._seen: dict[str, dict[str, Any]] = {}
        self._makers: dict[int, tuple[Any, str]] = {}
        self._nodes: dict[Any, str] = {}
        self._edges: dict[tuple[str, str], None] = {}

    def entered(self, entry: Entry, args: Any) -> None:
        """A module of it is called."""

    def left(self, entry: Entry, args: Any, rest: Any, is_inside: bool) -> None:
        """A module of it has returned."""
        given = list(self._tensors(args))
        if len(rest) == 2:
            given += self._tensors(rest[0])
        made = list(self._tensors(rest[-1] if rest else None))
        module = entry.module()
        if entry.path in self._seen or module is None:
            return
        self._seen[entry.path] = {
            "inputs": [_shape(tensor) for tensor in given],
            "outputs": [_shape(tensor) for tensor in made],
            "output_bytes": sum(tensor.numel() * tensor.element_size() for tensor in made),
            "flops": _flops(module, given, made),
        }
        if not len(module._modules):
            for tensor in given:
                self._connect(tensor, entry.path)
        for tensor in made:
            maker = self._makers.get(id(tensor))
            if maker is None or maker[0]() is not tensor:
                self._makers[id(tensor)] = (weakref.ref(tensor), entry.path)
            if tensor.grad_fn is not None:
                self._nodes.setdefault(tensor.grad_fn, entry.path)

    def _tensors(self, value: Any, depth: int = 0) -> Iterator[Any]:
        if isinstance(value, self._tensor):
            yield value
        elif depth < 2 and isinstance(value, dict):
            for item in value.values():
                yield from self._tensors(item, depth + 1)
        elif depth < 2 and isinstance(value, (tuple, list)):
            for item in value:
                yield from self._tensors(item, depth + 1)

    def _connect(self, tensor: Any, to: str) -> None:
        """Finds which modules made a tensor, through what was done with it in between."""
        maker = self._makers.get(id(tensor))
        if maker is not None and maker[0]() is tensor:
            self._edges[(maker[1], to)] = None
            return
        todo: list[Any] = [tensor.grad_fn]
        met: set[Any] = set()
        while todo and len(met) < _FURTHEST:
            node = todo.pop()
            if node is None or node in met:
                continue
            met.add(node)
            path = self._nodes.get(node)
            if path is not None:
                self._edges[(path, to)] = None
            else:
                todo.extend(following for following, _ in node.next_functions)

    def finish(self) -> None:
        """Writes what was seen."""
        self._nodes.clear()
        model = self._root.module()
        if model is None:
            return
        nodes: list[dict[str, Any]] = []
        numbers: dict[str, int] = {}
        entries = self._recorder.names.entries
        for _, module in model.named_modules():
            entry = entries.get(id(module))
            if entry is None or entry.module() is not module or entry.path in numbers:
                continue
            numbers[entry.path] = len(nodes)
            node: dict[str, Any] = {
                "path": entry.path,
                "type": entry.kind,
                "name": entry.qualified,
                "pass": "forward",
                "is_module": True,
                "parameters": sum(parameter.numel() for parameter in module.parameters()),
            }
            seen = self._seen.get(entry.path, {})
            node.update((key, value) for key, value in seen.items() if value is not None)
            nodes.append(node)
        edges = [
            {"from": numbers[start], "to": numbers[end]}
            for start, end in self._edges
            if start in numbers and end in numbers and start != end
        ]
        self._recorder.session.write_model({"nodes": nodes, "edges": edges})


def _shape(tensor: Any) -> dict[str, Any]:
    return {"type": str(tensor.dtype).replace("torch.", ""), "dims": [int(size) for size in tensor.shape]}


def _flops(module: Any, given: list[Any], made: list[Any]) -> Optional[int]:
    """Floating-point operations of a module that is one operation: a multiplication and an addition are two."""
    kind = type(module).__name__
    weight: Any = getattr(module, "weight", None)
    if not made or not given:
        return None
    elements = made[0].numel()
    if kind in ("Linear", "NonDynamicallyQuantizableLinear"):
        # Other libraries have classes of this name.
        inputs = getattr(module, "in_features", None)
        if not isinstance(inputs, int):
            return None
        flops = 2 * elements * inputs
    elif kind == "Conv1D" and hasattr(weight, "dim") and weight.dim() == 2:  # What GPT-2 calls a linear layer.
        flops = 2 * elements * int(weight.shape[0])
    elif kind in ("Conv1d", "Conv2d", "Conv3d") and hasattr(weight, "numel"):
        flops = 2 * elements * int(weight[0].numel())
    elif kind in ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d") and hasattr(weight, "numel"):
        flops = 2 * given[0].numel() * int(weight[0].numel())
    elif kind == "Embedding":
        return 0
    elif kind in ("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"):
        return 5 * elements
    else:
        return None
    return flops + (elements if getattr(module, "bias", None) is not None else 0)
