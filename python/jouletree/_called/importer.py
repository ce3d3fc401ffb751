"""Patches the program's own files while Python loads them; what is on disk stays as it is.

Modules come through a finder before all others. A script is run by Python itself, without any finder, unless a hook of the
search path claims its file: then Python believes it to be an archive with a ``__main__`` and asks for that.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import re
import subprocess
import sys
from _thread import allocate_lock

from .._session import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType, TracebackType
    from typing import Any, Iterator, Optional, Sequence

    from .._session import Session

#: What patched files call.
_HOOK = b"__jouletree_call__"
#: A file is analysed with all that it imports, and these are not analysed again. Where a program loads more files than these
#: that none of its others names, they are analysed each by itself.
_MOST_ANALYSES = 32

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: Where Python's own modules are. To ask sysconfig would import modules while modules are looked for.
_PYTHON = os.path.dirname(os.path.abspath(os.__file__))


class Patcher:
    """Has files patched by the command, and keeps what it made in the run."""

    def __init__(self, session: Session, libraries: list[str], command: str) -> None:
        self._session = session
        self._libraries = libraries
        self._command = command
        names = "|".join(sorted({re.escape(library.partition(".")[0]) for library in libraries}))
        self._mentions = re.compile(rb"\b(?:" + names.encode() + rb")\b")
        self._known: dict[str, Optional[bytes]] = {}
        self._analysed: dict[str, dict[str, Any]] = {}
        self._analyses = 0
        self._kept = 0
        self._lock = allocate_lock()

    def patched(self, path: str) -> Optional[bytes]:
        """The patched source of a file; ``None`` when there is nothing to patch, or no way to."""
        with self._lock:
            if path not in self._known:
                self._known[path] = self._made(path)
            return self._known[path]

    def _made(self, path: str) -> Optional[bytes]:
        try:
            source = _read(path)
            # What was patched beforehand has its hooks.
            if _HOOK in source:
                return None
            found = self._found(path, source)
            if not found or not found["edits"]:
                return None
            if found["size"] != len(source):
                raise ValueError("it was changed while it was read")
            patched = _inserted(source, found["edits"])
            output = self._place(path)
            _write(output, patched)
            _write(output + ".sites.json", json.dumps({"files": [found["sites"]]}).encode())
            _write(output + ".path", _shown(path).encode("utf-8", "surrogateescape"))
            return patched
        except (OSError, ValueError, KeyError) as error:
            self._session.warn(f"{path} is not instrumented: {error}")
        return None

    def _found(self, path: str, source: bytes) -> Optional[dict[str, Any]]:
        """What the command found in a file: when it analysed one that imports it, or now."""
        whole = os.path.realpath(path)
        found = self._analysed.get(whole)
        about = os.stat(whole)
        if found and (found["size"], found["modified_ns"]) == (about.st_size, about.st_mtime_ns):
            return found
        is_alone = self._analyses >= _MOST_ANALYSES
        if not self._mentions.search(source) and (is_alone or b"import" not in source):
            return None
        self._analyses += 1
        words = [self._command, "patch", whole, "--libraries", ",".join(self._libraries), "--edits"]
        words += ["--alone"] if is_alone else [word for folder in _searched() for word in ("--search", folder)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
        if done.returncode != 0:
            # A program with a wrong syntax says so itself.
            self._session.warn(f"{path} is not instrumented: {done.stderr.strip() or 'the command failed'}")
            return None
        files = json.loads(done.stdout)["files"]
        for file in files[1:]:
            self._analysed.setdefault(os.path.realpath(file["path"]), file)
        self._analysed[whole] = files[0]
        return self._analysed[whole]

    def _place(self, path: str) -> str:
        """Where in the run what was made of a file is kept."""
        folder = os.path.join(self._session.root, "patched")
        os.makedirs(folder, exist_ok=True)
        self._kept += 1
        return os.path.join(folder, f"{os.getpid()}-{self._kept}-{os.path.basename(path)}")

    def keep(self, file: str, digest: str, path: Optional[str]) -> None:
        """Keeps the sites of a file that was patched beforehand, and what ran."""
        if path is not None and _HOOK not in _read(path):
            # Patched while it was loaded: the run has its sites.
            return
        for table in _tables(path):
            for entry in json.loads(_read(table)).get("files", ()):
                if entry.get("digest") == digest:
                    output = self._place(path or file)
                    _write(output + ".sites.json", json.dumps({"files": [entry]}).encode())
                    _write(output + ".path", file.encode("utf-8", "surrogateescape"))
                    if path is not None:
                        _write(output, _read(path))
                    return
        where = "in the current folder" if path is None else "beside it"
        self._session.warn(f"{file} was patched, but its table of sites is not {where}; its calls are left out")

    def code(self, path: str) -> Optional[CodeType]:
        """The patched code of a file."""
        source = self.patched(path)
        return None if source is None else compile(source, path, "exec", dont_inherit=True)


def install(patcher: Patcher) -> None:
    """Has everything patched that this process loads from now on."""
    sys.meta_path.insert(0, _Modules(patcher))
    sys.path_hooks.insert(0, _Scripts(patcher))


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of the program."""

    patcher: Patcher

    def get_code(self, fullname: str) -> Optional[CodeType]:
        return self.patcher.code(self.path) or super().get_code(fullname)


