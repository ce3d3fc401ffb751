"""Which steps do the same work: the names by which steps of one phase are distinguished.

A program with one model and one optimizer needs none, and its steps have the empty name.
"""

from __future__ import annotations

import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Hashable, Optional
    from .names import Entry, Names


class Groups:
    """Names of groups. A group keeps the name it has first."""

    def __init__(self, names: Names) -> None:
        self._names = names
        #: Optimizers, by identity.
        self._optimizers: dict[int, Any] = {}
        #: What each optimizer's steps are called, with a reference that says whether it is still the same one.
        self._functions: dict[int, tuple[Any, str]] = {}
        self._of_owners: dict[Hashable, str] = {}
        self._of_models: dict[tuple[str, str], str] = {}
        self._last = ""

    def add(self, optimizer: Any) -> None:
        """Notes an optimizer that was made."""
        self._optimizers[id(optimizer)] = weakref.ref(optimizer)

    def of_model(self, phase: str, root: Entry) -> str:
        """What steps of inference with this model are called."""
        key = (phase, root.qualified)
        name = self._of_models.get(key)
        if name is None:
            model = root.module()
            name = root.qualified if model is not None and self._names.others(model) else ""
            self._of_models[key] = name
        return name

    def of_optimizer(self, optimizer: Optional[Any] = None) -> str:
        """What training steps of an optimizer are called; without one, those of the last."""
        if optimizer is None:
            return self._last
        known = self._functions.get(id(optimizer))
        if known is not None and known[0]() is optimizer:
            self._last = known[1]
            return known[1]
        self._optimizers.setdefault(id(optimizer), weakref.ref(optimizer))
        owner, name = self._owner(optimizer)
        function = self._of_owners.get(owner)
        if function is None:
            function = name if self._has_others(owner) else ""
            while function and function in self._of_owners.values():
                function += "_"
            self._of_owners[owner] = function
        self._functions[id(optimizer)] = (weakref.ref(optimizer), function)
        self._last = function
        return function

    def _has_others(self, owner: Hashable) -> bool:
        """Whether the program has optimizers of other parts, or had steps of such."""
        if self._of_owners:
            return True
        for identity, reference in list(self._optimizers.items()):
            other = reference()
            if other is None:
                del self._optimizers[identity]
            elif self._owner(other)[0] != owner:
                return True
        return False

    def _owner(self, optimizer: Any) -> tuple[Hashable, str]:
        """The innermost module that holds all parameters of an optimizer: a key, and its name."""
        wanted = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        for model, name in self._names.models():
            parameters = list(model.named_parameters())
            paths = [path.split(".")[:-1] for path, parameter in parameters if id(parameter) in wanted]
            if not paths:
                continue
            common = [] if len(paths) == len(parameters) else paths[0]
            for path in paths:
                shared = 0
                while shared < min(len(common), len(path)) and common[shared] == path[shared]:
                    shared += 1
                common = common[:shared]
            return (id(model), *common), ".".join([name, *common])
        # Parameters of no module; optimizers of the same ones are alike.
        return (min(wanted, default=0),), type(optimizer).__name__
