"""What functions are called in a run: each has a name of its own, since different functions do different work."""

from __future__ import annotations

from .tracing import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

#: A program that makes a function anew for each call has so many at most.
_MOST = 8


class Labels:
    """The names that were given."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], int] = {}

    def new(self, function: Any, phase: str, model: Optional[Any]) -> str:
        """The name of a function that was not seen before; `model` is what Keras trains or runs at the moment."""
        # Keras calls the functions of all models alike.
        name = str(model.name) if model is not None and is_of_keras(function) else name_of(function)
        number = self._given[phase, name] = min(self._given.get((phase, name), 0) + 1, _MOST)
        return name if number == 1 else f"{name} ({number})"


def is_of_keras(function: Any) -> bool:
    """Whether Keras itself made a function, to train or to run a model."""
    python = getattr(function, "python_function", None)
    module = str(getattr(python, "__module__", "") or "")
    return module.partition(".")[0] in ("keras", "tf_keras")
