"""ONNX Runtime: every run of an inference session is a step, and sessions profile themselves.

ONNX Runtime profiles a session from its making on, and keeps the profile in memory until it is ended, once. So a
profile begins with the session, and ends after a chosen step that no other follows soon, when it has grown long, when
the session goes, or when the process ends; a process that is killed before leaves none. All runs until then are
recorded, chosen or not. A program that switches profiling
on itself keeps its file, of which a copy is taken. The model is kept beside the profile, for it tells where fused
operations belong; weights in files of their own are not.

Tried with ONNX Runtime 1.31 on CPUs.
"""

from __future__ import annotations

import functools
import os
import time
import weakref
from ._session import current, guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Optional

    from ._session import Session

#: Larger models are not kept.
_LARGEST_MODEL = 512 << 20
#: ONNX Runtime records a million events of a session and no more; a profile ends well before.
_MOST_RUNS = 5000
#: After a chosen step the profile stays on if another one comes within so many.
_SOON = 50
#: What runs a model.
_RUNS = ("run", "run_with_iobinding", "run_with_ort_values", "run_with_ortvaluevector")


class _Profile:
    """The profile of one inference session."""

    def __init__(self, session: Session, prefix: Optional[str]) -> None:
        self._session = session
        #: Where the file goes; `None` if the program has asked for its own.
        self._prefix = prefix
        self._runtime: Any = None
        self._before_ns = time.time_ns()
        self._after_ns = 0
        self._start_ns: Any = None
        self._runs = 0

    def begin(self, runtime: Any) -> None:
        """Notes the session that is being profiled."""
        self._runtime = runtime
        self._after_ns = time.time_ns()
        self._start_ns = getattr(runtime, "get_profiling_start_time_ns", None)

    def is_on(self) -> bool:
        """Whether runs are being recorded."""
        return self._runtime is not None

    def is_of_the_program(self) -> bool:
        """Whether the program switched it on, and so is the one to switch it off."""
        return self._prefix is None

    def ran(self) -> None:
        """Counts a run towards the profile's end."""
        self._runs += 1
        if self._runs >= _MOST_RUNS and not self.is_of_the_program():
            self._session.warn(
                f"ONNX Runtime: operations are recorded for the first {_MOST_RUNS} runs of a session, then steps only"
            )
            self.end()

    def end(self) -> None:
        """Ends the profile and takes its file in."""
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            self._take(runtime.end_profiling())

    def ended_by_the_program(self, path: str) -> None:
        """Takes in a copy of the file that the program has asked for."""
        if self._runtime is not None:
            self._runtime = None
            self._take(path)

    def remove(self) -> None:
        """Removes what was written for a session that could not be made."""
        if self._prefix is not None:
            folder, name = os.path.split(self._prefix)
            for file in os.listdir(folder):
                if file.startswith(name + "_"):
                    os.remove(os.path.join(folder, file))

    def forget(self) -> Any:
        """Leaves the profile to the process that this one was forked from; returns what must not end in this one."""
        runtime, self._runtime = self._runtime, None
        return runtime

    def _take(self, written: str) -> None:
        if not written or not os.path.isfile(written):
            self._session.warn("ONNX Runtime wrote no profile for a session")
            return
        path = self._session.new_file("onnx-{}.json")
        if self.is_of_the_program():
            _copy(written, path)
        else:
            os.replace(written, path)
        with open(path[: -len(".json")] + ".meta.json", "w", encoding="utf-8") as file:
            file.write(self._time_base())
        self._session.wrote(path)

    def _time_base(self) -> str:
        # On some systems ONNX Runtime tells the time since the machine's start, not that of day.
        if isinstance(self._start_ns, int) and self._before_ns <= self._start_ns <= self._after_ns:
            return f'{{"start_ns": {self._start_ns}}}\n'
        return f'{{"before_start_ns": {self._before_ns}, "after_start_ns": {self._after_ns}}}\n'


