"""Budget of the test suite: seconds by folder, slowest tests, lines.

Reads the files that `pytest --durations-to FILE` writes, one a lane. With --check, fails if a folder takes more than
1.5 times its budget, or the tests have more lines than theirs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
TOLERANCE = 1.5
"""Machines differ, and so do runs: a folder over its budget is named, over this many times its budget it is refused."""


def main(arguments: list[str] | None = None) -> int:
    """Print durations with their budgets; with --check, return 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="durations of tests, one file a lane")
    parser.add_argument("--slowest", type=int, default=50, help="how many of the slowest tests are printed")
    parser.add_argument("--check", action="store_true", help=f"fail over {TOLERANCE} times a budget")
    options = parser.parse_args(arguments)
    budget = tomllib.loads((TESTS / "budget.toml").read_text())
    seconds = read_durations(options.files)
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[: options.slowest]:
        print(f"{seconds[name]:8.2f} s  {name}")
    far_over = print_areas(by_area(seconds), budget["seconds"]) if seconds else False
    lines = sum(path.read_bytes().count(b"\n") for path in TESTS.rglob("*.py"))
    print(f"{lines:8,} lines of tests, of at most {budget['lines']:,}")
    return int(options.check and (far_over or lines > budget["lines"]))


def read_durations(files: Iterable[Path]) -> dict[str, float]:
    """Return the seconds of each test."""
    return {name: value for path in files for name, value in json.loads(path.read_text()).items()}


def by_area(seconds: Mapping[str, float]) -> dict[str, tuple[float, int]]:
    """Return seconds and number of tests by folder of tests/; `root` are the files directly in it."""
    total, number = Counter[str](), Counter[str]()
    for name, value in seconds.items():
        parts = name.partition("::")[0].removeprefix("tests/").split("/")
        area = parts[0] if len(parts) > 1 else "root"
        total[area] += value
        number[area] += 1
    return {area: (total[area], number[area]) for area in sorted(total)}


def print_areas(areas: Mapping[str, tuple[float, int]], budgets: Mapping[str, float]) -> bool:
    """Print each area with its budget, 0 if it has none; return whether one exceeds the tolerance."""
    far_over = False
    for area, (seconds, number) in areas.items():
        allowed = budgets.get(area, 0)
        over = "" if seconds <= allowed else " <- over" if seconds <= TOLERANCE * allowed else " <- far over"
        far_over |= seconds > TOLERANCE * allowed
        print(f"{seconds:8.1f} of {allowed:5,} s  {number:6,} tests  {area}{over}")
    seconds, number = (sum(column) for column in zip(*areas.values(), strict=True))
    total = sum(budgets.get(area, 0) for area in areas)
    print(f"{seconds:8.1f} of {total:5,} s  {number:6,} tests  in all")
    return far_over


if __name__ == "__main__":
    sys.exit(main())
