#!/usr/bin/env python3
"""Makes a Python environment with the frameworks that tests, examples and the demo need, and prints where its Python is.

What an environment holds is pinned in python/environments/NAME.txt; NAME.alone.txt beside it lists what is installed
without its dependencies. An environment lives in the cache folder under its name and a digest of its pins, so that
a change of pins makes a new one and a second call returns at once.

    tools/environment.py frameworks            make it, if need be, and print its Python
    tools/environment.py frameworks --where    print where its Python is or would be
"""

import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PINS = HERE.parent / "python" / "environments"


def cache_folder() -> pathlib.Path:
    """Where environments are kept: JOULETREE_CACHE, else the user's cache folder."""
    named = os.environ.get("JOULETREE_CACHE")
    if named:
        return pathlib.Path(named)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "jouletree"


def pins_of(name: str) -> list[pathlib.Path]:
    """The files that say what an environment holds."""
    files = [PINS / f"{name}.txt", PINS / f"{name}.alone.txt"]
    if not files[0].is_file():
        known = sorted(path.stem for path in PINS.glob("*.txt") if not path.stem.endswith(".alone"))
        sys.exit(f"there is no environment `{name}`; there are: {', '.join(known)}")
    return [file for file in files if file.is_file()]


def place_of(name: str) -> pathlib.Path:
    digest = hashlib.sha256(sys.version.encode())
    for file in pins_of(name):
        digest.update(file.read_bytes())
    return cache_folder() / "environments" / f"{name}-{digest.hexdigest()[:12]}"


def install(python: pathlib.Path, *arguments: str) -> None:
    # A user at a terminal sees what is fetched; a log needs none of it.
    talk = [] if sys.stderr.isatty() else ["--quiet"]
    words = [python, "-m", "pip", "install", *talk, "--disable-pip-version-check", *arguments]
    subprocess.run(words, check=True, stdout=sys.stderr)


def make(name: str, place: pathlib.Path) -> None:
    """Makes the environment; a half-made one is made anew."""
    began = time.monotonic()
    print(f"environment {name}: installing, once (frameworks: minutes, up to 4 GB) ...", file=sys.stderr, flush=True)
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    for file in pins_of(name):
        alone = ["--no-deps"] if file.stem.endswith(".alone") else []
        print(f"environment {name}: {file.name} ...", file=sys.stderr, flush=True)
        install(python, *alone, "-r", str(file))
    torch = next(place.glob("lib/python*/site-packages/torch/lib"), None)
    if torch:
        subprocess.run([sys.executable, HERE / "cuda_stubs.py", torch], check=True)
    (place / "ready").touch()
    print(f"environment {name}: ready after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--where", action="store_true", help="only print where its Python is or would be")
    arguments = parser.parse_args()
    place = place_of(arguments.name)
    if not arguments.where and not (place / "ready").is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{place}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another process may have made it while this one waited.
            if not (place / "ready").is_file():
                make(arguments.name, place)
    print(place / "bin" / "python")


if __name__ == "__main__":
    main()
