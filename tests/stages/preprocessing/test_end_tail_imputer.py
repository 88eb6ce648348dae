"""EndTailImputer against pandas and NumPy: the closed forms of feature-engine's documentation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import EndTailImputer, StandardScaler

RNG = np.random.default_rng(12)
X = pa.array(RNG.lognormal(size=1001), mask=RNG.random(1001) < 0.2)
KNOWN = pd.Series(X.drop_null().to_numpy())


def quartile(q):
    return np.quantile(KNOWN, q, method="inverted_cdf")


RANGE = quartile(0.75) - quartile(0.25)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, KNOWN.mean() + 3 * KNOWN.std()),
        ({"fold": 2}, KNOWN.mean() + 2 * KNOWN.std()),
        ({"tail": "left"}, KNOWN.mean() - 3 * KNOWN.std()),
        ({"imputation_method": "iqr"}, quartile(0.75) + 3 * RANGE),
        ({"imputation_method": "iqr", "tail": "left", "fold": 1.5}, quartile(0.25) - 1.5 * RANGE),
        ({"imputation_method": "max"}, 3 * KNOWN.max()),
    ],
)
def test_what_is_put_in_is_pandas_end_of_the_tail(learn, parameters, expected):
    _, fitted = learn(EndTailImputer("x", **parameters), pa.table({"x": X}))
    assert fitted["values"] == {"x": pytest.approx(expected, rel=1e-13)}


def test_nulls_alone_are_replaced(apply):
    made = apply(EndTailImputer("x"), pa.table({"x": X}))["x"]
    expected = pd.Series(X.to_numpy(zero_copy_only=False)).fillna(KNOWN.mean() + 3 * KNOWN.std())
    np.testing.assert_allclose(made.to_numpy(), expected, rtol=1e-13)


def test_a_deviation_at_a_large_offset_is_exact(apply):
    made = apply(EndTailImputer("x", fold=1), pa.table({"x": [1e8, 1e8 + 2, None]}))
    assert made["x"][2].as_py() == 1e8 + 1 + math.sqrt(2)


@pytest.mark.parametrize("method", ["gaussian", "iqr", "max"])
@pytest.mark.parametrize("rows", [[7, None], [7, 7, 7, 7, None]])
def test_values_that_do_not_vary_have_no_tail(apply, method, rows):
    fold = {"fold": 1} if method == "max" else {}
    assert apply(EndTailImputer("x", imputation_method=method, **fold), pa.table({"x": rows}))["x"][-1].as_py() == 7.0


@pytest.mark.parametrize("method", ["gaussian", "iqr", "max"])
def test_what_is_learned_does_not_depend_on_partitions(learn, method):
    table, stage = pa.table({"x": X}), EndTailImputer("x", imputation_method=method)
    parts = [table.slice(0, 0), table.slice(0, 300), table.slice(300, 1), table.slice(301)]
    cut, whole = (learn(stage, *tables)[1]["values"]["x"] for tables in (parts, [table]))
    assert cut == pytest.approx(whole, rel=1e-14)


@pytest.mark.parametrize(
    ("kind", "made"),
    [(pa.float32(), pa.float32()), (pa.float64(), pa.float64()), (pa.int8(), pa.float64()), (pa.bool_(), pa.float64())],
)
def test_a_floating_column_keeps_its_type(apply, kind, made):
    table = pa.table({"x": pa.array([0, 1, 0, None], pa.int8()).cast(kind)})
    assert apply(EndTailImputer("x"), table).schema.field("x").type == made


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize(("tail", "method"), [("left", "iqr"), ("right", "iqr"), ("right", "max")])
def test_an_end_beyond_the_type_is_its_largest_number(learn, kind, tail, method):
    largest = float(np.finfo(kind.to_pandas_dtype()).max)
    table = pa.table({"x": pa.array([-largest, -largest, largest, largest, None], kind)})
    bound, fitted = learn(EndTailImputer("x", imputation_method=method, tail=tail), table)
    expected = largest if tail == "right" else -largest
    assert bound.transform(frames.from_arrow(table), fitted)["x"].to_list()[-1] == expected
    assert bound.value_function("x", kind, fitted)(None) == expected


def test_an_infinity_after_the_fit_stays(learn):
    bound, fitted = learn(EndTailImputer("x"), pa.table({"x": [1.0, 2.0, 3.0]}))
    later = frames.from_arrow(pa.table({"x": [math.inf, None]}))
    assert bound.transform(later, fitted)["x"].to_list() == [math.inf, 5.0]


@pytest.mark.parametrize("method", ["gaussian", "iqr", "max"])
def test_an_infinity_is_refused_at_fit_with_its_file_and_row(local, tmp_path, method):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, math.inf]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match="column 'x' has 1 values that are infinite") as caught:
        ps.Pipeline(EndTailImputer("x", imputation_method=method)).fit(data)
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


@pytest.mark.parametrize("method", ["gaussian", "iqr", "max"])
def test_nothing_is_learned_of_nulls(learn, method):
    with pytest.raises(DataValueError, match="column 'x' has no value: all of its 3 rows are null"):
        learn(EndTailImputer("x", imputation_method=method), pa.table({"x": pa.nulls(3, pa.float64())}))


@pytest.mark.parametrize("method", ["gaussian", "iqr", "max"])
def test_it_takes_part_in_the_scan_of_others(local, method):
    stages = EndTailImputer("x", imputation_method=method), StandardScaler("y")
    data = local.from_arrow(pa.table({"x": [1.0, None], "y": [1.0, 2.0]}))
    assert "scan 2" not in ps.Pipeline(*stages).explain(data)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"imputation_method": "mean"}, "imputation_method of EndTailImputer is 'mean', expected one of gaussian, iqr"),
        ({"tail": "both"}, "tail of EndTailImputer is 'both', expected one of right, left"),
        ({"fold": 0}, "fold of EndTailImputer is 0, expected a number > 0"),
        ({"fold": math.inf}, "fold of EndTailImputer is inf, expected a number > 0"),
        ({"imputation_method": "max", "tail": "left"}, "tail of EndTailImputer is 'left', which .* 'max' does not"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        EndTailImputer("x", **parameters)


def test_strings_are_refused():
    with pytest.raises(SchemaError, match="column 's' is string, but EndTailImputer takes numeric columns"):
        EndTailImputer("s").bind(pa.schema({"s": pa.string()}))
