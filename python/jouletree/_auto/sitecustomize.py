"""Python runs this at its start under ``jouletree run``. It begins the recording of this process, and then loads
the sitecustomize that would have run without it."""

# Whatever Python the program starts, however old, reads this file: nothing here may be new to it.

import os
import sys


def _begin():
    if sys.version_info < (3, 9):
        _too_old()
        return
    try:
        from jouletree._start import start

        start()
    except Exception as error:  # noqa: BLE001 -- the user's program matters more than its recording
        if not os.environ.get("JOULETREE_QUIET"):
            sys.stderr.write("jouletree: this process is recorded without its operations: %s\n" % (error,))


def _too_old():
    """Says once, at the end of the run, that processes of this Python are recorded without their operations."""
    traces = os.environ.get("JOULETREE_TRACES")
    if not traces or os.environ.get("JOULETREE_LEVEL") == "process":
        return
    version = "%d.%d" % tuple(sys.version_info[:2])
    folder = os.path.join(traces, "python-" + version)
    try:
        os.mkdir(folder)
        with open(os.path.join(folder, "process.json"), "w") as file:
            file.write('{"pid": %d, "python": "%s"}' % (os.getpid(), version))
        with open(os.path.join(folder, "warnings.txt"), "w") as file:
            file.write("Python %s is older than 3.9: power is recorded, but no operations, steps or calls\n" % (version,))
    except (OSError, IOError):
        # Another process has said it, or the disk is full.
        pass


def _others():
    """The places of modules, apart from this one's."""
    here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    return [place for place in sys.path if os.path.realpath(place or os.curdir) != here]


def _give_way():
    """Runs the next sitecustomize on the path, as if this one were not there."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", _others())
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _give_way_in_python_2():
    import imp

    del sys.modules["sitecustomize"]
    try:
        imp.load_module("sitecustomize", *imp.find_module("sitecustomize", _others()))  # type: ignore[arg-type]  # typed for Python 3
    except ImportError:
        sys.modules["sitecustomize"] = _this


_this = sys.modules["sitecustomize"]
_begin()
if sys.version_info >= (3, 5):
    _give_way()
else:
    _give_way_in_python_2()
