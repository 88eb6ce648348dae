"""StandardScaler against scikit-learn and closed forms."""

from __future__ import annotations

import math
import pickle

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.preprocessing

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import StandardScaler

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_agrees_with_scikit_learn_up_to_the_sample_deviation(apply, with_mean, with_std):
    x = RNG.normal(3, 2, 1000)
    made = apply(StandardScaler("x", with_mean=with_mean, with_std=with_std), pa.table({"x": x}))
    oracle = sklearn.preprocessing.StandardScaler(with_mean=with_mean, with_std=with_std).fit_transform(x[:, None])[
        :, 0
    ]
    to_sample = math.sqrt(999 / 1000) if with_std else 1.0  # scikit-learn divides by n, MLlib and this by n - 1
    np.testing.assert_allclose(made["x"].to_numpy(), oracle * to_sample, rtol=1e-12, atol=1e-13)


def test_a_large_mean_costs_no_accuracy(apply):
    x = 1e8 + np.tile([-1.0, 0.0, 1.0], 1000)
    made = apply(StandardScaler("x"), pa.table({"x": x[:1500]}), pa.table({"x": x[1500:]}))
    scale = math.sqrt(2000 / 2999)
    np.testing.assert_allclose(made["x"].to_numpy(), (x[:1500] - 1e8) / scale, rtol=1e-12)


def test_integers_near_the_largest_do_not_overflow(apply):
    x = [2**62, 2**62 + 2**40]
    made = apply(StandardScaler("x"), pa.table({"x": x}))["x"].to_pylist()
    np.testing.assert_allclose(made, [-math.sqrt(0.5), math.sqrt(0.5)], rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1, -1e-300])
def test_a_constant_column_becomes_zero(apply, value):
    tables = [pa.table({"x": [value] * 777}), pa.table({"x": [value] * 3})]
    assert set(apply(StandardScaler("x"), *tables)["x"].to_pylist()) == {0.0}


def test_a_column_that_varies_in_its_last_digit_is_not_constant(apply):
    x = [1.0, np.nextafter(1.0, 2.0)]
    made = apply(StandardScaler("x"), pa.table({"x": x}))["x"].to_pylist()
    assert made[0] < made[1]


def test_one_row_becomes_zero(apply):
    assert apply(StandardScaler("x"), pa.table({"x": [5.0]}))["x"].to_pylist() == [0.0]


def test_a_null_stays_null_and_counts_for_nothing(apply):
    made = apply(StandardScaler("x"), pa.table({"x": [1.0, None, 3.0]}))
    np.testing.assert_allclose(made["x"].drop_null().to_numpy(), [-math.sqrt(0.5), math.sqrt(0.5)], rtol=1e-15)
    assert made["x"][1].as_py() is None


def test_a_null_stays_null_in_a_constant_column(apply):
    assert apply(StandardScaler("x"), pa.table({"x": [2, None, 2]}))["x"].to_pylist() == [0.0, None, 0.0]


@pytest.mark.parametrize("with_mean", [True, False])
def test_no_nan_comes_of_an_infinity_after_the_fit(learn, with_mean):
    bound, fitted = learn(StandardScaler(["x", "c"], with_mean=with_mean), pa.table({"x": [1.0, 2.0], "c": [3.0, 3.0]}))
    new = frames.from_arrow(pa.table({"x": [-math.inf], "c": [math.inf]}))
    assert bound.transform(new, fitted).rows() == [(-math.inf, 0.0)]


def test_booleans_are_zero_and_one(apply):
    made = apply(StandardScaler("x"), pa.table({"x": [True, False]}))["x"].to_pylist()
    np.testing.assert_allclose(made, [math.sqrt(0.5), -math.sqrt(0.5)], rtol=1e-15)


def test_an_empty_partition_changes_nothing(learn):
    x = pa.table({"x": [1.0, 2.0, 4.0]})
    _, whole = learn(StandardScaler("x"), x)
    _, cut = learn(StandardScaler("x"), x.slice(0, 0), x.slice(0, 2), x.slice(0, 0), x.slice(2))
    assert cut["mean"] == pytest.approx(whole["mean"], rel=1e-15)
    assert cut["scale"] == pytest.approx(whole["scale"], rel=1e-15)


def test_fitted_state_of_partitions_emptied_by_a_filter_is_that_of_the_rows_left(local):
    table = pa.table({"x": [1.0, 2.0, 50.0, 60.0, 4.0]})
    parts = local.from_arrow(table, fragment_bytes=16)
    assert len(parts.fragments) > 2
    kept = ps.Pipeline(StandardScaler("x")).fit(parts.filter(nw.col("x") < 10))
    assert kept.fitted[0]["mean"]["x"] == pytest.approx(7 / 3, rel=1e-15)
    assert kept.fitted[0]["scale"]["x"] == pytest.approx(np.std([1, 2, 4], ddof=1), rel=1e-15)


def test_a_column_of_nulls_is_refused_with_its_rows(learn):
    with pytest.raises(DataValueError, match=r"column 'x' has no value: all of its 3 rows are null") as caught:
        learn(StandardScaler("x"), pa.table({"x": pa.nulls(3, pa.float64())}))
    assert (caught.value.column, caught.value.rows) == ("x", 3)


def test_an_infinity_is_refused_at_fit_with_its_file_and_row(local, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, math.inf, -math.inf]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match=r"column 'x' has 2 values that are infinite") as caught:
        ps.Pipeline(StandardScaler("x")).fit(data)
    assert str(caught.value.path).endswith("b.parquet")
    assert caught.value.row == 1


def test_a_string_column_is_refused_before_reading():
    with pytest.raises(SchemaError, match=r"column 's' is string, but StandardScaler takes numeric columns"):
        StandardScaler("s").bind(pa.schema({"s": pa.string()}))


def test_as_many_output_columns_as_columns_are_asked_for():
    with pytest.raises(ConfigError, match="2 columns but 1 output_columns"):
        StandardScaler(["a", "b"], output_columns=["c"]).bind(pa.schema({"a": pa.int64(), "b": pa.int64()}))


def test_output_columns_leave_the_inputs_alone(apply):
    made = apply(StandardScaler("x", output_columns=["z"]), pa.table({"x": [1.0, 1.0]}))
    assert made.to_pydict() == {"x": [1.0, 1.0], "z": [0.0, 0.0]}


def test_parameters_and_pickle_round_trip():
    stage = StandardScaler(["a", "b"], with_mean=False, output_columns=["c", "d"])
    assert StandardScaler.from_parameters(stage.parameters()) == stage
    assert pickle.loads(pickle.dumps(stage)) == stage


def test_an_unknown_parameter_is_named_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no parameter 'with_sdt'. Did you mean 'with_std'\?"):
        StandardScaler.from_parameters({"columns": ["a"], "with_sdt": True})
