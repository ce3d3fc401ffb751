"""The nodes of a model: its modules and the primitives between them, with what they were given when the model ran."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .._torch.names import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .models import Subject

#: Modules that are primitives: what happens inside them is not looked at.
_PRIMITIVE_MODULES = {
    "Linear", "Conv1D", "Conv2d", "Embedding", "LayerNorm", "Dropout", "ReLU", "Sigmoid", "Tanh", "Softmax",
    "GELU", "GELUActivation", "NewGELUActivation", "FastGELUActivation", "MaxPool2d", "AdaptiveAvgPool2d",
}  # fmt: skip
#: Operations that are primitives where no module covers them.
_PRIMITIVE_OPERATIONS = {
    "aten::mm", "aten::bmm", "aten::addmm", "aten::_softmax", "aten::softmax", "aten::gelu", "aten::relu", "aten::tanh",
    "aten::sigmoid", "aten::native_layer_norm", "aten::embedding", "aten::convolution",
}  # fmt: skip


class Node:
    """A part of a model that can be run alone."""

    def __init__(self, path: str, kind: str, is_module: bool, call: Callable[[], Any]) -> None:
        self.path = path
        self.kind = kind
        self.is_module = is_module
        self.call = call
        self.parameters: Optional[int] = None
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        #: Whether it is worth a measurement of its own; else it only has a size.
        self.is_measured = True
        #: What is equal in nodes that take the same energy.
        self.likeness: tuple[Any, ...] = ()

    def described(self) -> dict[str, Any]:
        """The node as a model tree writes it."""
        row: dict[str, Any] = {"path": self.path, "type": self.kind, "name": self.path, "pass": "forward"}
        if self.is_module:
            row["is_module"] = True
        if self.parameters is not None:
            row["parameters"] = self.parameters
        return {**row, "inputs": self.inputs, "outputs": self.outputs}


class _Frame:
    """A module that is running."""

    def __init__(self, node: Node, is_primitive: bool) -> None:
        self.node = node
        self.is_primitive = is_primitive
        self.inside: list[tuple[Any, ...]] = []


class Sight(TorchDispatchMode):
    """Runs a model once and keeps what each of its parts was given."""

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self._subject = subject
        self._frames: list[_Frame] = []
        self._nodes: dict[str, Node] = {}
        self.repeated: set[str] = set()

    def nodes(self) -> list[Node]:
        """All nodes of the model, in the order in which they began."""
        model = self._subject.model
        handles = []
        for name, module in model.named_modules():
            path = path_of(name) if name else ""
            handles.append(module.register_forward_pre_hook(self._began(path), with_kwargs=True))
            handles.append(module.register_forward_hook(self._ended(path), with_kwargs=True))
        try:
            with torch.inference_mode(), self:
                model(*self._subject.args, **self._subject.kwargs)
        finally:
            for handle in handles:
                handle.remove()
        # A part that runs several times in one call of the model has no energy of its own to compare with its size.
        return [node for path, node in self._nodes.items() if not self._is_repeated(path)]

    def _is_repeated(self, path: str) -> bool:
        return any(path == other or path.startswith(other + "/") for other in self.repeated)

    def _began(self, path: str) -> Callable[..., None]:
        def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            kind = type(module).__name__
            if path in self._nodes:
                self.repeated.add(path)
            node = Node(path, kind, True, lambda: module(*args, **kwargs))
            node.parameters = sum(parameter.numel() for parameter in module.parameters())
            node.inputs = _shapes((args, kwargs))
            self._nodes.setdefault(path, node)
            self._frames.append(_Frame(node, kind in _PRIMITIVE_MODULES))

        return hook

    def _ended(self, path: str) -> Callable[..., None]:
        def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
            frame = self._frames.pop()
            node = frame.node
            node.outputs = _shapes(result)
            weights = tuple(tuple(parameter.shape) for parameter in module.parameters())
            node.likeness = (node.kind, _shapes_key(node.inputs), _shapes_key(node.outputs), weights, tuple(frame.inside))
            # Nothing is computed by dropout at inference.
            node.is_measured = node.kind not in ("Dropout", "Identity", "ModuleList")
            if self._frames:
                self._frames[-1].inside.append(node.likeness)

        return hook

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and not any(frame.is_primitive for frame in self._frames) and not _is_view(func):
            kind = func._schema.name
            node = Node(self._free(frame.node.path, kind), kind, False, lambda: func(*args, **kwargs))
            node.inputs, node.outputs = _shapes((args, kwargs)), _shapes(result)
            node.is_measured = kind in _PRIMITIVE_OPERATIONS or "scaled_dot_product" in kind
            node.likeness = (kind, _shapes_key(node.inputs), _shapes_key(node.outputs))
            frame.inside.append(node.likeness)
            self._nodes[node.path] = node
        return result

    def _free(self, module: str, kind: str) -> str:
        first = f"{module}/{kind}" if module else kind
        path, number = first, 1
        while path in self._nodes:
            number += 1
            path = f"{first}_{number}"
        return path


def _is_view(func: Any) -> bool:
    """Whether an operation only looks at its input in another way."""
    aliases = [argument.alias_info for argument in func._schema.arguments]
    return any(alias is not None and not alias.is_write for alias in aliases)


def _shapes(value: Any) -> list[dict[str, Any]]:
    """The tensors in arguments or results."""
    if isinstance(value, torch.Tensor):
        return [{"type": str(value.dtype).replace("torch.", ""), "dims": list(value.shape)}]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [shape for part in value for shape in _shapes(part)]
    return []


def _shapes_key(shapes: list[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple((shape["type"], *shape["dims"]) for shape in shapes)
