"""Waiting for what the frameworks of a program have handed to their devices."""

from __future__ import annotations

import sys

from ._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def synchronise() -> None:
    """Waits until devices have finished their work; no framework is imported for it."""
    for name, wait in (("torch", _wait_torch), ("jax", _wait_jax), ("tensorflow", _wait_tensorflow)):
        framework = sys.modules.get(name)
        if framework is not None:
            guarded(wait, framework)


def _wait_torch(torch: Any) -> None:
    for backend in (torch.cuda, getattr(torch, "xpu", None)):
        if backend is not None and backend.is_initialized():
            backend.synchronize()


def _wait_jax(jax: Any) -> None:
    for array in jax.live_arrays():
        if not array.is_deleted():
            array.block_until_ready()
    jax.effects_barrier()


def _wait_tensorflow(tensorflow: Any) -> None:
    # TensorFlow 2.15 has it, older ones wait for their devices where results are read.
    wait = getattr(getattr(tensorflow.test, "experimental", None), "sync_devices", None)
    if wait is not None:
        wait()
