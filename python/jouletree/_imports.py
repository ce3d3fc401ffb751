"""Hooks into imports: an adapter is called when its framework has been imported, and never imports it itself.

The import system marks the specification of a module while it is being imported, and unmarks it at the end. An awaited
module gets a specification that notices this; its finder, its loader and the traceback of whatever goes wrong in
it stay as they are without us. As soon as the module is there its specification is an ordinary one again.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from ._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec as _ModuleSpec
    from types import ModuleType
    from typing import Any, Callable, Optional, Sequence

    Adapter = Callable[[ModuleType], None]
else:
    #: `importlib.machinery.ModuleSpec`, without the modules that its import brings.
    _ModuleSpec = type(sys.__spec__)

_adapters: dict[str, list[Adapter]] = {}


def when_imported(name: str, adapter: Adapter) -> None:
    """Calls `adapter` with the module of this name after it was imported, once, or now if it was already."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        guarded(adapter, module)
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _adapters.setdefault(name, []).append(adapter)


class _Finder:
    """Finds awaited modules as the other finders do."""

    def __init__(self) -> None:
        # What is being found, by thread: the others are asked through the same list that this one is in.
        self._finding: set[tuple[int, str]] = set()

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None) -> Any:
        if name not in _adapters:
            return None
        this = (get_ident(), name)
        if this in self._finding:
            return None
        self._finding.add(this)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                if finder is self or find is None:
                    continue
                spec = find(name, path, target)
                if spec is not None:
                    # A folder without code that happens to have the name is not the framework.
                    if type(spec) is _ModuleSpec and spec.loader is not None:
                        spec.__class__ = _AwaitedSpec
                    return spec
        finally:
            self._finding.discard(this)
        return None


class _AwaitedSpec(_ModuleSpec):
    """A specification that calls the adapters when its module has been imported."""

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__.get("_initializing", False))

    @_initializing.setter
    def _initializing(self, now: bool) -> None:
        before = self._initializing
        self.__dict__["_initializing"] = now
        if before and not now:
            self.__class__ = _ModuleSpec  # type: ignore[assignment]  # a base class in place of its own
            module = sys.modules.get(self.name)
            # A module that could not be imported is not there.
            if module is not None:
                for adapter in _adapters.pop(self.name, ()):
                    guarded(adapter, module)


# What asks for the class of a specification sees the usual name.
_AwaitedSpec.__name__ = _AwaitedSpec.__qualname__ = "ModuleSpec"
