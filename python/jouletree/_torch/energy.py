"""The energy of a training as its trainer's callbacks log it: joules so far, from windows.

Outside of ``jouletree run`` the first window starts a recorder of this process.
"""

from __future__ import annotations

from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


class Tally:
    """Adds up the energy of training, leaving out what happens while it is paused, such as an evaluation.

    Nothing is added up without a recorder.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._window: Any = None
        self._kind: Optional[str] = None
        self.joules = 0.0
        self.steps = 0
        self.samples = 0
        self._marks: dict[str, tuple[float, int, int]] = {}

    def resume(self) -> None:
        """Adds from now on."""
        if self._window is None:
            self._window = guarded(_begin, self._name)

    def pause(self) -> None:
        """Adds what was used so far, and no more."""
        window, self._window = self._window, None
        if window is None:
            return
        measured = guarded(_end, window)
        if measured is not None:
            self.joules += float(measured.joules)
            self._kind = str(measured.kind)

    def ran(self, samples: Optional[int]) -> None:
        """Counts a step."""
        self.steps += 1
        self.samples += samples or 0

    def mark(self, name: str) -> None:
        """Begins to count anew what is asked for under this name."""
        self._marks[name] = (self.joules, self.steps, self.samples)

    def since(self, name: str) -> dict[str, float]:
        """Joules by step and by sample since a mark, which is set anew; empty without a recorder."""
        joules, steps, samples = self._marks.get(name, (0.0, 0, 0))
        self.mark(name)
        if self._kind is None or self.steps == steps:
            return {}
        used = self.joules - joules
        figures = {"energy_j_per_step": used / (self.steps - steps)}
        if self.samples > samples:
            figures["energy_j_per_sample"] = used / (self.samples - samples)
        return self.named(figures)

    def used_since(self, name: str, figure: str) -> dict[str, float]:
        """Joules since a mark, which is set anew, as a figure of this name; empty without a recorder."""
        joules, steps, _ = self._marks.get(name, (0.0, 0, 0))
        self.mark(name)
        if self._kind is None or self.steps == steps:
            return {}
        return self.named({figure: self.joules - joules})

    def named(self, figures: dict[str, float]) -> dict[str, float]:
        """The figures under names that say when they are no measurement."""
        ending = "_estimated" if self._kind == "estimated" else ""
        return {name + ending: value for name, value in figures.items()}


def _begin(name: str) -> Any:
    try:
        from jouletree import begin_window
    except ImportError:
        return None
    return begin_window(name, quiet=True)


def _end(window: Any) -> Any:
    from jouletree import end_window

    return end_window(window)
