#!/usr/bin/env python3
"""Finds a Chromium, or gets Debian's, and prints the command that starts it.

JOULETREE_CHROMIUM names one. Else it is looked for on the PATH, and in the cache folder, where an earlier call may have
put it. Else it is got: root installs Debian's package, anybody else downloads the package with the libraries that the
machine lacks and unpacks them into the cache folder, beside a script that starts it from there.

Where none of this works, what is printed is the reason, and the exit status is 69: tests are skipped then.
"""

import fcntl
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

from environment import cache_folder

UNAVAILABLE = 69
COMMANDS = ("chromium", "chromium-browser", "google-chrome")
REMEDY = "install chromium, or name one in JOULETREE_CHROMIUM"

# Those of the unpacked packages come beside the machine's own, which may be none.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>/usr/share/fonts</dir>
  <dir>{root}/usr/share/fonts</dir>
  <cachedir>{place}/fonts</cachedir>
</fontconfig>
"""


class Unavailable(Exception):
    """Why there is no browser."""


def say(text: str) -> None:
    print(f"browser: {text}", file=sys.stderr, flush=True)


def complaint(command: str) -> str | None:
    """What is wrong with a browser; `None` if it starts. A name on the PATH may be a stub that only asks for more."""
    try:
        ended = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 0:
        return None
    last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
    return f"exit status {ended.returncode}: {last[0]}"


def on_the_path() -> str | None:
    found = filter(None, map(shutil.which, COMMANDS))
    return next((command for command in found if complaint(command) is None), None)


def place() -> pathlib.Path:
    return cache_folder().absolute() / "browser"


def unpacked() -> str | None:
    command = place() / "chromium"
    return str(command) if command.is_file() and complaint(str(command)) is None else None


def apt(*arguments: str, cwd: pathlib.Path | None = None, silent: bool = False) -> str:
    """Runs apt-get and returns what it printed; long work is seen while it goes on unless it is to be `silent`."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    words = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments]
    talk = subprocess.PIPE if silent or not sys.stderr.isatty() else sys.stderr
    ended = subprocess.run(words, cwd=cwd, env=environment, stdout=talk, stderr=subprocess.PIPE, text=True)
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Unavailable(f"`{shlex.join(words)}` failed: {last[0]}")
    return ended.stdout or ""


def install() -> None:
    """Installs Debian's package, for which one must be root."""
    say("installing Debian's chromium (about 400 MB, once) ...")
    words = ["install", "-y", "--no-install-recommends", "chromium"]
    try:
        apt(*words)
    except Unavailable:
        say("reading the lists of packages anew ...")
        apt("update")
        apt(*words)


def missing_packages() -> tuple[list[str], list[str]]:
    """Which packages Chromium would have installed, and the options by which apt-get knows them."""
    words = ["install", "--simulate", "--no-install-recommends", "chromium"]
    options: list[str] = []
    try:
        plan = apt(*words, silent=True)
    except Unavailable:
        # The system's lists are missing or old and only root may change them; one's own serve as well.
        say("reading the lists of packages ...")
        lists, cache = place() / "lists", place() / "apt"
        for folder in (lists / "partial", cache / "archives" / "partial"):
            folder.mkdir(parents=True, exist_ok=True)
        options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}"]
        apt(*options, "update")
        plan = apt(*options, *words, silent=True)
    return re.findall(r"^Inst (\S+)", plan, re.MULTILINE), options


def unpack() -> None:
    """Downloads what is missing and unpacks it into the cache folder, which anybody can."""
    names, options = missing_packages()
    say(f"downloading {len(names)} packages (about 150 MB, once) ...")
    packages, root = place() / "packages", place() / "root"
    for folder in (packages, root):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    apt(*options, "download", *names, cwd=packages)
    say("unpacking ...")
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True, stdout=sys.stderr)
    shutil.rmtree(packages)
    fonts = place() / "fonts.conf"
    fonts.write_text(FONTS.format(root=root, place=place()))
    libraries = sorted({str(file.parent) for lib in ("lib", "usr/lib") for file in (root / lib).rglob("lib*.so*")})
    command = place() / "chromium"
    # The sandbox's helper works only as root's; the pages that are opened are this repository's own.
    command.write_text(
        "#!/bin/sh\n"
        f"export LD_LIBRARY_PATH={shlex.quote(':'.join(libraries))}\n"
        f"export FONTCONFIG_FILE={shlex.quote(str(fonts))}\n"
        f'exec {shlex.quote(str(root / "usr/lib/chromium/chromium"))} --no-sandbox "$@"\n'
    )
    command.chmod(0o755)


def get() -> str:
    """Gets a browser in the way that this user can."""
    if not shutil.which("apt-get"):
        raise Unavailable(f"there is no Chromium, and no apt-get to get it with; {REMEDY}")
    began = time.monotonic()
    place().mkdir(parents=True, exist_ok=True)
    with open(place() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Another process may have fetched it while this one waited.
        command = on_the_path() or unpacked()
        if not command:
            by_root = os.geteuid() == 0
            try:
                install() if by_root else unpack()
            except (OSError, subprocess.CalledProcessError) as error:
                raise Unavailable(f"Chromium could not be got: {error}; {REMEDY}") from error
            command = on_the_path() if by_root else str(place() / "chromium")
            wrong = complaint(command) if command else "it is not on the PATH"
            if not command or wrong:
                raise Unavailable(f"Chromium was got and does not start: {wrong}; {REMEDY}")
            say(f"ready after {time.monotonic() - began:.0f} s")
    return command


def main() -> int:
    named = os.environ.get("JOULETREE_CHROMIUM")
    try:
        if named and (wrong := complaint(named)):
            raise Unavailable(f"the browser that JOULETREE_CHROMIUM names does not start: {wrong}")
        print(named or on_the_path() or unpacked() or get())
    except Unavailable as reason:
        print(reason)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
