"""A program as users write it, for the type checker alone: what is documented has a type, and what does not exist is found.

`make lint-python` checks it; an ignore that is not needed is an error there.
"""

from __future__ import annotations

import jouletree
from jouletree.keras import EnergyCallback


@jouletree.measure
def predict(x: int) -> float:
    return x / 2


@jouletree.measure("training", sync=True)
def train(steps: int) -> None: ...


class Model:
    @jouletree.measure
    def call(self, x: int) -> str:
        return str(x)


half: float = predict(1)
predict("1")  # type: ignore[arg-type]
if predict.measurement is not None:
    joules: float = predict.measurement.joules
if train.measurement is not None:
    print(train.measurement.kind)
text: str = Model().call(3)
with jouletree.window("evaluation") as w:
    pass
if w.measurement is not None:
    print(w.measurement.low, w.measurement)
jouletree.windwo("a mistake")  # type: ignore[attr-defined]
run: jouletree.Run = jouletree.load("RUN")
callback: EnergyCallback = EnergyCallback()
