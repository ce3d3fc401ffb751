"""Which steps of a program are recorded operation by operation."""

from __future__ import annotations

#: The last of a range without an end.
_FOR_EVER = 1 << 62


class StepPlan:
    """A choice of steps, written ``1..20,every:500``: steps are numbered from 1, and both ends of a range are in it."""

    def __init__(self, text: str = "") -> None:
        self._ranges: list[tuple[int, int]] = []
        self._every: int | None = None
        for part in filter(None, (part.strip() for part in text.split(","))):
            self._take(part)

    def _take(self, part: str) -> None:
        if part.startswith("every:"):
            self._every = max(1, int(part[len("every:") :]))
            return
        first, dots, last = part.partition("..")
        begin = int(first or 1)
        end = _FOR_EVER if dots and not last else int(last) if dots else begin
        self._ranges.append((begin, end))

    def wants(self, step: int) -> bool:
        """Whether this step is recorded."""
        if self._every is not None and step % self._every == 0:
            return True
        return any(first <= step <= last for first, last in self._ranges)

    def is_over(self, step: int) -> bool:
        """Whether neither this step nor any later one is recorded."""
        return self._every is None and all(last < step for _, last in self._ranges)
