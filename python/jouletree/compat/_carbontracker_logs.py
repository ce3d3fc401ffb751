"""What CarbonTracker prints, on the console and in two files of a folder, in the form that its parser reads."""

from __future__ import annotations

import os
import time

from ._meter import is_gpu, joules_of
from ._notices import warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._meter import Reading

#: The version whose logs these are like: parsers look for it.
_LIKE = "2.4.7"


class Logs:
    """The console and the files of one tracker."""

    def __init__(self, folder: Optional[str], prefix: str, talks: bool) -> None:
        self._talks = talks
        self._notes: Optional[str] = None
        self._output: Optional[str] = None
        self._components: list[str] = []
        self._has_conditions = False
        if folder is not None:
            self._begin_files(os.fspath(folder), prefix)
        from .. import __version__

        self.note(f"jouletree {__version__}, in the form of carbontracker version {_LIKE}")

    def note(self, message: str) -> None:
        """Writes a line of the log."""
        self._write(self._notes, message)

    def say(self, message: str) -> None:
        """Says something on the console, and writes it to the file of what was said."""
        if self._talks:
            print(f"CarbonTracker: {message}", flush=True)
        self._write(self._output, f"CarbonTracker: {message}")

    def components(self, reading: Reading) -> None:
        """Says once what is measured."""
        if self._components or not reading.rows:
            return
        self._components = list(_by_component(reading))
        found = "The following components were found:"
        for name, rows in _by_component(reading).items():
            # The parser takes a full stop for the end of the list.
            devices = ", ".join(row["device"].rpartition("/")[2].replace(".", "-") for row in rows)
            found += f" {name.upper()} with device(s) {devices}."
        self.note(found)
        self.say(found)

    def epoch(self, number: int, reading: Reading, of_process: bool) -> None:
        """Writes what an epoch took."""
        self.note(f"Epoch {number}:")
        self.note(f"Duration: {_hours(reading.seconds, 2)}")
        parts = _by_component(reading)
        for name in self._components:
            joules = sum(joules_of(row, of_process) for row in parts.get(name, ()))
            watts = f"{joules / reading.seconds:.9f}" if name in parts and reading.seconds > 0 else "None"
            self.note(f"Average power usage (W) for {name}: {watts}")

    def conditions(self, answer: dict[str, Any]) -> None:
        """Writes once by what consumption is multiplied, which is not known before the command has said it."""
        if not self._has_conditions:
            self._has_conditions = True
            pue = answer["row"].get("pue")
            self.note(f"Predicted and actual consumptions are multiplied by a PUE coefficient of {pue}")

    def intensity(self, answer: dict[str, Any]) -> None:
        """Writes which carbon intensity was taken, if one is known."""
        intensity = answer.get("intensity")
        if intensity is None:
            return
        place = ", ".join(
            str(intensity[name]) for name in ("zone", "year", "source") if intensity.get(name) is not None
        )
        grams = f"{intensity['g_per_kwh']:.2f} gCO2eq/kWh"
        intensity = f"Average carbon intensity during training was {grams} at detected location: {place}"
        self.note(intensity)
        self.say(intensity)

    def consumption(
        self,
        title: str,
        seconds: float,
        kwh: float,
        interval: Optional[tuple[float, float]],
        grams: Optional[float],
        equivalents: Optional[list[tuple[float, str]]],
        precision: int,
        warm_up: int = 0,
    ) -> None:
        """Prints a prediction, with how many epochs warmed up and are no example for the rest, or what was used."""
        lines = [title, f"\tTime:\t{_hours(seconds, 0)}", f"\tEnergy:\t{kwh:.{precision}f} kWh"]
        if interval is not None:
            lines.append(
                f"\tBetween:\t{interval[0]:.{precision}f} and {interval[1]:.{precision}f} kWh, 95 of 100 times"
            )
        if warm_up:
            lines.append(f"\tWarm-up:\t{warm_up} epoch(s)")
        lines.append(f"\tCO2eq:\t{float('nan') if grams is None else grams:.{precision}f} g")
        if equivalents is not None:
            lines.append("\tThis is equivalent to:")
            lines += [f"\t{amount:.{precision}f} {unit}" for amount, unit in equivalents]
        self.say("\n" + "\n".join(lines))

    def _begin_files(self, folder: str, prefix: str) -> None:
        import random

        # A generator of its own: the program's random numbers stay what they are.
        number = random.SystemRandom().randint(1, 999_999)
        when = time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())
        name = f"{prefix + '_' if prefix else ''}{os.getpid()}.{number}_{when}_carbontracker"
        try:
            os.makedirs(folder, exist_ok=True)
            self._notes, self._output = (os.path.join(folder, name + end) for end in (".log", "_output.log"))
        except OSError as error:
            warn_once(f"CarbonTracker writes no logs: {error}")

    def _write(self, path: Optional[str], message: str) -> None:
        if path is None:
            return
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} - {message}\n"
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            # Half a log would be read as a whole one.
            self._notes = self._output = None
            warn_once(f"CarbonTracker's logs end here: {error}")


def _by_component(reading: Reading) -> dict[str, list[dict[str, Any]]]:
    """Rows by what CarbonTracker calls them; memory belongs to the processor, as in its own counting."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in reading.counted():
        parts.setdefault("gpu" if is_gpu(row) else "cpu", []).append(row)
    return parts


def _hours(seconds: float, digits: int) -> str:
    """As in 1:02:03, or 1:02:03.40 with two digits."""
    scale = 10**digits
    units = round(seconds * scale)
    minutes, units = divmod(units, 60 * scale)
    hours, minutes = divmod(minutes, 60)
    if digits == 0:
        return f"{hours}:{minutes:02}:{units:02}"
    return f"{hours}:{minutes:02}:{units // scale:02}.{units % scale:0{digits}}"
