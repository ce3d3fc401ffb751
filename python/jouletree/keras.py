"""Keras."""
from __future__ import annotations
def adapt(keras) -> None:
    pass
