"""Statistics by key: those of the rows of each key alone, and products of all keys at once as NumPy has them."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock import frames
from penstock.errors import DataValueError
from penstock.statistics import Counts, Gram, Moments
from penstock.statistics.grouped import group_grams
from penstock.statistics.grouped.by_key import ByKey

RNG = np.random.default_rng(5)
ROWS = 900
KEYS = RNG.choice(["a", "größe", "b", "Z"], ROWS)
X = RNG.gamma(2.0, size=(ROWS, 3)) @ RNG.normal(size=(3, 3))


def by_key(statistics, table, cuts=(0, 1, 300, 650), **options):
    return gathered(ByKey.of(["k"], statistics, **options), *cut(table, 0, *cuts))


def table_of(x=X, keys=KEYS, **more):
    return pa.table({"k": keys, **dict(zip("xyz", x.T, strict=True)), **more})


@pytest.mark.parametrize(("offset", "weighted"), [(0.0, True), (1e8, False)])
def test_products_of_each_key_are_numpys(offset, weighted):
    weight = np.where(RNG.random(ROWS) < 0.2, 0.0, RNG.uniform(0.5, 2, ROWS)) if weighted else np.ones(ROWS)
    gram = Gram(("x", "y", "z", *(["w"] if weighted else [])), weighted=weighted)
    x = X + offset
    found = by_key({"gram": gram}, table_of(x, w=weight))
    assert found.keys["k"].to_pylist() == sorted(set(KEYS))
    for key, each in zip(found.keys["k"].to_pylist(), found.results, strict=True):
        chosen = np.flatnonzero(key == KEYS)
        rows, own = x[chosen] - offset, weight[chosen]
        near = rows - np.average(rows, axis=0, weights=own)
        expected = (near * own[:, None]).T @ near
        np.testing.assert_allclose(each["gram"].cross, expected, rtol=1e-9 if offset else 1e-12)
        np.testing.assert_allclose(each["gram"].mean, np.average(rows, axis=0, weights=own) + offset, rtol=1e-14)
        assert each["gram"].count == np.count_nonzero(own)
        assert each["gram"].weight == pytest.approx(own.sum(), rel=1e-14)
        assert each["gram"].weight_squares == pytest.approx((own**2).sum(), rel=1e-14)


def test_as_many_products_as_a_table_holds_are_kept_and_more_are_refused(monkeypatch):
    monkeypatch.setattr(group_grams, "_NUMBERS", 4 * 3)
    assert len(by_key({"gram": Gram(("x", "y"))}, table_of()).results) == 4
    monkeypatch.setattr(group_grams, "_NUMBERS", 4 * 3 - 1)
    with pytest.raises(DataValueError, match="4 groups of 2 columns have more products than fit into a table"):
        by_key({"gram": Gram(("x", "y"))}, table_of())


def test_a_column_that_is_constant_for_a_key_is_constant_there_alone():
    x = np.where(KEYS[:, None] == "b", 0.1, X)
    found = by_key({"gram": Gram(("x", "y"))}, table_of(x))
    constant = {key: each["gram"].constant.tolist() for key, each in zip(sorted(set(KEYS)), found.results, strict=True)}
    assert constant == {"Z": [False, False], "a": [False, False], "b": [True, True], "größe": [False, False]}


def test_any_statistic_is_that_of_the_rows_of_the_key():
    own = {"moments": Moments(("x", "z")), "counts": Counts(("x", "y"))}
    found = by_key(own, table_of())
    for key, each in zip(found.keys["k"].to_pylist(), found.results, strict=True):
        parts = [part.filter(pa.compute.field("k") == key) for part in cut(table_of(), 1, 300, 650)]
        for name, statistic in own.items():
            assert each[name] == gathered(statistic, *(part for part in parts if part.num_rows))


def test_a_bad_value_is_an_error_of_its_key_alone():
    x = X.copy()
    x[np.flatnonzero(KEYS == "a")[[3, 100]], 1] = np.inf
    found = by_key({"gram": Gram(("x", "y"))}, table_of(x))
    errors = [isinstance(each, DataValueError) for each in found.results]
    assert found.keys["k"].filter(pa.array(errors)).to_pylist() == ["a"]
    assert found.results[1].message == "column 'y' has 2 values that are infinite, expected finite numbers"


def test_keys_of_several_columns_are_their_combinations_and_null_is_none():
    table = pa.table({"k": ["a", "a", None, "b", "a"], "n": [2, 1, 1, None, 2], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    found = gathered(ByKey.of(["k", "n"], {"counts": Counts(("x",))}), *cut(table, 0, 2))
    assert found.keys.to_pylist() == [{"k": "a", "n": 1}, {"k": "a", "n": 2}]
    assert [each["counts"]["x"].rows for each in found.results] == [1, 2]
    assert found.nulls == 2


def test_more_keys_than_the_limit_are_refused_by_the_name_of_their_column():
    table = pa.table({"k": [1, 2, 3, 4, 5, 6]})
    assert len(by_key({}, table, (3,), limit=6).results) == 6
    for cuts in [(), (3,)]:
        with pytest.raises(DataValueError, match=r"'k' have 6 keys or more, expected at most 5"):
            by_key({}, table, cuts, limit=5)


def test_groups_that_are_taken_some_at_a_time_are_the_same(monkeypatch):
    gram = ByKey.of(["k"], {"gram": Gram(("x", "y", "w"), weighted=True)})
    table = table_of(keys=RNG.integers(0, 40, ROWS), w=RNG.uniform(0, 2, ROWS))
    state = gram.summarise(frames.from_arrow(table))
    monkeypatch.setattr("penstock.statistics.grouped.group_grams._CACHED", 3 * 50)
    assert gram.summarise(frames.from_arrow(table)) == state
