"""PyTorch under ``jouletree run``, and ``attach`` for those who want to say which model is meant.

Under ``jouletree run`` nothing has to be called: `adapt` is, once torch was imported. Modules are then known by the
names that the program gave them, steps are found by watching optimizers, data loaders and the calls of models
(``jouletree._torch.steps`` says how), and the operations of chosen steps are recorded by torch's own profiler.
"""

from __future__ import annotations

from ._session import current, guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

__all__ = ["Attached", "adapt", "attach"]


def adapt(module: ModuleType) -> None:
    """Has everything that this process does with torch recorded."""
    session = current()
    if session is None or session.level == "process":
        return
    from ._torch.recorder import install

    install(module, session)


class Attached:
    """A model whose modules are recorded under a name of their own, until `detach` is called."""

    def __init__(self, undo: Optional[Callable[[], None]] = None) -> None:
        self._undo = undo

    def detach(self) -> None:
        """Ends it. May be called again."""
        undo, self._undo = self._undo, None
        if undo is not None:
            guarded(undo)

    def __enter__(self) -> Attached:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.detach()


def attach(model: Any, name: Optional[str] = None) -> Attached:
    """Records a model under `name`: its modules become ``name/…``; without one, as they would be anyway.

    Needed only to name models, such as two of the same class, or where torch was not adapted by ``jouletree run``.
    """
    session = current()
    if session is None:
        import warnings

        warnings.warn("jouletree.torch.attach does nothing outside of `jouletree run`", stacklevel=2)
        return Attached()
    if session.level == "process":
        return Attached()
    return guarded(_attach, session, model, name) or Attached()


def _attach(session: Any, model: Any, name: Optional[str]) -> Attached:
    import torch

    from ._torch.recorder import install

    recorder = install(torch, session, everywhere=False)
    return Attached(recorder.attach(model, name))