class _Modules:
    """Finds modules of the program; all others are left to those whose business they are."""

    def __init__(self, patcher: Patcher) -> None:
        self._patcher = patcher
        self._foreign: set[str] = set(sys.builtin_module_names)

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        top = fullname.partition(".")[0]
        if top in self._foreign or top == "__main__":
            return None
        # Whatever goes wrong here, the next finder does as if this one were not there.
        found = guarded(self._found, fullname, path, target, top)
        return found if isinstance(found, importlib.machinery.ModuleSpec) else None

    def _found(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType], top: str
    ) -> Optional[importlib.machinery.ModuleSpec]:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        origin = None if spec is None else spec.origin
        if spec is None or origin is None:
            # Not there yet, or a folder without an __init__.py, in which there may be modules of the program.
            return None
        if type(spec.loader) is not importlib.machinery.SourceFileLoader or not _is_programs(origin):
            if path is None:
                self._foreign.add(top)
            return None
        loader = _Loader(fullname, origin)
        loader.patcher = self._patcher
        spec.loader = loader
        # Bytecode of the original is not that of the patched file.
        spec.cached = None
        return spec


class _Scripts:
    """Claims scripts, which Python asks every hook of the search path about before it runs them."""

    def __init__(self, patcher: Patcher) -> None:
        self._patcher = patcher

    def __call__(self, path: str) -> _Script:
        is_script = isinstance(path, str) and path.endswith(".py") and os.path.isfile(path)
        if not is_script or guarded(self._patcher.patched, path) is None:
            raise ImportError("not a script that is patched")
        return _Script(self._patcher, path)


class _Script:
    """Finds ``__main__`` in a script, and runs it as if Python had."""

    def __init__(self, patcher: Patcher, path: str) -> None:
        self._patcher = patcher
        self._path = path

    def find_spec(
        self, fullname: str, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != "__main__":
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=self._path)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.run(module.__dict__)

    def get_code(self, fullname: str) -> CodeType:
        folder = os.path.dirname(os.path.realpath(self._path))
        # Of a script it is the folder that is searched.
        sys.path[:] = [folder if entry == self._path else entry for entry in sys.path]
        return compile("__loader__.run(globals())", __file__, "exec")

    def run(self, names: dict[str, Any]) -> None:
        """Runs the script in a namespace that looks as Python makes it."""
        code = self._patcher.code(self._path)
        names["__file__"] = self._path
        names["__loader__"] = importlib.machinery.SourceFileLoader(str(names.get("__name__")), self._path)
        names["__spec__"] = names["__package__"] = names["__cached__"] = None
        names["__builtins__"] = sys.modules["builtins"]
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _without_us
        if code is not None:
            exec(code, names)


def _without_us(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    """Shows an error as if Python had run the script: without those who ran it for Python."""
    while trace is not None and trace.tb_next is not None:
        file = trace.tb_frame.f_code.co_filename
        if not (file == __file__ or "runpy" in os.path.basename(file)):
            break
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def _tables(path: Optional[str]) -> Iterator[str]:
    """Where the table of sites of a patched file may be: beside it, or in a folder around it that was patched as a whole."""
    if path is None:
        # A notebook runs where it is, and does not know its name.
        yield from sorted(name for name in os.listdir() if name.endswith(".sites.json"))
    elif os.path.isfile(path + ".sites.json"):
        yield path + ".sites.json"
    folder, inner = os.path.abspath(path or "notebook"), ""
    while folder != inner:
        folder, inner = os.path.dirname(folder), folder
        table = os.path.join(folder, "jouletree-sites.json")
        if os.path.isfile(table):
            yield table


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _inserted(source: bytes, edits: list[tuple[int, str]]) -> bytes:
    """A file with what is to be inserted, in order."""
    parts, at = [], 0
    for place, text in edits:
        parts += [source[at:place], text.encode()]
        at = place
    return b"".join([*parts, source[at:]])


def _searched() -> list[str]:
    """The folders of the program's own in which Python looks for modules."""
    folders = [os.path.realpath(entry) for entry in sys.path if isinstance(entry, str)]
    ours = os.path.dirname(_PACKAGE)
    return [folder for folder in folders if folder != ours and os.path.isdir(folder) and _is_programs(folder + os.sep + "_")]


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _shown(path: str) -> str:
    """A path as people write it: from the current folder on, if it is below that."""
    whole, here = os.path.abspath(path), os.getcwd()
    return os.path.relpath(whole, here) if whole.startswith(here + os.sep) else whole


def _is_programs(path: str) -> bool:
    """Whether a file is the program's own, and not of Python, of an installed package or of this one."""
    path = os.path.abspath(path)
    if "site-packages" in path or "dist-packages" in path:
        return False
    return not path.startswith((_PACKAGE + os.sep, _PYTHON + os.sep))
