"""Hooks into imports: an adapter is told when its framework has been imported, and never imports it itself."""

from __future__ import annotations

import sys
from ._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional, Sequence

    Adapter = Callable[[ModuleType], None]

_adapters: dict[str, list[Adapter]] = {}


def when_imported(name: str, adapter: Adapter) -> None:
    """Calls `adapter` with the module of this name after it was imported, or now if it was already."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        guarded(adapter, module)
        return
    if not _adapters:
        sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
    _adapters.setdefault(name, []).append(adapter)


class _Finder:
    """Finds modules as the other finders do, and has the awaited ones tell when they were loaded."""

    def __init__(self) -> None:
        self._finding: set[str] = set()

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None) -> Any:
        if name not in _adapters or name in self._finding:
            return None
        self._finding.add(name)
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                if finder is self or find is None:
                    continue
                spec = find(name, path, target)
                if spec is not None:
                    if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                        spec.loader = _Loader(spec.loader, name)
                    return spec
        finally:
            self._finding.discard(name)
        return None


class _Loader:
    """A loader that calls the adapters after the module was executed; in everything else it is the other one."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader = loader
        self._name = name

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module sees its own loader, so that what asks it for data gets an answer.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for adapter in _adapters.get(self._name, ()):
            guarded(adapter, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
