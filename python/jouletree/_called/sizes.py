"""How large arguments and results are, as far as that is known at once: nothing is copied, read or pickled."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional

#: So many values are looked at, and so deep; a list of a million numbers is not walked through.
_MOST = 64
_DEEPEST = 3
#: So many shapes are kept.
_TOLD = 8


class Size:
    """What values hold."""

    __slots__ = ("bytes", "shapes", "_left")

    def __init__(self) -> None:
        #: ``None`` while nothing was seen that shows its size.
        self.bytes: Optional[int] = None
        self.shapes: list[str] = []
        self._left = _MOST

    def add(self, value: Any, depth: int = 0) -> None:
        """Looks at a value."""
        if self._left <= 0:
            return
        self._left -= 1
        if value is None or isinstance(value, (bool, int, float, complex)):
            return
        if isinstance(value, (str, bytes, bytearray, memoryview)):
            self._count(len(value))
            return
        if isinstance(value, (list, tuple, set, frozenset)):
            self._add_all(value, depth)
            return
        if isinstance(value, dict):
            self._add_all(value.values(), depth)
            return
        shape = getattr(value, "shape", None)
        if shape is None:
            return
        held = _bytes(value, shape)
        if held is not None:
            self._count(held)
            if len(self.shapes) < _TOLD:
                self.shapes.append(_shape(value, shape))

    def _add_all(self, values: Iterable[Any], depth: int) -> None:
        if depth < _DEEPEST:
            for value in values:
                if self._left <= 0:
                    break
                self.add(value, depth + 1)

    def _count(self, held: int) -> None:
        self.bytes = (self.bytes or 0) + held


def size_of(*values: Any) -> Size:
    """The size of values; an object that does not like to be looked at has none."""
    size = Size()
    for value in values:
        try:
            size.add(value)
        except Exception:  # noqa: BLE001 -- the program's objects may do anything when they are asked
            pass
    return size


def _bytes(value: Any, shape: Any) -> Optional[int]:
    held = getattr(value, "nbytes", None)
    if isinstance(held, int):
        return held
    # Symbolic tensors have unknown sizes, and those of TensorFlow no ``nbytes``.
    elements = 1
    for side in shape:
        if not isinstance(side, int):
            return None
        elements *= side
    each = getattr(getattr(value, "dtype", None), "itemsize", None) or getattr(
        getattr(value, "dtype", None), "size", None
    )
    return elements * each if isinstance(each, int) else None


def _shape(value: Any, shape: Any) -> str:
    kind = str(getattr(value, "dtype", "")).replace("torch.", "").replace("<dtype: '", "").replace("'>", "")
    return f"({', '.join(map(str, shape))}) {kind}".strip()
