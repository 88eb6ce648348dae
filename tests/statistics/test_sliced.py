"""Statistics of slices are those of the rows of each slice alone."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.errors import DataValueError
from penstock.statistics import Moments
from penstock.statistics.counts import RowCount
from penstock.statistics.grouped import slices
from penstock.statistics.grouped.slices import MOST, Sliced

DRAW = np.random.default_rng(5)
TABLE = pa.table(
    {
        "country": pa.array(DRAW.choice(["FR", "DE", None], 90).tolist()),
        "mobile": pa.array(DRAW.choice([True, False, None], 90).tolist()),
        "x": DRAW.normal(size=90),
    }
)


def found(by, parts, table=TABLE):
    places = np.linspace(0, table.num_rows, parts + 1).astype(int)[1:-1]
    return gathered(Sliced.of(by, [RowCount(), Moments(("x",))]), *cut(table, *places))


@pytest.mark.parametrize("by", [["country"], ["country", "mobile"]])
def test_each_slice_has_the_statistics_of_its_rows(by):
    rows = TABLE.to_pylist()
    results = found(by, 4)
    assert set(results) == {tuple(row[name] for name in by) for row in rows}
    for key, (count, moments) in results.items():
        values = [row["x"] for row in rows if tuple(row[name] for name in by) == key]
        assert count == len(values)
        assert moments["x"].mean == pytest.approx(np.mean(values), rel=1e-12)
        assert moments["x"].m2 == pytest.approx(np.var(values) * len(values), rel=1e-12)


def test_no_rows_have_no_slices():
    assert found(["country"], 1, TABLE.slice(0, 0)) == {}


def test_dates_and_integers_are_slices():
    days = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), None]
    table = pa.table({"day": days, "hour": pa.array([1, 1, 1], pa.int8()), "x": [1.0, 2.0, 3.0]})
    assert set(found(["day", "hour"], 2, table)) == {(day, 1) for day in days}


@pytest.mark.parametrize("parts", [1, 2])
def test_more_slices_than_anyone_reads_are_refused(monkeypatch, parts):
    assert MOST == 1000
    monkeypatch.setattr(slices, "MOST", 9)
    table = pa.table({"id": range(10), "x": [0.0] * 10})
    with pytest.raises(DataValueError, match=r"'id' have 10 or more values") as caught:
        found(["id"], parts, table)
    assert caught.value.column == "id"
    assert len(found(["id"], parts, table.slice(1))) == 9
