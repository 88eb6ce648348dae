"""Counts of fixed bins, and of known values: NumPy and Polars say the same, whatever the partitions."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.statistics.bin_counts import BinCounts
from penstock.statistics.known_values import KnownValues

RNG = np.random.default_rng(1)
WIDE = [-(2**62), 2**62, -3, 0, 7]
COLUMNS = {
    "float64": RNG.normal(1e8, 1.0, 3000),
    "float32": RNG.exponential(3.0, 3000).astype(np.float32),
    "int8": RNG.integers(-128, 128, 3000).astype(np.int8),
    "int32": RNG.lognormal(3.0, 3.0, 3000).astype(np.int32),
    "uint64": RNG.integers(2**63, 2**64, 3000, dtype=np.uint64),
    "int64": RNG.choice(WIDE, 3000).astype(np.int64),
    "bool": RNG.uniform(size=3000) < 0.3,
}


def in_parts(statistic, table: pa.Table, parts: int):
    return gathered(statistic, *cut(table, *(len(table) * place // parts for place in range(1, parts))))


@pytest.mark.parametrize("kind", COLUMNS)
def test_bins_are_those_of_a_histogram(kind):
    values = COLUMNS[kind]
    numbers = values.astype(np.float64)
    edges = np.unique(np.quantile(numbers, [0.1, 0.4, 0.5, 0.9], method="inverted_cdf"))
    table = pa.table({"x": pa.array(values, mask=np.arange(3000) % 11 == 0)})
    found = in_parts(BinCounts(("x",), (tuple(edges.tolist()),)), table, 7)["x"]
    kept = numbers[np.arange(3000) % 11 != 0]
    expected = [np.sum((kept > a) & (kept <= b)) for a, b in zip([-np.inf, *edges], [*edges, np.inf], strict=True)]
    assert found.bins.tolist() == expected
    assert (found.rows, found.nulls, found.min, found.max) == (3000, 273, kept.min(), kept.max())
    # Of numbers far from zero NumPy's own two-pass variance has about twelve digits.
    assert (found.mean, found.std) == pytest.approx((kept.mean(), kept.std(ddof=1)), rel=1e-11)


SPREADS = {
    "even": lambda: RNG.uniform(size=9000),
    "normal": lambda: RNG.normal(size=9000),
    "some edges close together": lambda: np.append(RNG.uniform(size=6000), RNG.uniform(0.5, 0.5001, 3000)),
    "heavy tails": lambda: RNG.standard_cauchy(9000),
    "few values": lambda: RNG.choice([0.0, 0.25, 1.0], 9000),
    "wide": lambda: RNG.choice([-1e308, 1e308, 0.0, 5e-324], 9000),
    "narrow": lambda: 1.0 + RNG.integers(0, 9, 9000) * np.spacing(1.0),
}


@pytest.mark.parametrize("kind", SPREADS)
def test_many_values_are_in_the_bins_that_searching_finds(kind):
    values = SPREADS[kind]()
    edges = np.unique(np.quantile(values, np.linspace(0.01, 0.99, 41), method="inverted_cdf"))
    values = np.concatenate(
        [values, edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), [np.inf, -np.inf]]
    )
    found = in_parts(BinCounts(("x",), (tuple(edges.tolist()),)), pa.table({"x": values}), 1)["x"]
    expected = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    assert found.bins.tolist() == expected.tolist()


def test_few_values_have_no_spread():
    for values, expected in [
        ([], (0, 0, [0, 0], None, None)),
        ([None], (1, 1, [0, 0], None, None)),
        ([4.0], (1, 0, [0, 1], 4.0, None)),
    ]:
        told = gathered(BinCounts(("x",), ((1.0,),)), {"x": pa.array(values, pa.float64())})["x"]
        assert (told.rows, told.nulls, told.bins.tolist(), told.mean, told.std) == expected


def test_infinite_values_are_beyond_all_edges_and_leave_the_mean_undefined():
    table = pa.table({"x": [1.0, np.inf, -np.inf, 2.0]})
    found = in_parts(BinCounts(("x",), ((1.0, 2.0),)), table, 3)["x"]
    assert (found.bins.tolist(), found.mean, found.std, found.max) == ([2, 1, 1], None, None, np.inf)


def test_known_values_and_others_are_those_that_polars_counts():
    values = [f"v{each}" for each in RNG.zipf(1.6, 2000) % 90]
    table = pa.table({"c": pa.array(values, mask=np.arange(2000) % 13 == 0), "one": ["x"] * 2000})
    known = ("v1", "v2", "v999", "v7")
    found = in_parts(KnownValues(("c", "one"), (known, ())), table, 6)
    counts = dict(pl.DataFrame(table).drop_nulls("c")["c"].value_counts().iter_rows())
    told = found["c"]
    assert told.known.tolist() == [counts.get(each, 0) for each in known]
    assert told.others == {value: count for value, count in counts.items() if value not in known}
    assert (told.rows, told.nulls, told.others_error, told.other) == (2000, 154, 0, sum(told.others.values()))
    assert found["one"].others == {"x": 2000}


def test_of_very_many_others_frequent_ones_are_kept_within_a_bound():
    values = ["often"] * 400 + [f"v{each}" for each in range(2000)]
    table = pa.table({"c": RNG.permutation(values)})
    found = in_parts(KnownValues(("c",), ((),), size=20), table, 5)["c"]
    assert found.others_error <= 2400 / 21
    assert 400 - found.others_error <= found.others["often"] <= 400
    assert found.other == 2400
