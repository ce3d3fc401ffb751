"""What a window took, in joules, by device, with its interval and its kind.

The numbers are fetched when one of them is first asked for: asking right after the window takes some hundredths of a
second, as the meters must reach its end, and asking later takes nothing.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


class DeviceEnergy:
    """The part that this program and its children had in the energy of one device."""

    __slots__ = (
        *("device", "kind", "meter", "joules", "low", "high"),
        *("whole", "ours", "others", "idle", "unknown", "coverage"),
    )

    def __init__(self, row: dict[str, Any]) -> None:
        #: The device, as in ``host/cpu:0``.
        self.device: str = row["device"]
        #: How far its meter is from one that measures: ``measured``, ``derived`` or ``estimated``.
        self.meter: str = row["kind"]
        #: The same for the program's joules: a share of what was measured is derived.
        self.kind: str = "derived" if self.meter == "measured" else self.meter
        #: All joules of the device, of all users: the program's, others', idle and unknown ones.
        self.whole: float = row["energy_j"]
        self.others: float = row["others_j"]
        self.idle: float = row["idle_j"]
        #: Joules of times with unknown users.
        self.unknown: float = row["unknown_j"]
        #: The part of the window about which something is known.
        self.coverage: float = row["coverage"]
        #: Joules that the program used for certain.
        self.ours: float = row["ours_j"]
        ours = self.ours
        #: The program's joules. A GPU whose driver does not report its users is taken to work for the program.
        self.joules: float = ours + self.unknown if "gpu:" in self.device else ours
        #: They are not less, and not more, in 95 of 100 cases, as far as the program's share is right; what is
        #: unknown may have been the program's, or not.
        self.low: float = _part(ours, self.whole) * row["low_j"]
        self.high: float = _part(ours + self.unknown, self.whole) * row["high_j"]

    def __repr__(self) -> str:
        return f"<{self.device}: {self.text()}>"

    def text(self) -> str:
        """The program's joules with their kind and interval."""
        return _text(self.joules, self.kind, self.low, self.high)


class Measurement:
    """What a window took.

    Where the recorder has gone before it could answer, joules are NaN, there are no devices and `complete` is false.
    """

    def __init__(self, name: str, start_ns: int, end_ns: int, fetch: Callable[[], Optional[dict[str, Any]]]) -> None:
        #: The name of the window.
        self.name = name
        self.start_ns = start_ns
        self.end_ns = end_ns
        self._fetch: Optional[Callable[[], Optional[dict[str, Any]]]] = fetch
        self._complete = False
        self._devices: list[DeviceEnergy] = []

    @property
    def seconds(self) -> float:
        """How long the window lasted."""
        return (self.end_ns - self.start_ns) * 1e-9

    @property
    def devices(self) -> list[DeviceEnergy]:
        """Every device that is metered."""
        self._known()
        return list(self._devices)

    @property
    def joules(self) -> float:
        """What this program and its children used, on all devices together."""
        return self._sum("joules")

    @property
    def low(self) -> float:
        """They are not less than this: the sum of all devices' bounds."""
        return self._sum("low")

    @property
    def high(self) -> float:
        """They are not more than this: the sum of all devices' bounds."""
        return self._sum("high")

    @property
    def watts(self) -> float:
        """The mean power of it."""
        return self.joules / self.seconds if self.seconds > 0 else math.nan

    @property
    def kind(self) -> str:
        """``derived`` from what was measured or ``estimated``; ``mixed`` where devices differ, ``unknown`` for none."""
        self._known()
        kinds = {device.kind for device in self._counted()}
        return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "unknown"

    @property
    def complete(self) -> bool:
        """Whether the meters were heard from the window's beginning to its end."""
        self._known()
        return self._complete

    def __float__(self) -> float:
        return self.joules

    def __str__(self) -> str:
        text = _text(self.joules, self.kind, self.low, self.high)
        return text if self.complete else f"{text}, not complete"

    def __repr__(self) -> str:
        return f"<jouletree.Measurement {self.name!r}: {self}>"

    def _repr_html_(self) -> str:
        """The same with a bar of each device, for notebooks."""
        from ._html import of_measurement

        return of_measurement(self)

    def _sum(self, attribute: str) -> float:
        if not self._known() or not self._devices:
            return math.nan
        return math.fsum(getattr(device, attribute) for device in self._counted())

    def _counted(self) -> list[DeviceEnergy]:
        """The devices that are added: a meter of the whole machine counts what the others do, too."""
        parts = [device for device in self._devices if "machine:" not in device.device]
        return parts or self._devices

    def _known(self) -> bool:
        fetch = self._fetch
        if fetch is None:
            return True
        answer = fetch()
        if answer is None:
            return False
        try:
            self._devices = [DeviceEnergy(row) for row in answer.get("devices", ())]
            self._complete = bool(answer.get("complete", False))
        except (KeyError, TypeError):
            self._devices = []
        self._fetch = None
        return True


def _part(joules: float, whole: float) -> float:
    return min(joules / whole, 1.0) if whole > 0 else 1.0


def _text(joules: float, kind: str, low: float, high: float) -> str:
    if math.isnan(joules):
        return "unknown"
    return f"{_figure(joules)} J ({kind}, {_figure(low)} … {_figure(high)} J)"


def _figure(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
