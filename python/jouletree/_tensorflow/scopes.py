"""Scopes: which layer or optimizer of Keras a scope of names belongs to.

Keras 3 opens a scope for each call of a layer, and one more to build it, and TensorFlow numbers scopes that it has seen
before. So a layer ``conv2d_1`` is called ``conv2d_1_2`` in a graph, and its sister ``conv2d`` is called ``conv2d_1``.
When a scope is entered both are known, its name in the graph and the layer, and they are noted. Without a graph the
names of scopes are not in the profile at all: while one is recorded, each scope is made an event of it.
"""

from __future__ import annotations

from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

#: How the event of a scope is called that is entered without a graph.
SPAN = "scope::"

#: More scopes than that are not noted: names are then as in the graph.
_MOST = 50_000


class Scopes:
    """The scopes of this process."""

    def __init__(self, tensorflow: Any) -> None:
        #: The owner of a scope that is being entered: a layer, an optimizer, or ``None``. Keras knows.
        self.owner: Optional[Callable[[Any], Any]] = None
        #: Whether events of scopes are wanted: a profile is being recorded.
        self.spans = False
        #: What is known about all names: a kind with a scope, and the name that the program gives its owner.
        self.names: dict[str, str] = {}
        #: The same since `take` was called last.
        self._new: dict[str, str] = {}
        # By number, since nothing of the program's may be kept alive.
        self._owners: dict[tuple[int, str], int] = {}
        self._taken: dict[tuple[int, str], int] = {}
        self._graph = tensorflow.compat.v1.get_default_graph
        self._eagerly = tensorflow.executing_eagerly
        self._trace = tensorflow.profiler.experimental.Trace

    def watch(self) -> None:
        """Begins to see scopes."""
        from tensorflow.python.framework.ops import name_scope_v2

        plain = name_scope_v2.__enter__
        scopes = self

        def __enter__(self: Any) -> Any:
            name = plain(self)
            if scopes.spans or scopes.owner is not None:
                guarded(scopes._entered, self, name)
            return name

        __enter__.__doc__ = plain.__doc__
        __enter__.__wrapped__ = plain  # type: ignore[attr-defined]  # as functools.wraps sets it
        name_scope_v2.__enter__ = __enter__

    def span(self, name: str) -> Any:
        """A context that is an event of the profile."""
        return self._trace(SPAN + name.replace("#", "_"))

    def _entered(self, scope: Any, name: str) -> None:
        if not self._eagerly():
            owner = self.owner(scope) if self.owner is not None else None
            if owner is not None:
                self._note(owner, name.rstrip("/"))
        elif self.spans:
            span, leave = self.span(name.rstrip("/")), scope._exit_fns.pop()

            def leaving(*error: Any) -> Any:
                span.__exit__(None, None, None)
                return leave(*error)

            scope._exit_fns.append(leaving)

    def take(self) -> dict[str, str]:
        """What was noted since this was called last: the names in a graph that was just built."""
        new, self._new = self._new, {}
        self._owners.clear()
        self._taken.clear()
        return new

    def _note(self, owner: Any, path: str) -> None:
        """Notes that a scope in the graph that is being built belongs to a layer or an optimizer."""
        if len(self.names) >= _MOST:
            return
        graph, name = id(self._graph()), str(owner.name)
        if hasattr(owner, "apply_gradients"):
            self._add(f"optimizer:{path}", name)
            return
        self._owners[graph, path] = id(owner)
        # Two layers of one layer may have the same name; they stay two.
        parent = self._owners.get((graph, path.rpartition("/")[0]))
        own, number = name, 1
        while parent is not None and self._taken.setdefault((parent, name), id(owner)) != id(owner):
            number += 1
            name = f"{own}_{number}"
        self._add(f"layer:{path}", name)

    def _add(self, scope: str, name: str) -> None:
        self.names[scope] = self._new[scope] = name


def owner_in_keras_3() -> Callable[[Any], Any]:
    """Finds the owner of a scope that Keras 3 enters."""
    from keras.src.backend.common import global_state

    def owner(scope: Any) -> Any:
        stack = global_state.get_global_attribute("name_scope_stack")
        inner = stack[-1] if stack else None
        return inner.caller if inner is not None and getattr(inner, "_tf_name_scope", None) is scope else None

    return owner
