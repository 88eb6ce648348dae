"""Smallest and largest values of every type."""

import datetime as dt

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

from penstock import frames
from penstock.statistics import Extreme, Extremes


def extreme(*columns):
    extremes = Extremes(("x",))
    states = [extremes.summarise(frames.from_arrow(pa.table({"x": column}))) for column in columns]
    return extremes.finish(extremes.merge(states))["x"]


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (-(2**63), 2**63 - 1, pa.int64()),
        (-1.5, float("inf"), pa.float64()),
        ("Z", "a", pa.string()),
        (False, True, pa.bool_()),
        (dt.date(1969, 7, 20), dt.date(2040, 1, 1), pa.date32()),
        (pa.scalar(0, pa.timestamp("ns")).as_py(), pa.scalar(1, pa.timestamp("ns")).as_py(), pa.timestamp("ns")),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1), pa.timestamp("us")),
    ],
)
def test_extremes_keep_the_type_of_the_column(low, high, kind):
    assert extreme(pa.array([high, None], kind), pa.array([None], kind), pa.array([low], kind)) == Extreme(low, high)


def test_strings_are_ordered_by_their_bytes():
    # U+FF21 sorts after U+1F600 by UTF-16 units, before it by UTF-8 bytes.
    assert extreme(pa.array(["\N{FULLWIDTH LATIN CAPITAL LETTER A}"]), pa.array(["\U0001f600", "z"])) == Extreme(
        "z", "\U0001f600"
    )


@pytest.mark.parametrize("column", [pa.array([], pa.int64()), pa.nulls(2), pa.array([None], pa.string())])
def test_without_values_there_are_no_extremes(column):
    assert extreme(column, column) == Extreme(None, None)


def test_columns_do_not_mix():
    extremes = Extremes(("a", "b"))
    state = extremes.summarise(frames.from_arrow(pa.table({"a": [1, 2], "b": ["x", "y"]})))
    assert extremes.finish(state) == {"a": Extreme(1, 2), "b": Extreme("x", "y")}


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.date32()])
def test_a_partition_of_nulls_keeps_its_type_in_pandas(kind):
    extremes = Extremes(("x",))
    nulls = pd.DataFrame({"x": pd.Series([None], dtype=pd.ArrowDtype(kind))})
    state = extremes.summarise(nw.from_native(nulls, eager_only=True))
    assert state["x"].schema.types == [kind, kind]
