"""What takes names, a condition or a function refuses expressions of dataframe libraries, and says what to write."""

import itertools
from collections.abc import Callable
from typing import Any

import narwhals as nw
import narwhals.selectors as ncs
import pandas as pd
import polars as pl
import polars.selectors as pls
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from penstock import stages as st
from penstock.core import selectors
from penstock.errors import ConfigError, SchemaError

TABLE = pa.table({"x": [1, 2, None], "y": [1.0, 2.0, 3.0], "c": ["a", "b", "c"]})
DATA = ps.LocalEngine(device="cpu").from_arrow(TABLE)


def dask_series() -> Any:
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(pd.DataFrame({"x": [1, 2]}), npartitions=1)["x"] > 0


EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "narwhals": lambda: nw.col("x") > 0,
    "narwhals selector": ncs.numeric,
    "polars": lambda: pl.col("x") > 0,
    "polars selector": pls.numeric,
    "pandas": lambda: pd.Series([1, 2, None]) > 0,
    "pyarrow": lambda: pc.field("x") > 0,
    "dask": dask_series,
    "number": lambda: 3,
}

NAMES: dict[str, Callable[[Any], Any]] = {
    "columns of a stage": st.StandardScaler,
    "list of columns": lambda given: st.Imputer(["x", given]),
    "output_columns": lambda given: st.Imputer("x", output_columns=[given]),
    "features": lambda given: st.LinearRegression("y", features=given),
    "label": lambda given: ps.Pipeline(st.LinearRegression(given)).plan(DATA),
    "select": lambda given: DATA.select("x", given),
    "lag": lambda given: DATA.lag(given, by="c", order_by="y"),
    "lag by": lambda given: DATA.lag("x", by=given, order_by="y"),
    "query order_by": lambda given: DATA.engine.query(lambda frame: frame, DATA, order_by=given),
    "selector": lambda given: selectors.numeric() - given,
    "evaluator": lambda given: ps.evaluate(DATA, [st.RegressionEvaluator(label=given, prediction="y")]),
    "features of an evaluator": lambda given: st.ClusteringEvaluator(features=[given]),
    "slices": lambda given: ps.evaluate(DATA, [st.RegressionEvaluator(label="y", prediction="y")], slices=[given]),
    "predict": lambda given: ps.Pipeline(st.Imputer("x")).fit(DATA).predict({"x": 1}, columns=given),
}


def test_an_expression_is_no_name_of_a_column(subtests):
    for take, library in itertools.product(NAMES, ("narwhals", "polars selector", "dask")):
        with subtests.test(take, library=library):
            with pytest.raises(ConfigError, match="expected strings") as caught:
                NAMES[take](EXPRESSIONS[library]())
            assert 'Write "x"' in str(caught.value.hint)


def test_an_expression_is_no_condition_of_a_rule_and_no_function_of_frames(subtests):
    takes = {
        "map_partitions": lambda given: DATA.map_partitions(given, DATA.schema),
        "query": lambda given: DATA.engine.query(given, DATA),
    }
    for library, make in EXPRESSIONS.items():
        with subtests.test(library):
            with pytest.raises(ConfigError, match="expected text") as caught:
                st.Expect(make())
            assert '"x > 0"' in str(caught.value.hint)
            assert caught.value.place["stage"] == "Expect"
            for call, take in takes.items():
                with pytest.raises(ConfigError, match=f"{call} takes a function of frames"):
                    take(make())


def test_only_an_expression_of_narwhals_filters(subtests):
    other = {"text": lambda: "x > 0", "list": lambda: [True, False, True]}
    for name, make in (EXPRESSIONS | other).items():
        if not name.startswith("narwhals"):
            with subtests.test(name):
                with pytest.raises(ConfigError, match="expected an expression of Narwhals") as caught:
                    DATA.filter(make())
                assert 'nw.col("x") > 0' in str(caught.value.hint)


def test_a_filter_is_by_one_boolean():
    for condition in (nw.col("x"), nw.col("x") + 1, ncs.numeric(), ncs.numeric() > 0):
        with pytest.raises(SchemaError, match="expected one Boolean"):
            DATA.filter(condition)


def test_a_rule_in_text_and_a_filter_of_narwhals_keep_the_same_rows():
    rule = ps.Pipeline(st.Expect("x > 1", action="drop")).fit(DATA).transform(DATA).to_arrow()
    assert rule.equals(DATA.filter(nw.col("x") > 1).to_arrow())
    assert rule["x"].to_pylist() == [2]


def test_columns_are_selected_by_a_selector_or_a_list_too():
    for chosen in (selectors.numeric(), ["x", "y"], ("x", "y")):
        assert DATA.select(chosen).columns == DATA.select("x", "y").columns == ["x", "y"]
