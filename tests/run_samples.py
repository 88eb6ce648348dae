"""Records of runs whose numbers are known beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.recording import PHASES, Span
from penstock.runs import TASKS, Run

STARTED = 1_700_000_000.0
HOSTILE = "<script>alert(1)</script>"


def span(name: str, start: float, end: float, kind: str = "scan", parent: int | None = None) -> Span:
    """Return a span by seconds since the run began."""
    return Span(name, kind, STARTED + start, end - start, parent=parent)


def task(
    start: float,
    phases: Mapping[str, float],
    *,
    span: int = 0,
    worker: str = "a:1",
    slot: int = 0,
    kind: str = "task",
    fragment: int | None = 0,
    wait: float = 0.0,
    seconds: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return a row of the table of tasks; it takes as long as its phases unless `seconds` are given."""
    return {
        "span": span,
        "label": "scan",
        "kind": kind,
        "fragment": fragment,
        "host": worker.partition(":")[0],
        "worker": worker,
        "slot": slot,
        "device": "cpu",
        "start": round((STARTED + start) * 1e6),
        "seconds": sum(phases.values()) if seconds is None else seconds,
        **{phase: phases.get(phase, 0.0) for phase in PHASES},
        "wait": wait,
        "rows_in": 10,
        "rows_out": 10,
        "bytes_in": 100,
        "bytes_out": 0,
        "cpu_seconds": 0.0,
        "peak_memory": 2**30,
        **others,
    }


def run(spans: Sequence[Span], tasks: Sequence[Mapping[str, Any]], seconds: float = 10.0, **info: Any) -> Run:
    """Return a run that took so many seconds."""
    known = {
        "format": 1,
        "run_id": "20231114T221320000000-00000000",
        "kind": "fit",
        "name": "clicks",
        "started": STARTED,
        "seconds": seconds,
        "status": "done",
        "error": None,
        "versions": {"penstock": "0.1.0"},
        "machine": {"host": "a", "memory": 2**34},
        "inputs": [],
        "outputs": [],
        "notes": [],
    }
    table = pa.Table.from_pylist(sorted(tasks, key=lambda each: each["start"]), schema=TASKS)
    return Run({**known, **info, "spans": [asdict(each) for each in spans]}, table)


def full() -> Run:
    """Return a run with every kind of span and task, two workers of two slots, files in and out."""
    spans = [
        span("plan", 0.5, 1.0, "step"),
        span("scan 1 of 1", 1.0, 4.0),
        span("train XGBoostClassifier", 4.0, 8.0, "train"),
        span("save", 8.0, 9.0, "step"),
    ]
    tasks = [
        task(
            1.0 + 0.5 * place,
            {"read": 0.1, "decode": 0.2, "compute": 0.15},
            span=1,
            worker=f"node-{worker}:{worker}",
            slot=slot,
            fragment=4 * place + 2 * worker + slot,
        )
        for place in range(5)
        for worker in range(2)
        for slot in range(2)
    ]
    tasks.append(task(3.6, {"merge": 0.3}, span=1, worker="node-0:0", kind="merge", fragment=None))
    tasks += [
        task(4.0, {"train": 3.0, "communicate": 1.0}, span=2, worker=f"node-{rank}:{rank}", kind="rank", fragment=rank)
        for rank in range(2)
    ]
    files = [{"path": f"s3://lake/day={i}/part.parquet", "size": 2**20, "mtime": 0.0, "rows": 10} for i in range(14)]
    return run(
        spans,
        tasks,
        inputs=files,
        outputs=[{"path": "models/clicks", "rows": None, "bytes": 1000, "files": 3}],
        engine={"name": "dask", "device": "cpu"},
        configuration={"XGBoostClassifier.num_boost_round": 20},
        metrics={"areaUnderROC": 0.75},
        energy={"measured": {"node-0/package-0": 7200.0}, "estimated": {}, "assumptions": [], "intensity": 475.0},
        notes=["XGBoostClassifier has not converged"],
    )


def timed(
    rows: int, *, engine: str = "local", read: int | None = None, seconds: float | None = None, **info: Any
) -> Run:
    """Return a run on one worker with one scan of four tasks: 2 seconds unless given, and one for each 1,000 rows."""
    taken = 2 + rows / 1_000 if seconds is None else seconds
    tasks = [task(place * taken / 4, {"compute": taken / 4}, rows_in=rows // 4) for place in range(4)]
    about = {"engine": {"name": engine, "slots": 1}, "inputs": [{"rows": rows if read is None else read}]}
    return run([span("scan", 0.0, taken)], tasks, taken, **about, **info)


def many(tasks: int = 8_000, slots: int = 100) -> Run:
    """Return a run of very many short tasks of random phases."""
    drawn = np.random.default_rng(0)
    starts, shares = np.sort(drawn.uniform(0, 9, tasks)), drawn.dirichlet(np.ones(3), tasks)
    rows = [
        task(
            start,
            dict(zip(("read", "decode", "compute"), (share * 0.04).tolist(), strict=True)),
            worker=f"node-{place % slots // 4}:1",
            slot=place % 4,
            fragment=place,
        )
        for place, (start, share) in enumerate(zip(starts.tolist(), shares, strict=True))
    ]
    return run([span("scan 1 of 1", 0.0, 10.0)], rows)


def hostile() -> Run:
    """Return a failed run of names that are no good."""
    spans = [span(HOSTILE, 0.0, 9.0), span("x" * 300, 9.0, 9.5, "step"), span("", 9.5, 10.0, "step")]
    tasks = [
        task(float(place), {"compute": 0.5}, worker=f"{HOSTILE}:{place}", label=HOSTILE, fragment=None)
        for place in range(3)
    ]
    files = [{"path": f"{HOSTILE}/{'y' * 200}\u202e", "size": None, "rows": None}]
    facts = {"configuration": {HOSTILE: HOSTILE * 9}, "error": f"ValueError: {HOSTILE}", "status": "failed"}
    return run(spans, tasks, name=HOSTILE, inputs=files, outputs=files, **facts)


def empty() -> Run:
    """Return a run that failed before it did anything."""
    return run([], [], seconds=0.0, name="", status="failed", error="ValueError: no")
