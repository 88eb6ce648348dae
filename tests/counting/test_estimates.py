"""Estimates of distinct values of whole columns from samples, against how many there are."""

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penstock.engines.local import LocalEngine
from penstock.errors import DataValueError
from penstock.pipeline.cardinality import estimates
from penstock.pipeline.cardinality.estimates import extrapolated
from penstock.statistics.distinct.hyperloglog import Distinct

ROWS = 400_000
RNG = np.random.default_rng(5)


@pytest.fixture
def small(monkeypatch):
    """Samples of 16,000 rows."""
    monkeypatch.setattr(estimates, "_LEAST", 16_000)


def estimate(column, engine=None, fragments=10, steps=lambda dataset: dataset):
    table = pa.table({"x": column})
    width = 28 if not pa.types.is_integer(column.type) else 8
    engine = engine or LocalEngine(device="cpu")
    dataset = steps(engine.from_arrow(table, fragment_bytes=width * len(column) // fragments))
    return estimates.estimates(dataset, {len(dataset.steps): ["x"]})[len(dataset.steps), "x"]


def test_values_that_the_sample_has_all_of_are_counted(small):
    for distinct in (3, 100, 1000):
        found = estimate(pa.array(RNG.integers(0, distinct, ROWS)))
        assert found.distinct == pytest.approx(distinct, rel=0.1)
        assert found.at_least <= distinct * 1.02


@pytest.mark.thorough
def test_a_column_of_different_values_is_known_for_one(small):
    for values in (RNG.permutation(ROWS), np.arange(ROWS)):
        found = estimate(pa.array([f"key {value}" for value in values]))
        assert found.distinct == found.at_least == ROWS
        assert found.width == pytest.approx(4 + 4 + 6, abs=0.5)


def test_the_truth_lies_between_what_is_told(small):
    for distinct in (5_000, 20_000, 100_000):
        found = estimate(pa.array(RNG.integers(0, distinct, ROWS)))
        real = distinct * (1 - np.exp(-ROWS / distinct))
        assert found.at_least <= real * 1.01
        assert real * 0.99 <= found.distinct <= ROWS
        assert found.at_least > real / 2


def test_values_of_a_long_tail_are_not_taken_for_too_few(small):
    values = RNG.zipf(1.3, ROWS)
    real = len(np.unique(values))
    found = estimate(pa.array(values))
    assert found.at_least <= real
    assert real * 0.8 <= found.distinct <= real * 2


def test_sorted_values_are_estimated_as_scattered_ones_are(small):
    found = estimate(pa.array(np.sort(RNG.integers(0, 50_000, ROWS))))
    assert found.distinct > 40_000


def test_nulls_are_no_values(small):
    found = estimate(pa.array(np.arange(ROWS), mask=np.arange(ROWS) % 4 > 0))
    assert found.distinct == pytest.approx(ROWS / 4, rel=0.02)
    assert estimate(pa.nulls(ROWS, pa.string())).distinct == 0


def test_rows_that_a_filter_leaves_out_do_not_count(small):
    found = estimate(pa.array(np.arange(ROWS)), steps=lambda dataset: dataset.filter(nw.col("x") % 10 == 0))
    assert found.distinct == pytest.approx(ROWS / 10, rel=0.02)


def test_engines_find_the_same(distributed_engine, small):
    column = pa.array(np.arange(ROWS) * 7919 % 30_011)
    assert estimate(column, distributed_engine) == estimate(column)


def test_no_more_than_the_sample_is_read(small, monkeypatch):
    read = []
    engine = LocalEngine(device="cpu")
    mapped = engine.map
    monkeypatch.setattr(engine, "map", lambda task, items, **more: read.extend(items) or mapped(task, items, **more))
    estimate(pa.array(np.arange(ROWS)), engine)
    assert sum(fragment.rows for fragment in read) == 16_000
    assert len(read) == 8


def test_of_text_two_pieces_are_read(tmp_path, small):
    (tmp_path / "x.csv").write_text("x\n" + "\n".join(f"key {number}" for number in range(50_000)))
    dataset = LocalEngine(device="cpu").read_csv(tmp_path / "x.csv", fragment_bytes=2**18)
    found = estimates.estimates(dataset, {0: ["x"]})[0, "x"]
    pieces = [fragment.pieces[0].rows for fragment in dataset.fragments]
    assert found.rows == pieces[0] + pieces[len(pieces) // 2] < 50_000 / 2
    assert found.distinct == pytest.approx(50_000, rel=0.02)


def test_a_value_that_a_step_refuses_is_left_for_the_scan(small):
    class Refusing(LocalEngine):
        def map(self, task, items, *, label="map"):
            raise DataValueError("no")

    dataset = Refusing(device="cpu").from_arrow(pa.table({"x": range(10)}))
    assert estimates.estimates(dataset, {0: ["x"]}) == {}


def test_the_fewest_values_are_those_of_equal_frequency():
    """A hundredth of ten million rows, in which each of a million values is ten times, has these at hand."""
    at_hand = 1e6 * (1 - 0.99**10)
    drawn = Distinct(at_hand / (1 - 2 * estimates.ERROR), 100_000, 8)
    about, at_least = extrapolated(drawn, Distinct(at_hand / 1.9, 50_000, 8), 0.01)
    assert at_least == pytest.approx(1e6, rel=1e-3)
    assert about > 5e6


def test_when_all_rows_are_seen_nothing_is_extrapolated():
    assert extrapolated(Distinct(700, 1000, 8), Distinct(400, 500, 8), 1.0)[0] == 700
