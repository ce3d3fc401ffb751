#!/usr/bin/env python3
"""Finds a Prometheus server with its promtool, or gets Debian's, and prints the folder that holds both.

JOULETREE_PROMETHEUS names such a folder. Else they are looked for on the PATH, and in the cache folder, where an earlier
call may have put them. Else Debian's package is downloaded and unpacked into the cache folder: nothing is installed.

Where none of this works, what is printed is the reason, and the exit status is 69: tests are skipped then.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

from browser import UNAVAILABLE, Unavailable, apt
from environment import cache_folder

COMMANDS = ("prometheus", "promtool")
REMEDY = "install prometheus, or name the folder of one in JOULETREE_PROMETHEUS"


def say(text: str) -> None:
    print(f"prometheus: {text}", file=sys.stderr, flush=True)


def complaint(folder: pathlib.Path) -> str | None:
    """What is wrong with the programs in a folder; `None` if both start."""
    for command in COMMANDS:
        try:
            ended = subprocess.run([folder / command, "--version"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if ended.returncode:
            return f"{command} ends with status {ended.returncode}"
    return None


def on_the_path() -> pathlib.Path | None:
    found = shutil.which(COMMANDS[0])
    folder = pathlib.Path(found).parent if found else None
    return folder if folder and complaint(folder) is None else None


def place() -> pathlib.Path:
    return cache_folder().absolute() / "prometheus"


def unpacked() -> pathlib.Path | None:
    folder = place() / "root/usr/bin"
    return folder if complaint(folder) is None else None


def download(into: pathlib.Path) -> None:
    try:
        apt("download", "prometheus", cwd=into, silent=True)
    except Unavailable:
        # The system's lists are missing or old and only root may change them; one's own serve as well.
        say("reading the lists of packages ...")
        lists, cache = place() / "lists", place() / "apt"
        for folder in (lists / "partial", cache / "archives" / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}"]
        apt(*options, "update", silent=True)
        apt(*options, "download", "prometheus", cwd=into, silent=True)


def get() -> pathlib.Path:
    if not shutil.which("apt-get"):
        raise Unavailable(f"there is no Prometheus, and no apt-get to get it with; {REMEDY}")
    place().mkdir(parents=True, exist_ok=True)
    with open(place() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Another process may have fetched it while this one waited.
        if folder := unpacked():
            return folder
        say("downloading Debian's prometheus (about 20 MB, once) ...")
        packages, root = place() / "packages", place() / "root"
        for folder in (packages, root):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        try:
            download(packages)
            for package in packages.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, root], check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Unavailable(f"Prometheus could not be got: {error}; {REMEDY}") from error
        shutil.rmtree(packages)
        folder = root / "usr/bin"
        if wrong := complaint(folder):
            raise Unavailable(f"Prometheus was got and does not start: {wrong}; {REMEDY}")
        return folder


def main() -> int:
    named = os.environ.get("JOULETREE_PROMETHEUS")
    try:
        if named and (wrong := complaint(pathlib.Path(named))):
            raise Unavailable(f"the Prometheus that JOULETREE_PROMETHEUS names does not start: {wrong}")
        print(named or on_the_path() or unpacked() or get())
    except Unavailable as reason:
        print(reason)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
