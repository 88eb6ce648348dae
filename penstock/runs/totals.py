"""What a run took, in a few numbers: for systems that keep numbers of many runs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.recording import PHASES
from penstock.runs.run import Run

SUMS = ("rows_in", "rows_out", "bytes_in", "bytes_out", "cpu_seconds", "energy")
"""Columns of tasks that add up; ``energy`` (joules) is left out where no counter was read."""


def run_totals(run: Run) -> dict[str, float]:
    """Return the seconds of a run, how many tasks it had, and their sums.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict of str to float
        ``seconds`` of the run, ``tasks`` (merges and ranks included), ``peak_memory`` (bytes), and of all tasks the
        sums of the columns `SUMS` and of the seconds of each phase that took any, such as ``read_seconds``. A row that
        is read by two scans counts twice. ``energy`` (joules) and ``co2_grams`` are those of the run where its record
        has them, which may be estimates.

    Examples
    --------
    >>> import penstock as ps
    >>> tasks = ps.runs.TASKS.empty_table()
    >>> run_totals(ps.runs.Run({"seconds": 2.5}, tasks))["tasks"]
    0
    """
    peak = pc.max(run.tasks["peak_memory"]).as_py()
    energy = run.info.get("energy") or {}
    of_run = {"peak_memory": peak, "energy": energy.get("joules"), "co2_grams": energy.get("co2_grams")}
    totals = {"seconds": run.seconds, "tasks": run.tasks.num_rows, **task_totals(run.tasks)}
    return totals | {name: value for name, value in of_run.items() if value is not None}


def task_totals(tasks: pa.Table) -> dict[str, float]:
    """Return the sums of some tasks, of the columns `SUMS` and by phase; what is null in all is left out.

    Examples
    --------
    >>> task_totals(pa.table({"rows_in": [3, 4], "energy": pa.nulls(2, pa.float64()), "read": [0.5, 1.0]}))
    {'rows_in': 7, 'read_seconds': 1.5}
    """
    sums = {name: pc.sum(tasks[name]).as_py() for name in (*SUMS, *PHASES) if name in tasks.column_names}
    phases = {f"{name}_seconds": sums.pop(name) for name in PHASES if name in sums}
    return {name: value for name, value in sums.items() if value is not None} | {
        name: value for name, value in phases.items() if value
    }
