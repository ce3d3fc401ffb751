"""Energy accounting for deep learning: where the joules of a training or an inference go.

Most programs need nothing of this package: ``jouletree run -- python train.py`` measures them as they are. For those
who want to know what a part of their own program takes::

    with jouletree.window("evaluation") as w:
        evaluate(model)
    print(w.measurement)  # 12.3 J (derived, 12.1 … 12.5 J)

What a run folder holds comes as data frames: ``jouletree.load("RUN").layers()``.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._measurement import DeviceEnergy, Measurement
    from ._runs import Run, load
    from ._windows import Window, begin_window, end_window, measure, stage, window

#: What is offered, and where it is: nothing is loaded before it is used.
_PLACES = {
    "DeviceEnergy": "_measurement",
    "Measurement": "_measurement",
    "Run": "_runs",
    "load": "_runs",
    "Window": "_windows",
    "begin_window": "_windows",
    "end_window": "_windows",
    "measure": "_windows",
    "stage": "_windows",
    "window": "_windows",
}

__all__ = [
    "DeviceEnergy",
    "Measurement",
    "Run",
    "Window",
    "begin_window",
    "end_window",
    "load",
    "measure",
    "stage",
    "window",
]


# Type checkers know the names from above, so that they find one that does not exist.
if not TYPE_CHECKING:

    def __getattr__(name: str):
        place = _PLACES.get(name)
        if place is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        value = getattr(importlib.import_module(f"{__name__}.{place}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
