"""Python runs this at its start under ``jouletree run``. It begins the recording of this process, and then gives way to
the sitecustomize that would have run without it."""

import sys


def _begin() -> None:
    import os

    try:
        from jouletree._start import start

        start()
    except Exception as error:  # the user's program matters more than its recording
        if not os.environ.get("JOULETREE_QUIET"):
            print(f"jouletree: this process is recorded without its operations: {error}", file=sys.stderr)


def _give_way() -> None:
    """Runs the next sitecustomize on the path, as if this one were not there."""
    import importlib.util
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    others = [place for place in sys.path if os.path.abspath(place or os.curdir) != here]
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_begin()
_give_way()
