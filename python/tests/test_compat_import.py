"""What importing a stand-in costs. Needs any Python with pytest."""

from __future__ import annotations

import json
import pathlib

import pytest
from compat_world import World

#: What makes CodeCarbon's import slow, and what takes us longest of the standard library.
HEAVY = {
    "asyncio", "configparser", "dataclasses", "email", "http", "importlib.metadata", "inspect", "json", "logging",
    "multiprocessing", "numpy", "pandas", "pickle", "psutil", "pynvml", "requests", "socket", "ssl", "subprocess",
    "tempfile", "typing", "urllib.request", "uuid",
}  # fmt: skip


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("name", ["codecarbon", "carbontracker", "impact_tracker", "eco2ai"])
def test_import_loads_nothing_heavy_and_takes_no_time(world: World, name: str) -> None:
    told = json.loads(
        world.run(
            f"""
            import subprocess
            code = (
                "import sys, time; before = set(sys.modules); t = time.perf_counter(); "
                "import jouletree.compat.{name}; t = time.perf_counter() - t; "
                "print(t, *sorted(set(sys.modules) - before))"
            )
            # Isolated from what site-packages load at the start of Python; compiled once, as installed packages are.
            words = [sys.executable, "-S", "-c", code]
            kept = {{**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": os.path.abspath("compiled")}}
            seen = [subprocess.check_output(words, text=True, env=kept).split() for _ in range(5)]
            tell(times=[float(each[0]) for each in seen], modules=seen[0][1:])
            """
        ).out
    )
    heavy = HEAVY & set(told["modules"])
    print(f"import jouletree.compat.{name}: {1000 * min(told['times']):.1f} ms, {len(told['modules'])} modules")
    assert heavy == set()
    assert min(told["times"]) < 0.05
