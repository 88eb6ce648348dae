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
import hashlib
import numpy as np, pyarrow as pa
from penstock import frames
from penstock.statistics import BinaryCurve, Confusion, Gram, Moments, Quantiles, RegressionErrors

rng = np.random.default_rng(0)
rows = 200_000
columns = {"x": rng.exponential(size=rows), "y": np.round(rng.normal(size=rows), 1), "w": rng.exponential(size=rows)}
frame = frames.from_arrow(pa.table({**columns, "b": rng.integers(0, 2, rows), "c": rng.integers(0, 3, rows)}))
print(Moments(("x", "y")).summarise(frame))
print(RegressionErrors(("x", "y", "w")).summarise(frame))
binary, quantiles, confusion = BinaryCurve(("y", "b", "w")), Quantiles(("x",)), Confusion(("b", "c", "w"))
curve = binary.finish(binary.summarise(frame))
print(curve.positives.tolist(), curve.negatives.tolist())
print(quantiles.finish(quantiles.summarise(frame))["x"].values.tolist()[::1000])
print(confusion.finish(confusion.summarise(frame)).weight.tolist())
for rows, columns in ((20011, 21), (3000, 150)):
    values = rng.exponential(size=(rows, columns))
    frame = frames.from_arrow(pa.table({str(place): values[:, place] for place in range(columns)}))
    for weighted in (False, True):
        state = Gram(tuple(frame.columns), weighted=weighted).summarise(frame)
        for name in ("columns", "cross"):
            print("gram", hashlib.sha256(state[name].to_pandas().to_numpy().tobytes()).hexdigest())
"""


def summaries(threads):
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, str(threads)), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", SUMMARIES], env=environment, stdout=subprocess.PIPE, text=True)


def frame(data):
    return nw.from_native(pl.DataFrame(data), eager_only=True)


@pytest.mark.thorough
def test_summaries_are_equal_to_the_bit_for_any_number_of_threads():
    one, other = (run.communicate(timeout=240)[0] for run in [summaries(threads) for threads in (1, 5)])
    assert one.count("gram") == 8
    assert one == other


def test_sums_do_not_depend_on_chunks():
    values = np.random.default_rng(0).exponential(size=10_000)
    chunked = pl.concat([pl.DataFrame({"x": part}) for part in np.array_split(values, 7)], rechunk=False)
    one = sums(frame({"x": values}), {"x": nw.col("x")})
    assert sums(nw.from_native(chunked, eager_only=True), {"x": nw.col("x")}) == one


def test_aggregates_keep_their_keys_and_types():
    wanted = {("x", 1): nw.col("x").min(), ("s", 1): nw.col("s").max(), ("x", 2): nw.col("x").null_count()}
    found = aggregate(frame({"x": [2**53 + 1, None], "s": ["a", "b"]}), wanted)
    assert found == {("x", 1): 2**53 + 1, ("s", 1): "b", ("x", 2): 1}
