"""Scopes for the modules of libraries that set none, or the same for all layers of a class: Flax NNX and Equinox.

Flax's linen and Haiku name their modules by `jax.named_scope` themselves. For the others, a module that is called while a
function is traced gets a scope here: its class if it is outermost, else the attribute of the module around it that it
is kept in (``blocks.0``, ``attention``). Scopes are names in the compiled program; they change nothing that it computes.
"""

from __future__ import annotations

import functools
import threading
from types import FunctionType
from .._imports import when_imported
from .._session import guarded
from .functions import without_this_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Iterable, Iterator

#: How deep a module may lie in lists, dictionaries and modules that are not called themselves.
_DEPTH = 4
#: How many attributes are looked at to find one.
_SEARCH = 4096


class Modules:
    """The modules that are being called, by thread."""

    def __init__(self, jax: ModuleType) -> None:
        from jax._src.core import trace_state_clean

        self._is_outermost = trace_state_clean
        self._scope: Callable[[str], Any] = jax.named_scope
        self._here = threading.local()
        #: What modules are derived from.
        self._bases: tuple[type, ...] = ()
        when_imported("flax.nnx", lambda nnx: self._name_all(nnx.Module, "flax.nnx.", ()))
        when_imported("equinox", lambda equinox: self._name_all(equinox.Module, "equinox.", ("equinox.nn.",)))

    def _name_all(self, base: type[Any], library: str, layers: tuple[str, ...]) -> None:
        """Gives scopes to the classes derived from `base`, those to come included. Of the library's own classes only those
        in modules that `layers` begin are layers, or all if it is empty."""

        def name(cls: type) -> None:
            own = f"{cls.__module__}."
            if not layers or not own.startswith(library) or own.startswith(layers):
                self._name(cls)

        self._bases += (base,)
        for cls in _derived(base):
            guarded(name, cls)
        inner = base.__dict__.get("__init_subclass__")

        def __init_subclass__(cls: Any, *arguments: Any, **options: Any) -> None:
            if inner is not None:
                inner.__get__(None, cls)(*arguments, **options)
            else:
                super(base, cls).__init_subclass__(*arguments, **options)
            guarded(name, cls)

        base.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment]  # the library's class, patched

    def _name(self, cls: type) -> None:
        call = cls.__dict__.get("__call__")
        if type(call) is not FunctionType or getattr(call, "__isabstractmethod__", False):
            return
        enter, leave, is_outermost = self._enter, self._leave, self._is_outermost

        @functools.wraps(call)
        def __call__(self: Any, /, *arguments: Any, **options: Any) -> Any:
            scope = None if is_outermost() else guarded(enter, self)
            if scope is None:
                return call(self, *arguments, **options)
            try:
                with scope:
                    return call(self, *arguments, **options)
            except BaseException as error:
                without_this_frame(error)
                raise
            finally:
                leave()

        cls.__call__ = __call__  # type: ignore[method-assign]  # as above

    def _enter(self, module: Any) -> Any:
        """The scope of a module that is called now; `None` if it is in its scope already, as within ``super()``."""
        open_modules = self._open()
        around = open_modules[-1] if open_modules else None
        if module is around:
            return None
        name = None if around is None else _name_in(around, module, self._bases)
        scope = self._scope(name or type(module).__name__)
        open_modules.append(module)
        return scope

    def _leave(self) -> None:
        self._open().pop()

    def _open(self) -> list[Any]:
        try:
            return self._here.modules
        except AttributeError:
            modules: list[Any] = []
            self._here.modules = modules
            return modules


def _derived(base: type[Any]) -> Iterator[type[Any]]:
    for cls in base.__subclasses__():
        yield cls
        yield from _derived(cls)


def _name_in(around: Any, module: Any, bases: tuple[type, ...]) -> str | None:
    """The attribute of a module that another one is kept in; modules are the same only if they are identical."""
    holders = (list, tuple, dict, *bases)
    ring: list[tuple[str, Any]] = [("", around)]
    looked = 0
    for _ in range(_DEPTH):
        next_ring: list[tuple[str, Any]] = []
        for name, holder in ring:
            for key, value in _held_by(holder):
                looked += 1
                if looked > _SEARCH:
                    return None
                path = f"{name}{'.' if str(key).isdigit() else '/'}{key}" if name else str(key)
                if value is module:
                    return _plain(path)
                if isinstance(value, holders):
                    next_ring.append((path, value))
        ring = next_ring
    return None


def _held_by(holder: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(holder, dict):
        return list(holder.items())
    if isinstance(holder, (list, tuple)):
        return enumerate(holder)
    return list(vars(holder).items())


def _plain(path: str) -> str:
    """Without what has a meaning in names of scopes."""
    return "".join(letter if letter.isalnum() or letter in "_-./" else "_" for letter in path)
