"""ONNX Runtime: every run of an inference session is a step, and sessions profile themselves.

ONNX Runtime profiles a session from its making on, and keeps the profile in memory until it is ended, once. So a
profile begins with the session, and ends after a chosen step that no other follows soon, when it has grown long, when
the session goes, or when the process ends; a process that is killed before leaves none. All runs until then are
recorded, chosen or not. A program that switches profiling
on itself keeps its file, of which a copy is taken. The model is kept beside the profile, for it shows where fused
operations belong; weights in files of their own are not. Steps are planned for each model on its own, and where a
process runs several models, the operations of each are below its name: that of its file, or of its graph.

Tried with ONNX Runtime 1.31 on CPUs.
"""

from __future__ import annotations

import functools
import os
import time
import weakref
from ._session import current, guarded, in_json

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
#: What an event takes in a profile, about.
_EVENT_BYTES = 600
#: What runs a model.
_RUNS = ("run", "run_with_iobinding", "run_with_ort_values", "run_with_ortvaluevector")


class _Model:
    """A model that inference sessions run."""

    def __init__(self, key: Any) -> None:
        self.key = key
        #: What it is called in this process.
        self.label = ""
        #: The file that it is kept in, beside the profiles.
        self.file: Optional[str] = None
        #: What was written beside the profiles of its sessions.
        self.notes: list[tuple[str, str]] = []

    def note(self, path: str, time_base: str, is_root: bool) -> None:
        """Writes what a profile does not contain: its time base, its model, and the model's name if there are several."""
        fields = [time_base]
        if self.file is not None:
            fields.append(f'"model": {in_json(self.file)}')
        if is_root:
            fields.append(f'"root": {in_json(self.label)}')
        with open(path, "w", encoding="utf-8") as file:
            file.write("{" + ", ".join(fields) + "}\n")


class _Models:
    """The models of this process."""

    def __init__(self) -> None:
        self._known: dict[Any, _Model] = {}
        self._labels: set[str] = set()

    def of(self, model: Any) -> Optional[_Model]:
        """What is known of the model that a session is to be made of, a path or bytes; `None` if it is neither."""
        try:
            key = _key_of(model)
        except (OSError, TypeError, ValueError):
            # The session says what is wrong.
            return None
        return self._known.get(key) or _Model(key)

    def forget_files(self) -> None:
        """Forgets what is in the folder of the process that this one was forked from."""
        for model in self._known.values():
            model.file = None
            model.notes.clear()

    def made(self, model: _Model, inference: Any) -> None:
        """Notes that a session was made of a model, which gets its name with the first."""
        if model.key in self._known:
            return
        model.label = self._new_label(model.key, inference)
        self._labels.add(model.label)
        self._known[model.key] = model
        if len(self._known) == 2:
            # Profiles that have ended were the only model's.
            for known in self._known.values():
                for path, time_base in known.notes:
                    known.note(path, time_base, True)

    def are_several(self) -> bool:
        return len(self._known) > 1

    def _new_label(self, key: Any, inference: Any) -> str:
        folder = ""
        if key[0] == "file":
            folder, name = os.path.split(key[1])
            label = os.path.splitext(name)[0]
            folder = os.path.basename(folder)
        else:
            label = inference.get_modelmeta().graph_name
        label = label.replace("/", "_") or "model"
        if label in self._labels and folder:
            label = f"{label} ({folder})"
        number, unique = 1, label
        while unique in self._labels:
            number += 1
            unique = f"{label} ({number})"
        return unique


def _key_of(model: Any) -> Any:
    """What distinguishes one model from another."""
    if isinstance(model, bytes):
        return ("bytes", len(model), hash(model))
    path = os.path.realpath(os.fspath(model))
    about = os.stat(path)
    return ("file", path, about.st_size, about.st_mtime_ns)


class _Profile:
    """The profile of one inference session."""

    def __init__(self, session: Session, prefix: Optional[str], model: _Model, models: _Models) -> None:
        self._session = session
        self._model = model
        self._models = models
        #: Whether a run was made that is to be recorded.
        self.is_chosen = False
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
        if runtime is None:
            return
        began = time.time_ns()
        written = runtime.end_profiling()
        events = os.path.getsize(written) // _EVENT_BYTES if os.path.isfile(written) else 0
        self._take(written)
        self._session.cost(began, time.time_ns(), events)

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
        note = (path[: -len(".json")] + ".meta.json", self._time_base())
        self._model.notes.append(note)
        self._model.note(*note, self._models.are_several())
        self._session.wrote(path)

    def _time_base(self) -> str:
        # On some systems ONNX Runtime reports the time since the machine's start, not that of day.
        if isinstance(self._start_ns, int) and self._before_ns <= self._start_ns <= self._after_ns:
            return f'"start_ns": {self._start_ns}'
        return f'"before_start_ns": {self._before_ns}, "after_start_ns": {self._after_ns}'


