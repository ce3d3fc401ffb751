"""How busy the machine is, as the system reports it: CodeCarbon's columns beside energy."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_GIB = 1 << 30


class Look:
    """What the machine had done, and how much of its memory was in use, at a time. What is unknown is ``None``."""

    def __init__(self) -> None:
        self.busy, self.idle = _ticks()
        self.used, self.total = _memory()

    def since(self, before: Look) -> dict[str, Optional[float]]:
        """How busy it was from `before` until now, in percent; of memory, the mean of both ends."""
        busy, idle = self.busy - before.busy, self.idle - before.idle
        columns: dict[str, Optional[float]] = {"cpu_percent": None, "ram_percent": None, "ram_gb": None}
        if busy + idle > 0:
            columns["cpu_percent"] = 100.0 * busy / (busy + idle)
        if self.total > 0 and before.total > 0:
            used = (self.used + before.used) / 2
            columns["ram_percent"], columns["ram_gb"] = 100.0 * used / self.total, used / _GIB
        return columns


def _ticks() -> tuple[int, int]:
    """Ticks in which processors were busy, and idle, since the machine began. Stolen ones are neither."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, idle, waiting, interrupts, soft = (int(each) for each in file.readline().split()[1:8])
    except (OSError, ValueError):
        return 0, 0
    return user + nice + system + interrupts + soft, idle + waiting


def _memory() -> tuple[int, int]:
    """Bytes of memory in use, and all of them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            info = dict(line.split(":", 1) for line in file)
        total, free = (int(info[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return 0, 0
    return total - free, total
