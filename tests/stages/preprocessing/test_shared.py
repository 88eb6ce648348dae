"""Preprocessing stages in common: invalid columns, parameters and values."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError

FLOATS = pa.schema(dict.fromkeys(["a", "b", "c", "d"], pa.float64()))


def test_a_column_of_another_type_is_refused_before_reading(subtests):
    schema = pa.schema({"s": pa.string(), "i": pa.int64(), "x": pa.float64(), "l": pa.list_(pa.int64())})
    for stage, told in [
        (st.StandardScaler("s"), "column 's' is string, but StandardScaler takes numeric columns"),
        (st.Tokenizer("i"), "column 'i' is int64, but Tokenizer takes string columns"),
        (st.StringIndexer("x"), "column 'x' is double, but StringIndexer takes categorical columns"),
        (st.NGram("l"), "column 'l' is list<.*int64.*>, but NGram takes string list columns"),
        (st.HaversineDistance("x", "x", "x", "s"), "column 's' is string, but HaversineDistance takes numeric columns"),
    ]:
        with subtests.test(stage=stage), pytest.raises(SchemaError, match=told):
            stage.bind(schema)


def test_a_column_that_is_there_is_not_overwritten_by_one_that_is_added(subtests):
    for stage, name in [
        (st.CyclicalEncoder("a", period=7), "a_cos"),
        (st.PCA("a", 1), "pca_0"),
        (st.PolynomialExpansion("a"), "a^2"),
        (st.Interaction(["a", "b"]), "a:b"),
        (st.HaversineDistance("a", "b", "c", "d"), "distance"),
        (st.MissingIndicator("a"), "a_missing"),
    ]:
        told = f"{stage.title} adds {name!r}, but there is a column of that name".replace("^", r"\^")
        with subtests.test(stage=stage), pytest.raises(ConfigError, match=told):
            stage.bind(FLOATS.append(pa.field(name, pa.int64())))


def test_a_parameter_has_one_value_or_as_many_as_there_are_columns(subtests):
    for stage, name in [
        (st.Binarizer("a", threshold=[1, 2]), "threshold"),
        (st.Bucketizer("a", splits=[[0, 1, 2], [0, 1, 2]]), "splits"),
        (st.CyclicalEncoder("a", period=[7, 24]), "period"),
        (st.KBinsDiscretizer("a", n_bins=[2, 3]), "n_bins"),
        (st.QuantileDiscretizer("a", num_buckets=[2, 3]), "num_buckets"),
    ]:
        told = f"{name} of {stage.title} has 2 values for 1 columns"
        with subtests.test(stage=stage), pytest.raises(ConfigError, match=told):
            stage.bind(FLOATS)


def test_as_many_output_columns_as_columns_are_asked_for():
    with pytest.raises(ConfigError, match="2 columns but 1 output_columns"):
        st.StandardScaler(["a", "b"], output_columns=["c"]).bind(FLOATS)


def test_an_unknown_parameter_is_named_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no parameter 'with_sdt'. Did you mean 'with_std'\?"):
        st.StandardScaler.from_parameters({"columns": ["a"], "with_sdt": True})


def test_a_column_of_nulls_is_refused_with_its_rows(learn):
    with pytest.raises(DataValueError, match="column 'x' has no value: all of its 3 rows are null") as caught:
        learn(st.StandardScaler("x"), pa.table({"x": pa.nulls(3, pa.float64())}))
    assert (caught.value.column, caught.value.rows) == ("x", 3)


def test_an_infinity_is_refused_at_fit_with_its_file_and_row(local, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, float("inf"), -float("inf")]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match="column 'x' has 2 values that are infinite") as caught:
        ps.Pipeline(st.StandardScaler("x")).fit(data)
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


def test_a_range_that_overflows_is_refused(learn, subtests):
    told = r"column 'x' reaches from -1.7e\+308 to 1.7e\+308, a range that float64"
    for stage in (st.KBinsDiscretizer("x"), st.MinMaxScaler("x"), st.RobustScaler("x"), st.QuantileTransformer("x")):
        with subtests.test(stage=stage), pytest.raises(DataValueError, match=told):
            learn(stage, pa.table({"x": [-1.7e308, 0.0, 1.7e308]}))
