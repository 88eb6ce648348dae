"""Clicks side by side: every contender in its own process on the same cores, ratios from one run."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

from benchmarks.contenders import CONTENDERS, CORES, WARM_UP_ROWS, Contender  # noqa: E402

_LIMIT = 1800
_SAME_AUC = 5e-3  # sketches of the quantiles differ with the number of partitions


def data_of(rows: int, folder: Path) -> Path:
    """Return the folder of `rows` clicks, generated once."""
    import clicks as generator

    target = folder / f"clicks-{rows}"
    if not target.exists():
        generator.write(target, rows)
    return target


def prepared(data: Path) -> Path:
    """Return the folder of the same clicks as numbers, for training; made once, by the local engine."""
    from benchmarks.ours import engine
    from benchmarks.peers.penstock_prepare import prepare

    target = data.with_name(f"{data.name}-prepared")
    if not target.exists():
        prepare(engine("local", CORES), str(data), str(target))
    return target


def run(contender: Contender, data: Path, warm_up: Path, scratch: Path) -> dict[str, Any]:
    """Run one contender in a process of its own on the first cores, and return what it reports."""
    command = [sys.executable, "-m", f"benchmarks.peers.{Path(contender.script).stem}", contender.name]
    out = scratch / f"{contender.work}-{contender.name}"
    settings = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONWARNINGS": "ignore", "PYTHONPATH": os.pathsep.join(sys.path[:2])}
    if contender.name in ("local", "polars"):
        settings |= {"OMP_NUM_THREADS": str(CORES), "POLARS_MAX_THREADS": str(CORES)}
    with open(scratch / "log.txt", "w+") as log:
        done = subprocess.run(
            [*command, str(data), str(warm_up), str(out)],
            cwd=ROOT,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            timeout=_LIMIT,
            preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES]),
        )
        shutil.rmtree(out, ignore_errors=True)
        if done.returncode or not done.stdout.strip():
            log.seek(0)
            raise SystemExit(f"{contender.name} ({contender.work}) failed:\n{log.read()[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])  # type: ignore[no-any-return]


def check(results: dict[str, dict[str, Any]], work: str) -> None:
    """Fail unless all contenders learned the same."""
    (first, known), *others = [(name, found["check"]) for name, found in results.items()]
    for name, found in others:
        for key, values in known.items():
            if not _same(values, found[key], work):
                raise SystemExit(f"{name} and {first} do not agree on {key}:\n{found[key]}\n{values}")


def _same(left: Any, right: Any, work: str) -> bool:
    if work == "train":
        return math.isclose(left, right, abs_tol=_SAME_AUC)
    return all(
        math.isclose(a, b, rel_tol=1e-6) if isinstance(a, float) else a == b for a, b in zip(left, right, strict=True)
    )


def ratios(results: dict[str, dict[str, dict[str, Any]]], figure: str) -> dict[str, float]:
    """Return "peer/ours" to the peer's figure over ours: above 1, ours is better."""
    found = {}
    for contender in CONTENDERS:
        of_work = results.get(contender.work, {})
        for ours in contender.against:
            if contender.name in of_work and ours in of_work:
                found[f"{contender.name}/{ours}"] = of_work[contender.name][figure] / of_work[ours][figure]
    return found


def table(results: dict[str, dict[str, dict[str, Any]]], rows: int) -> Table:
    """Return the figures as a table."""
    shown = Table(title=f"clicks, {rows:,} rows, {CORES} cores")
    for heading in ("work", "contender", "wall s", "CPU s", "peak GiB", "start s"):
        shown.add_column(heading, justify="left" if heading in ("work", "contender") else "right")
    for work, of_work in results.items():
        for name, r in of_work.items():
            shown.add_row(
                work, name, f"{r['seconds']:.1f}", f"{r['cpu_seconds']:.1f}", f"{r['peak_bytes'] / 2**30:.2f}",
                f"{r['start_seconds']:.1f}",
            )  # fmt: skip
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--only", default="", help="contenders to run, by comma; all unless given")
    parser.add_argument("--work", default="prepare,train")
    parser.add_argument("--data", type=Path, help="keep generated data here; a temporary folder unless given")
    options = parser.parse_args()
    console = Console()
    results: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as temporary:
        folder = options.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        data, warm_up = data_of(options.rows, folder), data_of(WARM_UP_ROWS, folder)
        for contender in CONTENDERS:
            if contender.work not in options.work or (options.only and contender.name not in options.only.split(",")):
                continue
            inputs = (data, warm_up) if contender.work == "prepare" else (prepared(data), prepared(warm_up))
            found = run(contender, *inputs, Path(temporary))
            results.setdefault(contender.work, {})[contender.name] = found
            told = f"{contender.work} {contender.name}: {found['seconds']:.1f} s, {found['cpu_seconds']:.1f} s of CPU"
            console.print(told, style="dim", highlight=False)
    for work, of_work in results.items():
        check(of_work, work)
    console.print(table(results, options.rows))
    for name, ratio in ratios(results, "seconds").items():
        console.print(f"{name:<24} {ratio:6.2f}", highlight=False)
    if options.json:
        summary = {
            "rows": options.rows,
            "cores": CORES,
            "machine": platform.processor() or platform.machine(),
            "ratios": ratios(results, "seconds"),
            "cpu_ratios": ratios(results, "cpu_seconds"),
            "results": results,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
