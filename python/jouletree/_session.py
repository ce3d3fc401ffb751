"""What this process reports to ``jouletree run``: which steps ran when, what its frameworks recorded, what went wrong.

Everything is written to a folder of the process's own below the one that ``jouletree run`` names in the environment, as
plain files: whatever happens to this process, what was written stays. Nothing here raises into the user's program.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from _thread import allocate_lock
from ._plan import StepPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

#: Where processes leave their traces; set by ``jouletree run``.
TRACES = "JOULETREE_TRACES"
LEVEL = "JOULETREE_LEVEL"
STEPS = "JOULETREE_STEPS"
MAX_TRACE = "JOULETREE_MAX_TRACE"
STAGE = "JOULETREE_STAGE"

#: Rows of a table are kept back until there are so many of them, or until they are so old.
_ROWS = 2048
_SECONDS = 1.0

#: Recording may cost this share of the time that a process has run for, and this much on top of it.
_COST_SHARE = 0.1
_COST_SECONDS = 1.0
#: What recording an event adds to the step it is in.
_EVENT_SECONDS = 5e-6

_STEP_COLUMNS = "start_ns,end_ns,step,phase,recorded,samples,function"
_SPAN_COLUMNS = "start_ns,end_ns,device,lane,op,type,pass"
_WINDOW_COLUMNS = "start_ns,end_ns,name,kind,thread"


class Table:
    """A CSV file that grows: rows are added cheaply and written in batches."""

    def __init__(self, session: Session, name: str, columns: str) -> None:
        self._session = session
        self._name = name
        self._columns = columns
        self._rows: list[str] = []
        self._written = time.monotonic()
        self._begun = False
        self._writing = allocate_lock()

    def add(self, row: str) -> None:
        """Adds a row, whose fields are already joined and quoted."""
        rows = self._rows
        rows.append(row)
        if len(rows) >= _ROWS or time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Writes what was kept back."""
        # One at a time; who comes meanwhile leaves its rows to the next. It may be this very thread, in the handler of
        # a signal.
        if not self._writing.acquire(False):
            return
        try:
            self._write()
        finally:
            self._writing.release()

    def _write(self) -> None:
        self._written = time.monotonic()
        rows = self._rows[:]
        # Other threads add to the same list.
        del self._rows[: len(rows)]
        if not rows:
            return
        try:
            with open(os.path.join(self._session.folder(), self._name), "a", encoding="utf-8") as file:
                if not self._begun:
                    file.write(self._columns + "\n")
                    self._begun = True
                file.write("\n".join(rows) + "\n")
        except OSError as error:
            self._session.give_up(f"cannot write {self._name}: {error}")

    def forget(self) -> None:
        """Forgets what was kept back: it belongs to the process that this one was forked from."""
        self._rows.clear()
        self._begun = False
        self._writing = allocate_lock()


