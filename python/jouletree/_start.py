"""What happens when Python starts under ``jouletree run``: the session begins, and frameworks are awaited."""

from __future__ import annotations

from ._imports import when_imported
from ._session import begin

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


def start() -> None:
    """Begins this process's part of the run."""
    session = begin()
    if session is None or session.level == "process":
        return
    for framework, adapter in ADAPTERS.items():
        when_imported(framework, _adapter(adapter))


def _adapter(name: str):  # type: ignore[no-untyped-def]
    def adapt(module) -> None:  # type: ignore[no-untyped-def]
        import importlib

        importlib.import_module(f"jouletree.{name}").adapt(module)

    return adapt
