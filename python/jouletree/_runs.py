"""Run folders as data frames: what layers and operations used, and power over time.

Layers and operations come from the command: they are the numbers that ``jouletree show`` prints, with their intervals. Power
comes from the run's Parquet file, which needs pyarrow. A frame is a pandas DataFrame where pandas is installed, else a
list of dictionaries.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Union


def load(run: Union[str, os.PathLike[str]]) -> Run:
    """Opens a run folder, as ``jouletree run`` and ``jouletree account -o`` write it."""
    return Run(run)


class Run:
    """A run folder."""

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        #: Where it is.
        self.path = os.fspath(path)
        if not os.path.isdir(self.path):
            raise FileNotFoundError(f"{self.path}: no such folder; give the folder of a run")
        if not os.path.exists(os.path.join(self.path, "manifest.json")):
            # The command finishes a recording that was interrupted, or says what the folder is.
            self._shown("device")

    @property
    def manifest(self) -> dict[str, Any]:
        """What ran, on what machine, metered by what."""
        with open(os.path.join(self.path, "manifest.json"), encoding="utf-8") as file:
            known: dict[str, Any] = json.load(file)
        return known

    def layers(self) -> Any:
        """A row for each layer and operation of the model, from the whole down.

        `path`, `depth`, `energy_j` with `low_j` and `high_j`, `busy_s`, `count`, and joules of each pass.
        """
        tree = self._shown("layer")
        return _frame(list(_flat(tree.get("tree", tree))))

    def ops(self) -> Any:
        """A row for each operation, pass and device, the largest first."""
        rows = self._shown("op")
        return _frame(rows["rows"] if isinstance(rows, dict) else rows)

    def power(self) -> Any:
        """A row for each stretch of time in which the power of a device was constant.

        `device`, `domain`, `scope`, `kind`, `start_ns`, `end_ns`, `watts`; the scope `tree` is what the program used, and
        `device` all that the device used.
        """
        try:
            import pyarrow.parquet
        except ImportError:
            raise ImportError("reading power needs pyarrow: pip install pyarrow") from None
        table = pyarrow.parquet.read_table(os.path.join(self.path, "power.parquet"))
        return _frame(list(_stretches(table.to_pylist())))

    def __repr__(self) -> str:
        return f"<jouletree.Run {self.path!r}>"

    def _shown(self, by: str) -> Any:
        import subprocess

        from . import _binary

        binary = _binary.find()
        if binary is None:
            raise RuntimeError(_binary.MISSING)
        command = [binary, "show", self.path, "--by", by, "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip().removeprefix("error: ") or f"jouletree ended with status {done.returncode}")
        return json.loads(done.stdout)


def _flat(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of a tree, each before what is inside it."""
    waiting = [(0, node)]
    while waiting:
        depth, node = waiting.pop()
        row = {key: value for key, value in node.items() if not isinstance(value, (dict, list))}
        row["depth"] = depth
        for name in ("forward", "backward", "optimizer"):
            row[f"{name}_j"] = node["passes"].get(name, 0.0)
        yield row
        waiting.extend((depth + 1, child) for child in reversed(node["children"]))


def _stretches(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Cumulative joules as power between each reading and the next; what a flag says is not known is left out."""
    last: dict[tuple[str, Any, str, str], dict[str, Any]] = {}
    for row in rows:
        domain, scope = row["domain"], row.get("scope")
        if scope is None:
            # Format version 1 has a domain in the place of a scope.
            domain, scope = (None, "tree") if domain == "ours" else (domain, "device")
        key = (row["device"], domain, scope, row["kind"])
        before, last[key] = last.get(key), row
        if before is None or before["flags"] & 1 or row["t_ns"] <= before["t_ns"]:
            continue
        start, end = before["t_ns"], row["t_ns"]
        watts = (row["joules"] - before["joules"]) / ((end - start) * 1e-9)
        about = {"device": row["device"], "domain": domain, "scope": scope, "kind": row["kind"]}
        yield {**about, "start_ns": start, "end_ns": end, "watts": watts}


def _frame(rows: list[dict[str, Any]]) -> Any:
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)
