"""Steps that have ended and are not written yet, because they may turn out to be parts of one.

The first call of a function begins a step. Whether the function takes turns with the one before it shows at its second
call (`calls.py`); until then its step and the one before it are held back. If it takes turns, the two become one.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._session import Session
    from .calls import Function

#: A function that was not called again within so many steps takes no turns.
_ROWS = 16


class Row(NamedTuple):
    """A step that has ended."""

    start_ns: int
    end_ns: int
    leader: Function
    recorded: bool
    #: Whether it began with the first call of its leader.
    is_first: bool


class Ledger:
    """The steps of this process on their way to its table."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: list[Row] = []

    def add(self, row: Row) -> None:
        """Takes a step that has ended; steps come in order."""
        self._held.append(row)
        self._write(keep=self._undecided())

    def held(self, function: Function) -> int:
        """How many steps of this function's phase and name are not written yet."""
        key = (function.phase, function.label)
        return sum((row.leader.phase, row.leader.label) == key for row in self._held)

    def in_turn(self, function: Function) -> None:
        """Joins the step that began with the first call of this function to the step before it."""
        rows = self._held
        for index in range(1, len(rows)):
            one, other = rows[index - 1], rows[index]
            if other.leader is function and other.is_first:
                if one.recorded == other.recorded:
                    rows[index - 1 : index + 1] = [one._replace(end_ns=other.end_ns)]
                return

    def write(self) -> None:
        """Writes all steps."""
        self._write(keep=len(self._held))

    def _undecided(self) -> int:
        """The first row that has to wait: the one before a step whose function was called once."""
        rows = self._held
        for index in range(max(1, len(rows) - _ROWS), len(rows)):
            if rows[index].is_first and rows[index].leader.was_called_once():
                return index - 1
        # The next step may be the first of a new function.
        return len(rows) - 1

    def _write(self, keep: int) -> None:
        rows, self._held = self._held[:keep], self._held[keep:]
        for start, end, leader, recorded, _ in rows:
            self._session.ran_step(
                self._session.next_step(), start, end, leader.phase, recorded, function=leader.label
            )
