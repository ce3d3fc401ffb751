"""What happens when Python starts under ``jouletree run``: the session begins, and frameworks are awaited."""

from __future__ import annotations

import os

from ._imports import when_imported
from ._session import begin, current, guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Callable

    from ._session import Session

#: Modules whose import brings an adapter, and the adapter: a module of this package with a function ``adapt``.
ADAPTERS = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "keras": "keras",
    "tf_keras": "keras",
    "jax": "jax",
    "onnxruntime": "onnxruntime",
    "transformers": "transformers",
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
}


_has_started = False


def start() -> None:
    """Begins this process's part of the run, once."""
    global _has_started
    if _has_started:
        return
    _has_started = True
    session = begin()
    if session is None:
        return
    libraries = os.environ.get("JOULETREE_LIBRARIES")
    if libraries:
        guarded(_record_calls, session, libraries)
    if session.level in ("process", "call"):
        return
    for framework, adapter in ADAPTERS.items():
        when_imported(framework, _adapter(adapter))


def _record_calls(session: Session, libraries: str) -> None:
    from . import _called

    _called.begin(session, libraries, os.environ.get("JOULETREE_COMMAND", "jouletree"))


def _adapter(name: str) -> Callable[[ModuleType], None]:
    def adapt(framework: ModuleType) -> None:
        import importlib

        try:
            importlib.import_module(f"jouletree.{name}").adapt(framework)
        except Exception as error:  # noqa: BLE001 -- most likely a version that is not as the adapter knows it
            session = current()
            if session is not None:
                version = getattr(framework, "__version__", "of an unknown version")
                session.warn(
                    f"{framework.__name__} {version} is not known to this version of jouletree, "
                    f"which records power but none of its operations ({type(error).__name__}: {error})"
                )

    return adapt
