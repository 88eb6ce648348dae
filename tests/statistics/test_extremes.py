"""Smallest and largest values of every type."""

import datetime as dt

import pyarrow as pa
from gathering import gathered

from penstock.statistics import Extreme, Extremes


def extreme(*columns):
    return gathered(Extremes(("x",)), *({"x": column} for column in columns))["x"]


def test_extremes_keep_the_type_of_the_column(subtests):
    for low, high, kind in [
        (-(2**63), 2**63 - 1, pa.int64()),
        (-1.5, float("inf"), pa.float64()),
        ("Z", "a", pa.string()),
        (False, True, pa.bool_()),
        (dt.date(1969, 7, 20), dt.date(2040, 1, 1), pa.date32()),
        (pa.scalar(0, pa.timestamp("ns")).as_py(), pa.scalar(1, pa.timestamp("ns")).as_py(), pa.timestamp("ns")),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1), pa.timestamp("us")),
    ]:
        with subtests.test(kind=kind):
            columns = (pa.array(values, kind) for values in ([high, None], [None], [low]))
            assert extreme(*columns) == Extreme(low, high)


def test_strings_are_ordered_by_their_bytes():
    # U+FF21 sorts after U+1F600 by UTF-16 units, before it by UTF-8 bytes.
    assert extreme(pa.array(["\N{FULLWIDTH LATIN CAPITAL LETTER A}"]), pa.array(["\U0001f600", "z"])) == Extreme(
        "z", "\U0001f600"
    )


def test_without_values_there_are_no_extremes():
    for column in (pa.array([], pa.int64()), pa.nulls(2), pa.array([None], pa.string())):
        assert extreme(column, column) == Extreme(None, None)