class Session:
    """This process's part of a run."""

    def __init__(self, root: str, level: str, plan: StepPlan, max_trace: int, stage: Optional[str]) -> None:
        self.root = root
        #: ``op``, ``module``, ``call`` or ``process``.
        self.level = level
        #: Which steps are recorded operation by operation.
        self.plan = plan
        #: How many bytes of traces this process may still write.
        self.room = max_trace
        self.pid = os.getpid()
        self._folder = self._new_folder()
        self._made = False
        self._files = 0
        self._warned: dict[str, object] = {}
        self._step = 0
        #: How many steps ran of each phase and function.
        self._ran: dict[tuple[str, str], int] = {}
        self._began = time.monotonic()
        #: Seconds that recording has cost the program so far.
        self._cost = 0.0
        self._frameworks: dict[str, str] = {}
        self._endings: list[Callable[[], None]] = []
        self._rebirths: list[Callable[[], None]] = []
        self._tables: list[Table] = []
        self.steps = self.table("steps.csv", _STEP_COLUMNS)
        #: Spans of modules, recorded without a framework's profiler; a trace of its own.
        self.spans = self.table("spans.csv", _SPAN_COLUMNS)
        self.windows = self.table("windows.csv", _WINDOW_COLUMNS)
        if stage:
            self.stage(stage)

    # What adapters of frameworks use

    def folder(self) -> str:
        """The folder of this process, made when it is first needed."""
        if not self._made:
            # Threads that come at the same time make the same one.
            os.makedirs(self._folder, exist_ok=True)
            self._made = True
            self._describe()
        return self._folder

    def _new_folder(self) -> str:
        return os.path.join(self.root, f"{self.pid}-{time.time_ns()}")

    def new_file(self, name: str) -> str:
        """The path of a new file; ``{}`` in its name becomes a number of its own."""
        self._files += 1
        return os.path.join(self.folder(), name.replace("{}", str(self._files)))

    def uses(self, framework: str, version: str) -> None:
        """Notes a framework that was recorded."""
        self._frameworks[framework] = version
        if self._made:
            self._describe()

    def next_step(self) -> int:
        """The number of the step that begins now: steps are numbered from 1 through the whole process."""
        self._step += 1
        return self._step

    def no_step(self, step: int) -> None:
        """Takes back the number of a step that turned out to be none, such as one that found its data at an end."""
        if self._step == step:
            self._step -= 1

    def ran_so_far(self, phase: str, function: str = "") -> int:
        """How many steps of this phase and function have run."""
        return self._ran.get((phase, function), 0)

    def has_steps(self) -> bool:
        """Whether any step has run."""
        return bool(self._ran)

    def wants(self, phase: str, function: str = "", ahead: int = 0) -> bool:
        """Whether the operations of the next step of this phase and function are to be recorded.

        The plan applies to each phase and function on its own: `1..20` are the first 20 training steps and the first
        20 batches of an evaluation. `ahead` asks about a later step.
        """
        if self.level != "op" or self.room <= 0:
            return False
        return self.plan.wants(self.ran_so_far(phase, function) + 1 + ahead) and self.affords(0.0)

    def affords(self, seconds: float) -> bool:
        """Whether recording may cost so much more by now; steps are recorded again once the program has run on."""
        if self.spare_seconds() >= seconds:
            return True
        self.warn(
            "recording operations took more than a tenth of the program's time; "
            "fewer steps are recorded than --steps asks for"
        )
        return False

    def spare_seconds(self) -> float:
        """How much more recording may cost by now; negative when it has cost too much."""
        return _COST_SECONDS + _COST_SHARE * (time.monotonic() - self._began) - self._cost

    def cost(self, start_ns: int, end_ns: int, events: int = 0) -> None:
        """Notes what recording cost: the time in which the program waited, and the events recorded before it."""
        self._cost += (end_ns - start_ns) / 1e9 + events * _EVENT_SECONDS
        if end_ns > start_ns:
            self.ran_window("recording", start_ns, end_ns, "overhead", 0)

    def compiled(self, name: str, start_ns: int, end_ns: int) -> None:
        """Notes that a framework compiled or traced something: a stage of its own, no part of a step."""
        self.ran_window(name, start_ns, end_ns, "compilation", 0)

    def ran_step(
        self,
        step: int,
        start_ns: int,
        end_ns: int,
        phase: str = "train",
        recorded: bool = False,
        samples: Optional[int] = None,
        function: str = "",
    ) -> None:
        """Notes a step that ran.

        `phase` is ``train``, ``evaluate`` or ``predict``. `function` distinguishes steps of one phase that do different
        work, such as those of two models or of two compiled functions; it may be empty.
        """
        key = (phase, function)
        self._ran[key] = self._ran.get(key, 0) + 1
        known = "" if samples is None else str(samples)
        self.steps.add(f"{start_ns},{end_ns},{step},{phase},{int(recorded)},{known},{quoted(function)}")

    def ran_module(self, path: str, start_ns: int, end_ns: int, lane: int, kind: str, passed: str) -> None:
        """Notes that a module was active; spans of one lane nest."""
        self.spans.add(f"{start_ns},{end_ns},cpu:0,{lane},{quoted(path)},{quoted(kind)},{passed}")

    def wrote(self, path: str) -> None:
        """Notes a trace file, which takes from the room for traces."""
        try:
            self.room -= os.path.getsize(path)
        except OSError:
            return
        if self.room <= 0:
            self.warn("traces have reached --max-trace; later steps are recorded without their operations")

    def warn(self, message: str) -> None:
        """Notes what the user should know; ``jouletree run`` prints it at its end, once."""
        # Two threads may come at once; `setdefault` lets one of them through, without a lock that a fork could catch.
        mine = object()
        if self._warned.setdefault(message, mine) is not mine:
            return
        try:
            with open(os.path.join(self.folder(), "warnings.txt"), "a", encoding="utf-8") as file:
                file.write(message.replace("\n", " ") + "\n")
        except OSError:
            pass

    def give_up(self, message: str) -> None:
        """Records no more operations, and says why."""
        self.level = "process"
        self.warn(f"{message}; only power is recorded from here on")

    def write_model(self, tree: dict[str, Any], name: str = "model-{}.json") -> None:
        """Writes the tree of a model that ran, in the form of ``tree.json``."""
        import json

        try:
            with open(self.new_file(name), "w", encoding="utf-8") as file:
                json.dump(tree, file)
        except (OSError, TypeError, ValueError) as error:
            self.warn(f"the model's tree is not written: {error}")

    def at_end(self, ending: Callable[[], None]) -> None:
        """Has something done before this process ends; what was asked for last is done first."""
        self._endings.append(ending)

    def when_forked(self, rebirth: Callable[[], None]) -> None:
        """Has something done in a process that was forked from this one."""
        self._rebirths.append(rebirth)

    def stage(self, name: str) -> None:
        """Begins a stage, which lasts until the next."""
        self.ran_window(name, time.time_ns(), 0, "stage", 0)
        self.windows.write()

    def ran_window(self, name: str, start_ns: int, end_ns: int, kind: str, thread: int) -> None:
        """Notes a window; one that has not ended has the end 0."""
        self.windows.add(f"{start_ns},{end_ns},{quoted(name)},{kind},{thread}")

    # Its life

    def end(self) -> None:
        """Writes everything that is left. May be called again."""
        if os.getpid() != self.pid:
            # Forked by a library in C, of which Python does not know.
            self.reborn()
        endings, self._endings = self._endings, []
        for ending in reversed(endings):
            guarded(ending)
        self.write()

    def write(self) -> None:
        """Writes what tables keep back."""
        for table in self._tables:
            table.write()

    def reborn(self) -> None:
        """Becomes the session of a process that was forked: nothing of the parent's is written again."""
        self.pid = os.getpid()
        self._folder = self._new_folder()
        self._made = False
        self._step = 0
        self._ran.clear()
        self._began = time.monotonic()
        self._cost = 0.0
        self._warned.clear()
        for table in self._tables:
            table.forget()
        for rebirth in self._rebirths:
            guarded(rebirth)

    def table(self, name: str, columns: str) -> Table:
        """A new table of this process."""
        table = Table(self, name, columns)
        self._tables.append(table)
        return table

    def _describe(self) -> None:
        # Python 3.9 has neither while it starts.
        command = getattr(sys, "orig_argv", None) or getattr(sys, "argv", [])
        rank = os.environ.get("RANK")
        frameworks = (f"{in_json(name)}: {in_json(version)}" for name, version in self._frameworks.items())
        about = (
            f'{{"pid": {self.pid}, "parent": {os.getppid()}, '
            f'"command": [{", ".join(map(in_json, command))}], '
            f'"python": {in_json(sys.version.split()[0])}, '
            f'"rank": {"null" if rank is None else in_json(rank)}, '
            f'"frameworks": {{{", ".join(frameworks)}}}}}\n'
        )
        try:
            with open(os.path.join(self._folder, "process.json"), "w", encoding="utf-8") as file:
                file.write(about)
        except OSError:
            pass


