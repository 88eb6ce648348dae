"""Runs by hand, of which alarms read what they are about."""

from typing import Any

import pyarrow as pa

from penstock.runs.run import TASKS, Run


def run_of(tasks: list[dict[str, Any]] | None = None, *, run_id: str = "2", **info: Any) -> Run:
    """Return a run of these facts and rows of tasks; what is not given is null."""
    facts = {"run_id": run_id, "kind": "fit", "name": "clicks", "status": "done", "seconds": 10.0, **info}
    return Run(facts, pa.Table.from_pylist(tasks or [], schema=TASKS))


def task(**values: Any) -> dict[str, Any]:
    """Return the row of one task."""
    return {"span": 0, "kind": "task", "host": "a", "worker": "a:1", "seconds": 1.0, "wait": 0.0, **values}
