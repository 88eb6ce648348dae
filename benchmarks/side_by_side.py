"""What the benchmarks share: every contender in its own process on the same cores, ratios from one run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.contenders import CORES, Contender
from benchmarks.energy import joules, method

ROOT = Path(__file__).resolve().parents[1]
Results = dict[str, dict[str, dict[str, Any]]]
_LIMIT = 1800


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return the command line that all benchmarks have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--only", default="", help="contenders to run, by comma; all unless given")
    parser.add_argument("--data", type=Path, help="keep generated data here; a temporary folder unless given")
    return parser


@contextmanager
def folders(data: Path | None) -> Iterator[tuple[Path, Path]]:
    """Give the folder of the data, and one for what the contenders write, which goes away."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as temporary:
        folder = data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder, Path(temporary)


def generated(generator: Any, rows: int, folder: Path) -> Path:
    """Return the folder of so many rows of a generator of ``data/``, written once."""
    target = folder / f"{generator.__name__}-{rows}"
    if not target.exists():
        generator.write(target, rows)
    return target


def run_all(
    contenders: Iterable[Contender],
    inputs: Callable[[Contender], tuple[Path, Path]],
    scratch: Path,
    console: Console,
    limit: float = _LIMIT,
) -> Results:
    """Run the contenders one after the other, and return what they report by work and name."""
    results: Results = {}
    for contender in contenders:
        found = run(contender, *inputs(contender), scratch, limit)
        results.setdefault(contender.work, {})[contender.name] = found
        told = f"{contender.work} {contender.name}: {found['seconds']:.1f} s, {found['cpu_seconds']:.1f} s of CPU"
        console.print(told, style="dim", highlight=False)
    return results


def run(contender: Contender, data: Path, warm_up: Path, scratch: Path, limit: float = _LIMIT) -> dict[str, Any]:
    """Run one contender in a process of its own on the first cores, and return what it reports."""
    command = [sys.executable, "-m", f"benchmarks.peers.{Path(contender.script).stem}", contender.name]
    out = scratch / f"{contender.work}-{contender.name}"
    path = os.pathsep.join([str(ROOT), str(ROOT / "data")])
    settings = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONWARNINGS": "ignore", "PYTHONPATH": path}
    if contender.one_process:
        settings |= {"OMP_NUM_THREADS": str(CORES), "POLARS_MAX_THREADS": str(CORES)}
    with open(scratch / "log.txt", "w+") as log:
        done = subprocess.run(
            [*command, str(data), str(warm_up), str(out)],
            cwd=ROOT,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            timeout=limit,
            preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES]),
        )
        shutil.rmtree(out, ignore_errors=True)
        if done.returncode or not done.stdout.strip():
            log.seek(0)
            raise SystemExit(f"{contender.name} ({contender.work}) failed:\n{log.read()[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return {**found, "joules": joules(found)}


def ratios(contenders: Sequence[Contender], results: Results, figure: str) -> dict[str, float]:
    """Return "peer/ours" to the peer's figure over ours: above 1, ours is better."""
    found = {}
    for contender in contenders:
        of_work = results.get(contender.work, {})
        for ours in contender.against:
            if contender.name in of_work and ours in of_work:
                found[f"{contender.name}/{ours}"] = of_work[contender.name][figure] / of_work[ours][figure]
    return found


def show(title: str, contenders: Sequence[Contender], results: Results, console: Console) -> None:
    """Print the figures as a table, and the ratios below it."""
    console.print(_table(title, results))
    for name, ratio in ratios(contenders, results, "seconds").items():
        console.print(f"{name:<24} {ratio:6.2f}", highlight=False)


def _table(title: str, results: Results) -> Table:
    scans = any("scans" in found for of_work in results.values() for found in of_work.values())
    shown = Table(title=title)
    for heading in ("work", "contender", "wall s", "CPU s", "peak GiB", "J", "start s", *(["scans"] if scans else [])):
        shown.add_column(heading, justify="left" if heading in ("work", "contender") else "right")
    for work, of_work in results.items():
        for name, r in of_work.items():
            shown.add_row(
                work, name, f"{r['seconds']:.1f}", f"{r['cpu_seconds']:.1f}", f"{r['peak_bytes'] / 2**30:.2f}",
                f"{r['joules']:.0f}", f"{r['start_seconds']:.1f}", *([f"{r['scans']:.0f}"] if "scans" in r else []),
            )  # fmt: skip
    return shown


def save(target: Path, rows: int, contenders: Sequence[Contender], results: Results) -> None:
    """Write the figures and the ratios as JSON."""
    summary = {
        "rows": rows,
        "cores": CORES,
        "machine": platform.processor() or platform.machine(),
        "ratios": ratios(contenders, results, "seconds"),
        "cpu_ratios": ratios(contenders, results, "cpu_seconds"),
        "energy": method(),
        "joule_ratios": ratios(contenders, results, "joules"),
        "results": results,
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(summary, indent=1) + "\n")
