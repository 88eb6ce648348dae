"""Write into a table for each line of stdin, in a process forked for it, and print how that process ended.

Run by test_table_kills in a process of its own, which imports once: a line is a list of format, target, ids, failpoint
and the options of the write.
"""

from __future__ import annotations

import os
from typing import Any

import deltalake
import pandas as pd  # pyarrow looks for it, and each child would import it by itself
import pyarrow as pa
import pyiceberg.catalog.sql
import s3fs

import penstock as ps
from penstock.dataset import writing
from penstock.io.sinks.failpoints import VARIABLE
from tests.forked import answer_lines

IMPORTED = (deltalake, pd, pyiceberg.catalog.sql, s3fs, writing)


def write(format: str, target: str, ids: list[int], failpoint: str | None, options: dict[str, Any]) -> None:
    """Append rows to the table, setting those with an id below 0 aside."""
    if failpoint is not None:
        os.environ[VARIABLE] = failpoint
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"id": ids}), fragment_bytes=8)
    checked = ps.Pipeline(ps.stages.Expect("id >= 0", action="quarantine")).fit(data).transform(data)
    checked.write(target, **{"format": format, "mode": "append", **options})


if __name__ == "__main__":
    os.fsync = lambda _: None  # type: ignore[assignment]  # what is killed is the process, not the machine
    answer_lines(write)