_current: Optional[Session] = None


def current() -> Optional[Session]:
    """This process's session; ``None`` when it does not run under ``jouletree run``."""
    return _current


def begin() -> Optional[Session]:
    """Begins the session that the environment asks for, once."""
    global _current
    root = os.environ.get(TRACES)
    if _current is not None or not root:
        return _current
    try:
        plan = StepPlan(os.environ.get(STEPS, "1.."))
        room = int(os.environ.get(MAX_TRACE, str(2 << 30)))
        _current = Session(os.path.abspath(root), os.environ.get(LEVEL, "op"), plan, room, os.environ.get(STAGE))
    except (OSError, ValueError) as error:
        print(f"jouletree: this process is recorded without its operations: {error}", file=sys.stderr)
        return None
    atexit.register(_current.end)
    os.register_at_fork(after_in_child=_current.reborn)
    _see_hard_exits(_current)
    _see_replacements(_current)
    return _current


def _see_hard_exits(session: Session) -> None:
    """A program that ends by ``os._exit`` skips everything that is done at exit; what was recorded is written first."""
    leave = os._exit

    def _exit(status: int) -> None:
        try:
            guarded(session.end)
        finally:
            leave(status)

    _exit.__doc__ = leave.__doc__
    os._exit = _exit  # type: ignore[assignment]  # typed as never returning, as this one never does


def _see_replacements(session: Session) -> None:
    """A program that becomes another one by ``os.exec…`` skips it, too; but the call may fail, and it goes on."""

    def before(replace: Callable[..., Any]) -> Callable[..., Any]:
        def replacing(*arguments: Any, **options: Any) -> Any:
            guarded(session.write)
            return replace(*arguments, **options)

        replacing.__name__, replacing.__doc__ = replace.__name__, replace.__doc__
        return replacing

    # The others of the family call these two.
    os.execv = before(os.execv)
    os.execve = before(os.execve)


def guarded(action: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Does something that must not harm the user's program; what goes wrong becomes a warning at the end of the run."""
    try:
        return action(*arguments, **named)
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is ours and not the user's
        session = _current
        if session is not None:
            session.warn(f"{getattr(action, '__qualname__', action)} failed: {type(error).__name__}: {error}")
        return None


def quoted(text: str) -> str:
    """A field of a CSV file."""
    if "," in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def in_json(text: str) -> str:
    """A string of JSON.

    To import a module for it would not do: in a process that was forked while another thread was importing that module,
    the import would wait for ever.
    """
    return '"' + "".join(map(_in_json, str(text))) + '"'


def _in_json(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if "\ud800" <= letter <= "\udfff":
        # Not text at all, such as an argument in another encoding.
        return "\ufffd"
    return letter if letter >= " " else f"\\u{ord(letter):04x}"