class _Adapter:
    """What is done around the methods of `onnxruntime.InferenceSession`."""

    def __init__(self, session: Session, onnxruntime: ModuleType) -> None:
        self._session = session
        self._new_options = onnxruntime.SessionOptions
        self._profiles: weakref.WeakKeyDictionary[Any, _Profile] = weakref.WeakKeyDictionary()
        #: Profiles that are on, also of sessions that are being taken down.
        self._on: list[_Profile] = []
        self._abandoned: list[Any] = []
        #: Whether a step was run that is to be recorded.
        self._chosen = False
        session.at_end(self._end)
        session.when_forked(self._forget)

    def install(self, sessions: type) -> None:
        """Puts itself around the methods."""
        for name in _RUNS:
            self._around(sessions, name, self._running)
        self._around(sessions, "run_async", self._running_async)
        if self._session.level == "op":
            self._around(sessions, "__init__", self._making)
            self._around(sessions, "end_profiling", self._ending)
            self._around(sessions, "_reset_session", self._resetting)

    def _around(self, sessions: type, name: str, outer: Callable[..., Any]) -> None:
        inner = getattr(sessions, name, None)
        if inner is None:
            return

        @functools.wraps(inner)
        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            return outer(inner, self, arguments, options)

        setattr(sessions, name, method)

    # Making a session, and taking it down

    def _making(self, make: Any, inference: Any, arguments: Any, options: Any) -> Any:
        profile = undo = None
        begun = guarded(self._prepare, arguments, options)
        if begun is not None:
            profile, arguments, options, undo = begun
        try:
            made = make(inference, *arguments, **options)
        except BaseException:
            if profile is not None:
                guarded(profile.remove)
            raise
        finally:
            if undo is not None:
                guarded(undo)
        if profile is not None:
            guarded(self._made, inference, profile, arguments, options)
        return made

    def _prepare(self, arguments: Any, options: Any) -> Any:
        """Switches profiling on in the options that a session is made with, and says how to undo it."""
        session = self._session
        if session.room <= 0 or session.plan.is_over(session.ran_so_far("predict") + 1):
            return None
        chosen = arguments[1] if len(arguments) > 1 else options.get("sess_options")
        if chosen is None:
            chosen = self._new_options()
            if len(arguments) > 1:
                arguments = (arguments[0], chosen, *arguments[2:])
            else:
                options = {**options, "sess_options": chosen}
        if chosen.enable_profiling:
            return _Profile(session, None), arguments, options, None
        before = chosen.profile_file_prefix
        prefix = session.new_file("onnxruntime-{}")

        def undo() -> None:
            chosen.enable_profiling = False
            chosen.profile_file_prefix = before

        chosen.profile_file_prefix = prefix
        chosen.enable_profiling = True
        return _Profile(session, prefix), arguments, options, undo

    def _made(self, inference: Any, profile: _Profile, arguments: Any, options: Any) -> None:
        profile.begin(inference._sess)
        self._profiles[inference] = profile
        self._on.append(profile)
        weakref.finalize(inference, guarded, self._end_one, profile).atexit = False
        self._keep_model(arguments[0] if arguments else options.get("path_or_bytes"))

    def _ending(self, end: Any, inference: Any, arguments: Any, options: Any) -> Any:
        profile = self._profiles.get(inference)
        if profile is not None and not profile.is_of_the_program():
            # As without a profile, which the program knows nothing of.
            return ""
        path = end(inference, *arguments, **options)
        if profile is not None:
            guarded(profile.ended_by_the_program, path)
        return path

    def _resetting(self, reset: Any, inference: Any, arguments: Any, options: Any) -> Any:
        profile = self._profiles.get(inference)
        if profile is not None:
            guarded(self._end_one, profile)
        return reset(inference, *arguments, **options)

    def _end_one(self, profile: _Profile) -> None:
        if profile in self._on:
            self._on.remove(profile)
        profile.end()

    def _end(self) -> None:
        for profile in list(self._on):
            guarded(self._end_one, profile)

    def _forget(self) -> None:
        # A session writes its profile when it goes, into the file that the other process writes to.
        self._abandoned += [profile.forget() for profile in self._on]
        self._on.clear()

    # Running

    def _running(self, run: Any, inference: Any, arguments: Any, options: Any) -> Any:
        begun = guarded(self._begin_step, inference)
        try:
            return run(inference, *arguments, **options)
        finally:
            if begun is not None:
                guarded(self._end_step, begun)

    def _running_async(self, run: Any, inference: Any, arguments: Any, options: Any) -> Any:
        begun = guarded(self._begin_step, inference)
        if begun is not None:
            arguments, options = guarded(self._told, begun, arguments, options) or (arguments, options)
        return run(inference, *arguments, **options)

    def _told(self, begun: Any, arguments: Any, options: Any) -> Any:
        """Has the step end when the program is told its results."""
        callback = arguments[2] if len(arguments) > 2 else options["callback"]

        @functools.wraps(callback)
        def told(*results: Any) -> Any:
            guarded(self._end_step, begun)
            return callback(*results)

        if len(arguments) > 2:
            return (*arguments[:2], told, *arguments[3:]), options
        return arguments, {**options, "callback": told}

    def _begin_step(self, inference: Any) -> Any:
        session = self._session
        step = session.next_step()
        profile = self._profiles.get(inference)
        if session.wants("predict"):
            self._chosen = True
        elif profile is not None and profile.is_on() and not profile.is_of_the_program() and self._is_over():
            self._end_one(profile)
        # A profile that is on records every run, whether it was asked for or not.
        return step, profile, profile is not None and profile.is_on(), time.time_ns()

    def _is_over(self) -> bool:
        session = self._session
        if session.plan.is_over(session.ran_so_far("predict") + 1) or session.room <= 0:
            return True
        if not self._chosen or any(session.wants("predict", ahead=steps) for steps in range(_SOON)):
            return False
        session.warn(
            "ONNX Runtime cannot take a profile up again: of steps chosen at a distance only the first have operations"
        )
        return True

    def _end_step(self, begun: Any) -> None:
        step, profile, recorded, start = begun
        self._session.ran_step(step, start, time.time_ns(), "predict", recorded)
        if profile is not None and profile.is_on():
            profile.ran()

    # The model

    def _keep_model(self, model: Any) -> None:
        session = self._session
        if isinstance(model, bytes):
            size = len(model)
        else:
            size = os.path.getsize(model)
        if size > _LARGEST_MODEL:
            session.warn(
                f"a model of {size >> 20} MB is not kept: fused operations of ONNX Runtime may stand in the wrong layer"
            )
            return
        if isinstance(model, bytes):
            if model[4:8] != b"ORTM":
                with open(session.new_file("model-{}.onnx"), "wb") as file:
                    file.write(model)
        elif not os.fspath(model).endswith(".ort"):
            _copy(os.fspath(model), session.new_file("model-{}.onnx"))


def adapt(onnxruntime: ModuleType) -> None:
    """Sees inference sessions from here on."""
    session = current()
    if session is None or session.level == "process":
        return
    _Adapter(session, onnxruntime).install(onnxruntime.InferenceSession)
    session.uses("onnxruntime", onnxruntime.__version__)
    if session.level == "module":
        session.warn("ONNX Runtime runs its graph by itself: steps are recorded, layers need --level op")


def _copy(source: str, target: str) -> None:
    import shutil

    shutil.copyfile(source, target)
