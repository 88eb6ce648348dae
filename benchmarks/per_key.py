"""Many small linear models: PerKey beside a loop over groups with scikit-learn, fit and prediction, same coefficients.

    python benchmarks/per_key.py --keys 1000 --rows 1000

A side runs in a process of its own, turn by turn; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from benchmarks.measure import measured  # noqa: E402

_FEATURES = tuple(f"x{place}" for place in range(10))


def rows_of(keys: int, rows: int) -> pa.Table:
    """Return so many rows a key, shuffled, whose coefficients differ from key to key."""
    rng = np.random.default_rng(0)
    key, x = rng.integers(0, keys, keys * rows), rng.normal(size=(keys * rows, len(_FEATURES)))
    y = (x * rng.normal(size=(keys, len(_FEATURES)))[key]).sum(axis=1) + rng.normal(size=len(key))
    return pa.table({"key": key, **dict(zip(_FEATURES, x.T, strict=True)), "y": y})


def penstock(table: pa.Table) -> np.ndarray:
    """Return the predictions of this library."""
    import penstock as ps
    from penstock import stages as st

    data = ps.LocalEngine(device="cpu").from_arrow(table)
    model = ps.Pipeline(ps.PerKey(st.LinearRegression("y", features=_FEATURES), by="key")).fit(data)
    return model.transform(data).to_arrow()["prediction"].to_numpy()  # type: ignore[no-any-return]


def sklearn(table: pa.Table) -> np.ndarray:
    """Return the predictions of a loop over the groups of pandas."""
    from sklearn.linear_model import LinearRegression

    frame, predicted = table.to_pandas(), np.empty(table.num_rows)
    names = list(_FEATURES)
    for _, place in frame.groupby("key").indices.items():
        own = frame.iloc[place]
        predicted[place] = LinearRegression().fit(own[names], own["y"]).predict(own[names])
    return predicted


SIDES = {"penstock": penstock, "sklearn": sklearn}


def alone(side: str, keys: int, rows: int) -> None:
    """Do a side once to load what it imports, and once more to measure it."""
    table = rows_of(keys, rows)
    SIDES[side](rows_of(2, 50))
    with measured() as cost:
        predicted = SIDES[side](table)
    error = float(np.sqrt(np.mean((predicted - table["y"].to_numpy()) ** 2)))
    figures = {"seconds": cost.seconds, "cpu_seconds": cost.cpu_seconds, "peak_bytes": cost.peak_bytes}
    print(json.dumps({**figures, "rmse": error}))


def run_alone(side: str, keys: int, rows: int) -> dict[str, Any]:
    """Measure one side in a process of its own."""
    command = [sys.executable, __file__, "--alone", side, "--keys", str(keys), "--rows", str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        raise SystemExit(f"{side}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000, help="rows a key")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        alone(options.alone, options.keys, options.rows)
        return
    runs = [{side: run_alone(side, options.keys, options.rows) for side in SIDES} for _ in range(options.rounds)]
    if any(abs(run["penstock"]["rmse"] / run["sklearn"]["rmse"] - 1) > 1e-9 for run in runs):
        raise SystemExit("the sides predict other numbers")
    names = ("seconds", "cpu_seconds", "peak_bytes")
    found = {side: {name: statistics.median(run[side][name] for run in runs) for name in names} for side in SIDES}
    print(json.dumps({**found, "ratios": {name: found["penstock"][name] / found["sklearn"][name] for name in names}}))


if __name__ == "__main__":
    main()
