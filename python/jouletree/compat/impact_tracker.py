"""experiment-impact-tracker with jouletree's energy: ``from jouletree.compat.impact_tracker import ImpactTracker``.

Samples go to ``impacttracker/data.json`` below the folder of logs, an object in each line under the original's names. A
sample has the mean power since the one before it, so that adding power times time gives all of the energy.
"""

from __future__ import annotations

import os
import threading

from ._notices import harmless, unknown_arguments, warn_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._meter import Reading

__all__ = ["ImpactTracker"]

#: How far samples are apart. Energy is counted all the time, however far that is.
_SECONDS = 5.0


class ImpactTracker:
    """Writes what a program takes while it runs."""

    #: What they are before the constructor has come to them, which it may not.
    logdir: Any = None
    initial_info: dict[str, Any] = {}

    @harmless
    def __init__(self, logdir: str, **more: Any) -> None:
        import uuid

        from ._impact_files import ImpactFiles, initial_info

        unknown_arguments("ImpactTracker", more)
        self.logdir = logdir
        self._run_id = str(uuid.uuid4())
        self._latest: Optional[dict[str, Any]] = None
        self._thread: Optional[threading.Thread] = None
        self._ended = threading.Event()
        self._sampling = threading.Lock()
        self._pid = os.getpid()
        self.initial_info = initial_info()
        self._files = ImpactFiles(os.fspath(logdir), self.initial_info)

    @harmless
    def launch_impact_monitor(self) -> None:
        """Begins to count and to write samples, until the program ends."""
        import atexit
        import datetime

        from ._meter import Meter

        if self._thread is not None:
            warn_once("the monitor runs already; launch_impact_monitor() changes nothing")
            return
        self._meter = Meter()
        self._meter.resume()
        # Readers of the samples count the first from here.
        self.initial_info["experiment_start"] = datetime.datetime.now()
        self._files.write_info(self.initial_info)
        self._last: Optional[Reading] = None
        self._thread = threading.Thread(target=self._sample_often, name="jouletree impact samples", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    @harmless
    def get_latest_info_and_check_for_errors(self) -> Optional[dict[str, Any]]:
        """The last sample; ``None`` before there is one. Errors are warnings here, and come by themselves."""
        return self._latest

    @harmless
    def stop(self) -> None:
        """Writes the last sample and what is known at the end."""
        import atexit

        thread, self._thread = self._thread, None
        if thread is None or os.getpid() != self._pid:
            return
        atexit.unregister(self.stop)
        self._ended.set()
        thread.join()
        self._sample()
        self._meter.pause()
        self._finish()

    def __enter__(self) -> ImpactTracker:
        self.launch_impact_monitor()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _sample_often(self) -> None:
        while not self._ended.wait(_SECONDS):
            self._sample()

    @harmless
    def _sample(self) -> None:
        from ._impact_files import sample

        with self._sampling:
            reading, before = self._meter.read(), self._last
            self._last = reading
            self._latest = sample(reading, before)
            self._files.add(self._latest)

    def _finish(self) -> None:
        """Writes where this was, and what its electricity emits, which the command knows."""
        import datetime

        from . import _emissions

        self.initial_info["experiment_end"] = datetime.datetime.now()
        answer = None
        if self._last is not None and self._last.rows:
            answer = _emissions.ask({"tracking_mode": "process"}, self._run_id, self._last)
        intensity = (answer or {}).get("intensity")
        if intensity is not None:
            self.initial_info["region"] = {"id": intensity.get("zone"), "type": "Feature", "properties": {}}
            self.initial_info["region_carbon_intensity_estimate"] = {
                "carbonIntensity": intensity["g_per_kwh"],
                "_source": f"{intensity.get('source')}, {intensity.get('year')}",
            }
        if answer is not None:
            self.initial_info["cpu_info"] = {"brand": answer["row"].get("cpu_model")}
        self._files.write_info(self.initial_info)
