"""Log1p against NumPy."""

from __future__ import annotations

import math
import pickle

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.errors import DataValueError, SchemaError
from penstock.stages import Clip, Log1p

RNG = np.random.default_rng(3)
VALUES = np.concatenate(
    [
        np.logspace(-320, 308, 5000),
        -np.logspace(-320, -1e-9, 5000),
        RNG.uniform(-0.999, 3, 5000),
        [0.0, 2.0**53, 2.0**53 - 1, np.nextafter(-1.0, 0.0)],
    ]
)


def test_agrees_with_numpy_to_the_last_digits_at_every_magnitude(apply):
    made = apply(Log1p("x"), pa.table({"x": VALUES}))["x"].to_numpy()
    np.testing.assert_allclose(made, np.log1p(VALUES), rtol=4e-16, atol=0)


def test_another_library_gives_the_same():
    frame = nw.from_native(pd.DataFrame({"x": VALUES}), eager_only=True)
    made = Log1p("x").bind(pa.schema({"x": pa.float64()})).transform(frame, {})["x"].to_numpy()
    np.testing.assert_allclose(made, np.log1p(VALUES), rtol=4e-16, atol=0)


def test_integers_and_booleans_become_float64(apply):
    made = apply(Log1p(["i", "b"]), pa.table({"i": pa.array([2**62, 0], pa.int64()), "b": [True, False]}))
    assert made["i"].to_pylist() == [pytest.approx(62 * math.log(2), rel=1e-15), 0.0]
    assert made["b"].to_pylist() == [pytest.approx(math.log(2), rel=1e-15), 0.0]


def test_null_and_infinity_pass_through(apply):
    assert apply(Log1p("x"), pa.table({"x": [None, math.inf]}))["x"].to_pylist() == [None, math.inf]


def test_an_empty_partition_works(apply):
    assert apply(Log1p("x"), pa.table({"x": pa.array([], pa.int64())})).num_rows == 0


def test_values_without_a_logarithm_are_refused_with_column_and_count(apply):
    with pytest.raises(DataValueError, match=r"column 'y' has 2 values of -1 or less") as caught:
        apply(Log1p(["x", "y"]), pa.table({"x": [0.0, 1.0, 2.0], "y": [-1.0, 0.0, -math.inf]}))
    assert "Clip('y', lower=0)" in str(caught.value)


def test_a_value_without_a_logarithm_is_found_in_its_file(local, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, 4.0, -2.0]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    model = ps.Pipeline(Log1p("x")).fit(local.read_parquet(tmp_path / "a.parquet"))
    with pytest.raises(DataValueError, match="1 values of -1 or less") as caught:
        model.transform(data).to_arrow()
    assert str(caught.value.path).endswith("b.parquet")
    assert (caught.value.row, caught.value.stage) == (2, "Log1p")


def test_clip_before_it_is_the_way_out(local):
    data = local.from_arrow(pa.table({"x": [-5.0, math.e - 1]}))
    model = ps.Pipeline(Clip("x", lower=0), Log1p("x")).fit(data)
    assert model.transform(data).to_arrow()["x"].to_pylist() == [0.0, pytest.approx(1.0, rel=1e-15)]


def test_a_string_column_is_refused_before_reading():
    with pytest.raises(SchemaError, match="column 's' is string, but Log1p takes numeric columns"):
        Log1p("s").bind(pa.schema({"s": pa.string()}))


def test_parameters_and_pickle_round_trip():
    stage = Log1p("x", output_columns=["y"])
    assert Log1p.from_parameters(stage.parameters()) == stage
    assert pickle.loads(pickle.dumps(stage)) == stage