class _Adapter:
    """What is done around the methods of `onnxruntime.InferenceSession`."""

    def __init__(self, session: Session, onnxruntime: ModuleType) -> None:
        self._session = session
        self._new_options = onnxruntime.SessionOptions
        self._profiles: weakref.WeakKeyDictionary[Any, _Profile] = weakref.WeakKeyDictionary()
        #: Profiles that are on, also of sessions that are being taken down.
        self._on: list[_Profile] = []
        self._abandoned: list[Any] = []
        self._models = _Models()
        #: The model of each session.
        self._model_of: weakref.WeakKeyDictionary[Any, _Model] = weakref.WeakKeyDictionary()
        session.at_end(self._end)
        session.when_forked(self._forget)

    def install(self, sessions: type) -> None:
        """Puts itself around the methods."""
        for name in _RUNS:
            self._around(sessions, name, self._running)
        self._around(sessions, "run_async", self._running_async)
        self._around(sessions, "__init__", self._making)
        if self._session.level == "op":
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
        model = guarded(self._models.of, arguments[0] if arguments else options.get("path_or_bytes"))
        begun = guarded(self._prepare, model, arguments, options) if model is not None else None
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
        if model is not None:
            guarded(self._models.made, model, inference)
            self._model_of[inference] = model
        if profile is not None:
            guarded(self._made, inference, profile, model, arguments, options)
        return made

    def _prepare(self, model: _Model, arguments: Any, options: Any) -> Any:
        """Switches profiling on in the options that a session is made with, and says how to undo it."""
        session = self._session
        if session.level != "op" or session.room <= 0:
            return None
        # A model without a name is new.
        if model.label and session.plan.is_over(session.ran_so_far("predict", model.label) + 1):
            return None
        chosen = arguments[1] if len(arguments) > 1 else options.get("sess_options")
        if chosen is None:
            chosen = self._new_options()
            if len(arguments) > 1:
                arguments = (arguments[0], chosen, *arguments[2:])
            else:
                options = {**options, "sess_options": chosen}
        if chosen.enable_profiling:
            return _Profile(session, None, model, self._models), arguments, options, None
        before = chosen.profile_file_prefix
        prefix = session.new_file("onnxruntime-{}")

        def undo() -> None:
            chosen.enable_profiling = False
            chosen.profile_file_prefix = before

        chosen.profile_file_prefix = prefix
        chosen.enable_profiling = True
        return _Profile(session, prefix, model, self._models), arguments, options, undo

    def _made(self, inference: Any, profile: _Profile, model: _Model, arguments: Any, options: Any) -> None:
        profile.begin(inference._sess)
        self._profiles[inference] = profile
        self._on.append(profile)
        weakref.finalize(inference, guarded, self._end_one, profile).atexit = False
        if model.file is None:
            model.file = self._kept(arguments[0] if arguments else options.get("path_or_bytes"))

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
        self._models.forget_files()

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
            arguments, options = guarded(self._ending_step, begun, arguments, options) or (arguments, options)
        return run(inference, *arguments, **options)

    def _ending_step(self, begun: Any, arguments: Any, options: Any) -> Any:
        """Has the step end when the program receives its results."""
        callback = arguments[2] if len(arguments) > 2 else options["callback"]

        @functools.wraps(callback)
        def called(*results: Any) -> Any:
            guarded(self._end_step, begun)
            return callback(*results)

        if len(arguments) > 2:
            return (*arguments[:2], called, *arguments[3:]), options
        return arguments, {**options, "callback": called}

    def _begin_step(self, inference: Any) -> Any:
        session = self._session
        step = session.next_step()
        model = self._model_of.get(inference)
        label = model.label if model is not None else ""
        profile = self._profiles.get(inference)
        if profile is not None and profile.is_on() and not profile.is_of_the_program():
            if session.wants("predict", label):
                profile.is_chosen = True
            elif self._is_over(profile, label):
                self._end_one(profile)
        # A profile that is on records every run, whether it was asked for or not.
        return step, profile, profile is not None and profile.is_on(), label, time.time_ns()

    def _is_over(self, profile: _Profile, label: str) -> bool:
        session = self._session
        run = session.ran_so_far("predict", label) + 1
        if session.plan.is_over(run) or session.room <= 0:
            return True
        if not profile.is_chosen:
            return False
        if any(session.plan.wants(run + steps) for steps in range(_SOON)):
            # If the plan wants this very run and it is not to be recorded, recording has cost too much.
            return session.plan.wants(run)
        session.warn(
            "ONNX Runtime cannot take a profile up again: of steps chosen at a distance only the first have operations"
        )
        return True

    def _end_step(self, begun: Any) -> None:
        step, profile, recorded, label, start = begun
        self._session.ran_step(step, start, time.time_ns(), "predict", recorded, function=label)
        if profile is not None and profile.is_on():
            profile.ran()

    # The model

    def _kept(self, model: Any) -> Optional[str]:
        """Keeps a model beside the profiles; returns the name of its file, if it is kept."""
        session = self._session
        if isinstance(model, bytes):
            size = len(model)
        else:
            size = os.path.getsize(model)
        if size > _LARGEST_MODEL:
            session.warn(
                f"a model of {size >> 20} MB is not kept: fused operations of ONNX Runtime may be in the wrong layer"
            )
            return None
        is_of_runtime = model[4:8] == b"ORTM" if isinstance(model, bytes) else os.fspath(model).endswith(".ort")
        if is_of_runtime:
            return None
        path = session.new_file("model-{}.onnx")
        if isinstance(model, bytes):
            with open(path, "wb") as file:
                file.write(model)
        else:
            _copy(os.fspath(model), path)
        return os.path.basename(path)


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
