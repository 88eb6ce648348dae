"""Queries in the manner of TPC-H: verbs of a dataset beside the engine's own dataframes, on the same files.

Polars gives its rows in memory, by its streaming engine, unless they are more than Penstock keeps there: then both
write them to Parquet. Dask and Spark write them always, and run few of the queries. Each is run once before, and then
in several rounds, in turn: medians, of wall seconds and of CPU seconds of this process and of all that it starts.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.contenders import CORES
from benchmarks.measure import cpu_seconds
from benchmarks.ours import engine as started
from benchmarks.tpch import polars as peers
from benchmarks.tpch import verbs
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.relation import settled
from penstock.io.sources.memory import MemorySource

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))

Run = Callable[[], object]
Figures = dict[str, dict[str, float]]


def joined_lines(tables: verbs.Tables, *, maintain_order: bool = True) -> Dataset:
    """Lines with their orders."""
    lines = tables["lineitem"].select("l_orderkey", "l_linenumber", "l_extendedprice")
    orders = tables["orders"].select("o_orderkey", "o_orderdate")
    return lines.join(orders, left_on="l_orderkey", right_on="o_orderkey", maintain_order=maintain_order)


QUERIES: Mapping[str, Callable[[verbs.Tables], Dataset]] = {
    **verbs.QUERIES,
    "joined_lines": joined_lines,
    "free_lines": partial(joined_lines, maintain_order=False),
}


def polars_runs(folder: Path, out: Path, data: verbs.Tables) -> Iterator[tuple[str, Run]]:
    """Yield what runs each query on Polars."""
    scans = {name: pl.scan_parquet(sorted((folder / name).glob("*.parquet"))) for name in data}
    for name, query in {**peers.QUERIES, "joined_lines": peers.joined_lines, "free_lines": peers.free_lines}.items():
        in_memory = isinstance(settled(QUERIES[name](data)).reader.source, MemorySource)
        yield name, partial(run_polars, query, scans, None if in_memory else out / "rows.parquet")


def run_polars(
    query: Callable[[peers.Tables], pl.LazyFrame], tables: peers.Tables, target: Path | None
) -> pl.DataFrame | None:
    """Run a query of Polars'; return its rows, or write them to a file."""
    if target is None:
        return query(tables).collect(engine="streaming")
    query(tables).sink_parquet(target, compression="zstd", compression_level=1, engine="streaming")
    return None


def cluster_runs(engine: Any, kind: str, folder: Path, out: Path, data: verbs.Tables) -> Iterator[tuple[str, Run]]:
    """Yield what runs some queries on the dataframes of Dask or Spark."""
    own = import_module(f"benchmarks.tpch.{kind}")
    tables = own.tables(engine, folder, list(data))
    for name, query in own.QUERIES.items():
        yield name, partial(write_anew, own.write, query, tables, out / "rows")


def write_anew(write: Callable[[Any, Path], None], query: Callable[[Any], Any], tables: Any, target: Path) -> None:
    """Run a query and write its rows in place of those before."""
    shutil.rmtree(target, ignore_errors=True)
    write(query(tables), target)


def count(query: Callable[[verbs.Tables], Dataset], tables: verbs.Tables) -> int:
    """Run a query of Penstock's; return its number of rows."""
    return query(tables).count()


def measured(runs: Mapping[str, Run], rounds: int) -> Figures:
    """Return the median seconds, by wall and CPU, of what is run in turn."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for each in runs.values():
        each()
    for _ in range(rounds):
        for name, each in runs.items():
            begun, used = time.perf_counter(), cpu_seconds()
            each()
            taken[name].append((time.perf_counter() - begun, cpu_seconds() - used))
    return {
        name: dict(zip(("seconds", "cpu_seconds"), map(statistics.median, zip(*each, strict=True)), strict=True))
        for name, each in taken.items()
    }


def compare(kind: str, folder: Path, out: Path, rounds: int) -> dict[str, Figures]:
    """Return the figures of each query, and print a line for each."""
    with started(kind, CORES) as engine:
        data = {each.name: engine.read_parquet(each, allow_unmanifested=True) for each in sorted(folder.iterdir())}
        peer = polars_runs(folder, out, data) if kind == "local" else cluster_runs(engine, kind, folder, out, data)
        figures: dict[str, Figures] = {}
        print(f"{'':14} Penstock  CPU s    other  CPU s   ratio    CPU")
        for name, other in peer:
            figures[name] = measured({"penstock": partial(count, QUERIES[name], data), "other": other}, rounds)
            show(name, figures[name])
    figures["all"] = {
        side: {kind: sum(each[side][kind] for each in figures.values()) for kind in ("seconds", "cpu_seconds")}
        for side in ("penstock", "other")
    }
    show("all", figures["all"])
    return figures


def show(name: str, figures: Figures) -> None:
    """Print a line of figures."""
    (mine, my_cpu), (its, its_cpu) = (figures[side].values() for side in ("penstock", "other"))
    ratios = f"{mine / its:7.2f} {my_cpu / its_cpu:7.2f}"
    print(f"{name:14} {mine:8.4f} {my_cpu:6.3f} {its:8.4f} {its_cpu:6.3f} {ratios}", flush=True)


def main() -> None:
    """Write the tables, unless they are there, and compare."""
    import tpch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("local", "dask", "spark"), default="local")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as temporary:
        folder = arguments.folder or Path(temporary, "tables")
        if not folder.exists():
            tpch.write(folder, arguments.lines)
        figures = compare(arguments.engine, folder, Path(temporary), arguments.rounds)
    if arguments.json:
        facts = {"lines": arguments.lines, "rounds": arguments.rounds, "cores": CORES, "machine": platform.machine()}
        arguments.json.write_text(
            json.dumps({**facts, "engine": arguments.engine, "queries": figures}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
