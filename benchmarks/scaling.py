"""Times before they are measured: fits of a few rows predict fits of many, on every engine.

    python benchmarks/scaling.py --data /tmp/clicks --json benchmarks/results/latest-scaling.json

Each side is a process of its own. It fits the pipeline to 250,000 and to 1,000,000 clicks, recorded, after one fit that
is not; predicts fits to 4 and to 16 million; and then does them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.measure import run_alone  # noqa: E402
from benchmarks.side_by_side import folders, generated  # noqa: E402

SIDES = {"local": ("local", 2), "dask-1": ("dask", 1), "dask-2": ("dask", 2), "spark": ("spark", 2)}
"""The engine and the cores of each."""
CALIBRATED = [250_000, 1_000_000]
PAUSE = 15.0
"""Seconds before each fit: a virtual machine gives free memory back to its host meanwhile, and to have a GB again takes
it some 2 s, as in a job of its own."""
SHORTEST_PHASE = 0.05
"""The share of the time from which on a phase is compared."""


def pipeline() -> Any:
    """Return the stages of ``pipelines/clicks.py``, with 30 rounds of boosting."""
    from pipelines import clicks

    return clicks.build(clicks.Parameters(num_boost_round=30))


def recorded(engine: Any, data: str) -> Any:
    """Return the record of one fit."""
    import penstock as ps

    time.sleep(PAUSE)
    with tempfile.TemporaryDirectory() as folder:
        with ps.runs.record(folder, kind="fit") as recording:
            recording.facts["engine"] = {"name": engine.name, "slots": engine.slots}
            pipeline().fit(engine.read_parquet(data))
        return ps.runs.Run.load(recording.path)


def alone(side: str, arguments: Any) -> None:
    """Print what one side predicts and takes, as JSON."""
    from benchmarks.ours import engine as start
    from penstock.runs.scaling import RunObservation, ScalingModel

    sizes = {int(rows): path for rows, path in arguments["data"].items()}
    with start(*SIDES[side]) as engine:
        recorded(engine, sizes[max(CALIBRATED)])  # compiles, imports, starts and connects what the others find
        small = [recorded(engine, sizes[rows]) for rows in CALIBRATED * arguments["repeats"]]
        model = ScalingModel.fit(small)
        found = [compared(model, recorded(engine, sizes[rows])) for rows in arguments["rows"]]
    calibrated = [{"rows": RunObservation.of(run).rows, "seconds": run.seconds} for run in small]
    print(json.dumps({"spread": model.spread, "calibrated": calibrated, "found": found}))


def compared(model: Any, run: Any) -> dict[str, Any]:
    """Return what was predicted of a run beside what it took."""
    from penstock.runs.scaling import RunObservation

    observed = RunObservation.of(run)
    predicted, measured = model.predict(observed.fragments, workers=observed.workers), observed.phases()
    phases = {name: [each.seconds, *each.interval, measured.get(name, 0.0)] for name, each in predicted.phases.items()}
    low, high = predicted.interval
    return {"rows": observed.rows, "predicted": predicted.seconds, "low": low, "high": high, "seconds": run.seconds} | {
        "phases": phases,
        "memory": [predicted.memory, observed.memory],
    }


def show(results: dict[str, Any], console: Console) -> None:
    """Print a line for each fit that was predicted, and for each phase of it that takes a twentieth or more."""
    table = Table("", "rows", "predicted", "within", "took", "off", box=None, header_style="bold")
    for side, result in results.items():
        for each in result["found"]:
            table.add_row(
                side, f"{each['rows']:,}", *_cells(each["predicted"], each["low"], each["high"], each["seconds"])
            )
            for name, (seconds, low, high, measured) in each["phases"].items():
                if max(seconds, measured) >= SHORTEST_PHASE * each["seconds"]:
                    table.add_row("", f"  {name}", *_cells(seconds, low, high, measured))
    console.print(table)


def _cells(predicted: float, low: float, high: float, took: float) -> tuple[str, ...]:
    off = f"{predicted / took - 1:+.1%}" if took else "-"
    holds = "" if low <= took <= high else " outside"
    return f"{predicted:.1f} s", f"{low:.1f} to {high:.1f}", f"{took:.1f} s{holds}", off


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[4_000_000, 16_000_000])
    parser.add_argument("--only", default=",".join(SIDES), help="sides, by comma")
    parser.add_argument("--repeats", type=int, default=2, help="how often each small fit is done")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--data", type=Path, help="keep generated data here; a temporary folder unless given")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone[0], json.loads(options.alone[1]))
        return
    results = {}
    with folders(options.data) as (folder, _):
        sizes = {rows: str(generated(generator, rows, folder)) for rows in [*CALIBRATED, *options.rows]}
        arguments = json.dumps({"data": sizes, "rows": options.rows, "repeats": options.repeats})
        for side in options.only.split(","):
            results[side] = run_alone(str(Path(__file__)), side, arguments)
            show({side: results[side]}, Console())
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
