"""Runs programs one after another, each in a process forked from this one; prints their process ids and output as JSON."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import time

import torch
import torch._dynamo  # Optimizers import it when they are first used; once is enough.


def run(text: str) -> dict:
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            signal.alarm(100)
            sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), write_through=True)
            exec(compile(text, "program", "exec"), {"__name__": "__main__"})
            sys.stdout.flush()
            # Faster than the usual end; those are for ``test_torch_forks``.
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        return {"pid": pid, "status": status, "out": out.read(), "seconds": time.monotonic() - began}


def main() -> None:
    torch.set_num_threads(1)
    with open(sys.argv[1], encoding="utf-8") as file:
        programs = json.load(file)
    print(json.dumps({name: run(text) for name, text in programs.items()}))


if __name__ == "__main__":
    main()
