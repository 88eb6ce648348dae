"""Write rows for each line of stdin, in a process forked for it, and print how that process ended.

Run by test_additions_killed in a process of its own, which imports once: a line is a list of target, mode, which rows,
and failpoint.
"""

import os
from collections.abc import Mapping
from typing import Any

import pandas as pd  # pyarrow looks for it, and each child would import it by itself
import pyarrow as pa

from penstock.dataset import writing
from penstock.engines.local.engine import LocalEngine
from penstock.io.sinks.failpoints import VARIABLE
from tests.forked import answer_lines

IMPORTED = (pd, writing)

Row = tuple[int, str]
OLD: list[Row] = [(1, "a"), (1, "b"), (2, "c"), (3, "d")]
NEW: list[Row] = [(2, "c"), (2, "x"), (4, "y")]
MODES: Mapping[str, Mapping[str, Any]] = {
    "append": {"run_id": "scheduled__2024-01-01T00:00:00+00:00"},
    "overwrite_partitions": {},
    "merge": {"keys": ["day", "s"]},
}


def write(target: str, mode: str, which: str, failpoint: str | None) -> None:
    """Write the old rows, or add the new ones."""
    if failpoint is not None:
        os.environ[VARIABLE] = failpoint
    day, s = zip(*(OLD if which == "old" else NEW), strict=True)
    with LocalEngine(device="cpu") as engine:
        rows = engine.from_arrow(pa.table({"day": day, "s": s}), fragment_bytes=80)
        if which == "old":
            rows.write(target, partition_by="day")
        else:
            rows.write(target, partition_by="day", mode=mode, **MODES[mode])


if __name__ == "__main__":
    os.fsync = lambda _: None  # type: ignore[assignment]  # what is killed is the process, not the machine
    answer_lines(write)
