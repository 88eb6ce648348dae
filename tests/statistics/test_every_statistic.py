"""Every statistic of the library, discovered: one result for any row order, partitions and merges."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from gathering import Value, by_name, cut, discovered, gathered, states_of

from penstock import frames
from penstock.dataset.state_cache.state_files import decode, encode
from penstock.frames import ROW, sparse
from penstock.io.fragments import SLICE_ROWS
from penstock.statistics import Frequencies, Rule, Statistic
from penstock.statistics.base import merges_slices
from penstock.statistics.distinct.hyperloglog import Distinct
from penstock.statistics.distinct.partitionable import as_partitionable
from penstock.statistics.grouped.bootstrap import WEIGHT
from penstock.statistics.unfilled import UnfilledResult
from penstock.testing.compare import demand_equal

s = by_name()
ROWS = 120
VECTOR = sparse.columns("v")
PLACES = (0, 1, 1, 50, 119)


@cache
def table() -> pa.Table:
    """Columns of every sort, of few values and of many, and weights of 0 among others."""
    draw = np.random.default_rng(7)
    label = draw.integers(0, 2, ROWS)
    indices = [sorted(draw.choice(9, draw.integers(0, 5), replace=False).tolist()) for _ in range(ROWS)]
    lists = [[draw.permutation(5)[: draw.integers(1, 5)].tolist() for _ in range(ROWS)] for _ in range(2)]
    columns = {
        "x": 1e3 + draw.normal(size=ROWS),
        "y": draw.normal(size=ROWS) - label,
        "gaps": pa.array(draw.normal(size=ROWS), mask=draw.random(ROWS) < 0.3),
        "n": draw.integers(0, 5, ROWS),
        "same": 0.1 * label,
        "twin": 0.1 * label,
        "s": pa.array(draw.choice(["a", "007", " größe", "1.5"], ROWS), mask=draw.random(ROWS) < 0.2),
        "label": label,
        "class": draw.integers(0, 3, ROWS),
        "p": draw.random(ROWS),
        "probabilities": draw.dirichlet([1.0, 1.0, 1.0], ROWS).tolist(),
        "tags": lists[0],
        "ranked": lists[1],
        "w": draw.integers(0, 4, ROWS) / 2,
        "key": draw.integers(0, 2**63, ROWS).astype(np.uint64),
        VECTOR[0]: pa.array(indices, sparse.fields(["v"])[VECTOR[0]]),
        VECTOR[1]: pa.array([[float(each) for each in row] for row in indices], sparse.fields(["v"])[VECTOR[1]]),
        ROW: np.arange(ROWS),
    }
    return pa.table(columns)


POINTS = ("class", "x", "y", "w")


@cache
def examples() -> list[Statistic]:
    """The statistics of this library over the columns of `table`, weighted if they can be."""
    moments = s.Moments(("y", "gaps"))
    clusters = gathered(s.ClusterSums(POINTS, weighted=True), table())
    return [
        s.BinCounts(("y", "gaps"), ((-1.0, 0.0), (0.5,))), s.Checks((("gaps", Rule("null")), ("y", Rule("negative")))),
        s.ClassGrams(POINTS, weighted=True), s.ClassGrams(POINTS, weighted=True, fourth=True),
        s.ClassIndices(("class", *VECTOR, "w"), "negative", weighted=True), s.ClassMoments(POINTS, weighted=True),
        s.ColumnSums(("n", "gaps")), s.Contingencies(("class", "s", "n")), s.Counts(("s", "gaps")), s.RowCount(),
        s.DistinctValues(("s", "x")), s.ElementCounts(("tags",)), s.FrequentItems(("s",), 10),
        s.DistinctCounts(("x", "s")), as_partitionable(moments), s.ValueCounts(("s", "n")),
        s.EqualColumns(("same", "twin", "n", "label")), s.BinaryCurve(("y", "label", "w")),
        s.BinaryCurve(("y", "label", "w"), num_bins=20), s.Probabilities(("p", "label", "w")),
        s.ClassProbabilities(("probabilities", "class", "w")), s.ClusterLabels(("n", "class", "w")),
        s.ClusterSums(POINTS, weighted=True), s.ClusterSums(POINTS, weighted=True, distance_measure="cosine"),
        s.Confusion(("n", "class", "w")), s.Residuals(("y", "x", "w"), most=50), s.LabelSets(("ranked", "tags", "w")),
        s.Rankings(("ranked", "tags", "w"), 3), s.RegressionErrors(("y", "x", "w")),
        s.Silhouettes(POINTS, weighted=True, clusters=clusters), s.Extremes(("s", "gaps")),
        s.FourthMoments(("x", "y", "w"), weighted=True), s.Gram(("x", "y", "w"), weighted=True),
        s.Ungrouped.of([moments]), s.BeforeAfter.of("n", 2, [moments, s.ValueCounts(("s",))]),
        s.Resampled.of([s.RegressionErrors(("y", "x", WEIGHT))], weight="w", replicates=3, seed=1),
        s.ByKey.of(["s"], {"gram": s.Gram(("x", "y"))}), s.Folded.of([moments, s.Counts(("s",))], num_folds=3, seed=1),
        s.GroupMoments(("s", "n", "gaps"), keys=2), s.GroupSums(("s", "n"), "y", "infinite"),
        s.GroupValueCounts(("s", "gaps")), s.Sliced.of(["s"], [moments, s.RowCount()]),
        s.IndexCounts(VECTOR, positive=True), s.IndexExtremes((*VECTOR, "w"), weighted=True),
        s.KeyCounts(Value(), "s", 40), s.KnownValues(("s",), (("a",),)), s.LabelsByValue(("y", "x", "w")),
        s.Lengths(("tags",)), s.LogCells(("y",), most=50), moments, s.NullIf.of(s.ValueCounts(("n",)), 3),
        s.NullPatterns(("s", "gaps", "x")), s.PairwiseMoments(("x", "gaps", "n")), s.Quantiles(("y", "gaps")),
        s.ScoresByClass(("y", "label", "w")), s.Skewness(("y", "gaps")), s.Summaries(("gaps", "y", "w"), weighted=True),
        s.TextForms(("s",)), s.Unfilled.of(s.Moments(("gaps",))), s.Violations(("gaps", "y"), "negative"),
        s.WeighedValues(("n", "w")),
    ]  # fmt: skip


def plain(value: Any) -> Any:
    """Return a result as mappings and lists of plain values, with rows sorted."""
    if isinstance(value, UnfilledResult):
        return plain(value.filled({"gaps": (4.0, 3)}))
    if isinstance(value, Distinct):  # the width of a value is about right
        return [value.distinct, value.values]
    if isinstance(value, Frequencies):  # which may be in shards
        return {"values": value.table.to_pylist(), "nulls": value.nulls}
    if isinstance(value, pa.Table):
        return sorted(value.to_pylist(), key=repr)
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(value[key]) for name, key in sorted((repr(key), key) for key in value)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, scipy.sparse.sparray | scipy.sparse.spmatrix):
        return value.toarray().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.to_pylist() if isinstance(value, pa.Array | pa.ChunkedArray) else value


def demand_same(found: Any, expected: Any, what: str) -> None:
    demand_equal(plain(found), plain(expected), what, rtol=1e-11, atol=1e-11)


def test_every_statistic_has_an_example_here():
    assert {type(each) for each in examples()} == discovered()


@pytest.mark.thorough
def test_rows_in_any_order_and_partitions_have_one_result(subtests):
    rows = table().take(np.random.default_rng(1).permutation(ROWS))
    for statistic in examples():
        with subtests.test(repr(statistic)):
            demand_same(gathered(statistic, *cut(rows, *PLACES)), gathered(statistic, table()), repr(statistic))


@pytest.mark.thorough
def test_merging_is_associative_and_leaves_the_states_as_they_were(subtests):
    for statistic in examples():
        with subtests.test(repr(statistic)):
            a, b, c = states_of(statistic, *cut(table(), 30, 31))
            before = copy.deepcopy([a, b, c])
            left = statistic.merge([statistic.merge([a, b]), c])
            right = statistic.merge([a, statistic.merge([b, c])])
            assert [a, b, c] == before
            demand_same(statistic.finish(left), statistic.finish(right), repr(statistic))


@pytest.mark.thorough
def test_states_that_were_pickled_or_stored_merge_with_those_that_were_not(subtests):
    for statistic in examples():
        with subtests.test(repr(statistic)):
            one, other = states_of(statistic, *cut(table(), 100))
            expected = statistic.finish(statistic.merge([one, other]))
            kept_ones = [pickle.loads(pickle.dumps(other))]
            if not isinstance(statistic, s.DistinctCounts | s.KeyCounts):  # which are not kept in caches
                kept_ones.append(decode(encode(other, "key"), "key"))
            for kept in kept_ones:
                demand_same(statistic.finish(statistic.merge([one, kept])), expected, repr(statistic))


@pytest.mark.thorough
def test_no_rows_are_no_rows_in_however_many_partitions(subtests):
    for statistic in examples():
        with subtests.test(repr(statistic)):
            empty = table().slice(0, 0)
            demand_same(gathered(statistic, empty, empty), gathered(statistic, empty), repr(statistic))


@pytest.mark.thorough
def test_slices_merge_to_the_state_of_all_rows_to_the_bit(subtests):
    frame = frames.from_arrow(table().take(np.random.default_rng(2).integers(0, ROWS, 2 * SLICE_ROWS + 50)))
    for statistic in examples():
        if merges_slices(statistic):
            with subtests.test(repr(statistic)):
                slices = [frame[first : first + SLICE_ROWS] for first in range(0, len(frame), SLICE_ROWS)]
                parted = statistic.merge([statistic.summarise(rows) for rows in slices])
                found, expected = (plain(statistic.finish(state)) for state in (parted, statistic.summarise(frame)))
                assert repr(found) == repr(expected)
