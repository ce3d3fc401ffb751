"""Jitted functions whose calls are seen.

`jax.jit` returns an object of a class that cannot be derived from, and whose calls do not pass through Python. What
takes its place here is an object around it that passes on everything: attributes, the binding to an instance,
pickling; it even says that it is of the same class.
"""

from __future__ import annotations

import functools
import sys
from types import MethodType
from .._session import guarded
from .calls import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .steps import Steps

_set = object.__setattr__

#: Where callables keep the one that they call.
_INNER = ("__wrapped__", "func", "__func__")


class Seen:
    # Without a docstring of its own: an instance has that of the function.

    __slots__ = ("_jouletree_inner", "_jouletree_steps", "_jouletree_function", "__weakref__")

    def __init__(self, inner: Any, steps: Steps) -> None:
        name = getattr(inner, "__name__", "")
        _set(self, "_jouletree_inner", inner)
        _set(self, "_jouletree_steps", steps)
        _set(self, "_jouletree_function", Function(name, guarded(_labels.of, name, inner)))

    def __call__(self, /, *arguments: Any, **options: Any) -> Any:
        steps, function = self._jouletree_steps, self._jouletree_function
        begun = steps.before(function)
        try:
            results = self._jouletree_inner(*arguments, **options)
        except BaseException as error:
            steps.failed(begun)
            without_this_frame(error)
            raise
        steps.after(function, begun, results)
        return results

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jouletree_inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._jouletree_inner, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._jouletree_inner, name)

    def __dir__(self) -> Any:
        return dir(self._jouletree_inner)

    def __repr__(self) -> str:
        return repr(self._jouletree_inner)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._jouletree_inner.__reduce_ex__(protocol)

    __class__ = property(lambda self: self._jouletree_inner.__class__)
    __dict__ = property(lambda self: self._jouletree_inner.__dict__)
    __doc__ = property(lambda self: self._jouletree_inner.__doc__)
    __module__ = property(lambda self: self._jouletree_inner.__module__)


class _Labels:
    """Names for steps: functions of one name that run different code have different names here."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Any, int]] = {}

    def of(self, name: str, function: Any) -> str:
        """The name of this function, with a number if others had the name before."""
        numbers = self._numbers.setdefault(name, {})
        number = numbers.setdefault(_code_of(function), len(numbers) + 1)
        return f"{name} ({number})" if number > 1 else name


_labels = _Labels()


def _code_of(function: Any) -> Any:
    """The code that a function runs, below decorators, partial applications and methods; else what it is."""
    code = None
    for _ in range(16):
        code = getattr(function, "__code__", code)
        inner = next((getattr(function, name) for name in _INNER if hasattr(function, name)), None)
        if inner is None:
            break
        function = inner
    return type(function) if code is None else code


def seeing(jit: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    """`jax.jit` or `jax.pmap`, returning functions whose calls are seen."""

    @functools.wraps(jit)
    def jitting(*arguments: Any, **options: Any) -> Any:
        made = jit(*arguments, **options)
        if _is_of_jax(sys._getframe(1).f_globals.get("__name__")):
            return made
        if arguments or "fun" in options:
            return Seen(made, steps)

        # Without a function it returns a decorator.
        def decorate(function: Any) -> Any:
            return Seen(made(function), steps)

        return decorate

    return jitting


def see_compiled(compiled: type, steps: Steps) -> None:
    """Sees calls of functions that were compiled ahead of time."""
    from weakref import WeakKeyDictionary

    functions: WeakKeyDictionary[Any, Function] = WeakKeyDictionary()
    call = compiled.__call__

    @functools.wraps(call)
    def seen(self: Any, *arguments: Any, **options: Any) -> Any:
        function = functions.get(self)
        if function is None:
            function = functions[self] = Function(_name_of(self))
            # It does not compile any more.
            function.calls = 1
        begun = steps.before(function)
        try:
            results = call(self, *arguments, **options)
        except BaseException as error:
            steps.failed(begun)
            without_this_frame(error)
            raise
        steps.after(function, begun, results)
        return results

    compiled.__call__ = seen  # type: ignore[method-assign]  # JAX's class, patched


def without_this_frame(error: BaseException) -> None:
    """Takes the frame of the caller, which then raises the error again, out of its traceback (since Python 3.11)."""
    if error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _name_of(compiled: Any) -> str:
    try:
        name = str(compiled._executable.unsafe_call.name)
    except Exception:  # noqa: BLE001 -- its steps have no name then
        return ""
    # `jit(train_step)`, of older versions `jit_train_step`.
    if name.startswith("jit(") and name.endswith(")"):
        return name[len("jit(") : -1]
    return name[len("jit_") :] if name.startswith("jit_") else name


def _is_of_jax(module: Any) -> bool:
    return isinstance(module, str) and (module in ("jax", "jaxlib") or module.startswith(("jax.", "jaxlib.")))
