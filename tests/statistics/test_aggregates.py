"""Sums that are the same to the bit whatever adds them."""

import os
import subprocess
import sys

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from penstock.statistics.aggregates import aggregate, sums

SUMMARIES = """
import numpy as np, pyarrow as pa
from penstock import frames
from penstock.statistics import BinaryCurve, Moments, Quantiles, RegressionErrors

rng = np.random.default_rng(0)
rows = 300_000
columns = {"x": rng.exponential(size=rows), "y": np.round(rng.normal(size=rows), 1), "w": rng.exponential(size=rows)}
frame = frames.from_arrow(pa.table({**columns, "b": rng.integers(0, 2, rows)}))
print(Moments(("x", "y")).summarise(frame))
print(RegressionErrors(("x", "y", "w")).summarise(frame))
binary, quantiles = BinaryCurve(("y", "b", "w")), Quantiles(("x",))
curve = binary.finish(binary.summarise(frame))
print(curve.positives.tolist(), curve.negatives.tolist())
print(quantiles.finish(quantiles.summarise(frame))["x"].values.tolist()[::1000])
"""


def summaries(threads):
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    return subprocess.run([sys.executable, "-c", SUMMARIES], env=environment, capture_output=True, check=True).stdout


def frame(data):
    return nw.from_native(pl.DataFrame(data), eager_only=True)


@pytest.mark.thorough
def test_summaries_are_equal_to_the_bit_for_any_number_of_threads():
    assert summaries(1) == summaries(3)


def test_sums_do_not_depend_on_chunks():
    values = np.random.default_rng(0).exponential(size=10_000)
    chunked = pl.concat([pl.DataFrame({"x": part}) for part in np.array_split(values, 7)], rechunk=False)
    one = sums(frame({"x": values}), {"x": nw.col("x")})
    assert sums(nw.from_native(chunked, eager_only=True), {"x": nw.col("x")}) == one


def test_sums_leave_nulls_out():
    assert sums(frame({"x": [0.5, None, 1.0]}), {"a": nw.col("x"), "b": 2 * nw.col("x")}) == {"a": 1.5, "b": 3.0}


@pytest.mark.parametrize("values", [[], [None, None]])
def test_the_sum_of_nothing_is_zero(values):
    assert sums(frame({"x": pl.Series(values, dtype=pl.Float64)}), {"x": nw.col("x")}) == {"x": 0.0}


def test_aggregates_keep_their_keys_and_types():
    wanted = {("x", 1): nw.col("x").min(), ("s", 1): nw.col("s").max(), ("x", 2): nw.col("x").null_count()}
    found = aggregate(frame({"x": [2**53 + 1, None], "s": ["a", "b"]}), wanted)
    assert found == {("x", 1): 2**53 + 1, ("s", 1): "b", ("x", 2): 1}
