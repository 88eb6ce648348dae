"""Values that statistics refuse, with column, number and rows, and options that they refuse before they read rows."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from gathering import by_name, cut, demand_refused, gathered, named

from penstock.errors import ConfigError, DataValueError
from penstock.statistics import Statistic
from penstock.statistics.gram import MOST_COLUMNS

s = by_name()
Case = tuple[Statistic, pa.Table, str]
HALVES = [[0.5, 0.5]] * 2


def of_parts(kind: Callable[..., Statistic], names: str, *cases: tuple[Sequence[Any], str]) -> list[Case]:
    """Return cases of a statistic of the first of the columns, as many as there are values of."""
    columns = tuple(names.split())
    return [(kind(columns[: len(part)]), named(columns, part), message) for part, message in cases]


def of_changes(statistic: Statistic, good: dict[str, Any], *cases: tuple[str, list[Any], str]) -> list[Case]:
    """Return cases of a statistic of all columns of `good`, one of which has other values."""
    return [(statistic, pa.table({**good, name: values}), f"column '{name}' {told}") for name, values, told in cases]


CLASSES = {"label": [0.0, 1.0, 0.0], "x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0], "w": [1.0, 1.0, 1.0]}
POINTS = {"prediction": [0, 0, 1], "x": [1.0, 2.0, 4.0], "y": [1.0, 1.0, 1.0], "w": [1.0, 1.0, 1.0]}
LISTS = {"prediction": [0, 0, 1], "x": [[1.0, 1.0], [2.0, 1.0], [4.0, 3.0]]}

REFUSED = {
    "BinaryCurve": of_parts(
        s.BinaryCurve,
        "score label weight",
        (([0.1, None, nan], [0, 1, 1]), "column 'score' has 2 values that are null"),
        (([0.1, 0.2], [None, 1]), "column 'label' has 1 values that are null"),
        (([0.1, 0.2], [2, -1]), "column 'label' has 2 values that are not binary, expected 0 and 1"),
        (([0.1, 0.2], [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([0.1, 0.2], [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null"),
        (([0.1, 0.2], [0, 1], [inf, 1.0]), "column 'weight' has 1 values that are infinite"),
        (([0.1, 0.2], [0, 1], [1e308, 1e308]), "column 'weight' has 2 values that are too large"),
    ),
    "BinaryCurve of cells": of_parts(
        partial(s.BinaryCurve, num_bins=4),
        "score label",
        (([0.1, inf], [0, 1]), "column 'score' has 1 values that are infinite"),
    ),
    "Probabilities": of_parts(
        s.Probabilities,
        "probability label weight",
        (([0.1, None, nan], [0, 1, 1]), "column 'probability' has 2 values that are null"),
        (([-0.1, 1.5, inf], [0, 1, 1]), "'probability' has 3 values that are not between, .* 0 and 1"),
        (([0.1, 0.2], [None, 1]), "column 'label' has 1 values that are null"),
        (([0.1, 0.2], [2, -1]), "column 'label' has 2 values that are not binary"),
        (([0.1, 0.2], [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([0.1, 0.2], [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null"),
        (([0.1, 0.2], [0, 1], [1e308, 1.0]), "column 'weight' has 1 values that are too large"),
    ),
    "ClassProbabilities": of_parts(
        s.ClassProbabilities,
        "probability label weight",
        (([None, [0.5, 0.5]], [0, 1]), "column 'probability' has 1 values that are null"),
        (([0.5, None, nan], [0, 1, 1]), "column 'probability' has 2 values that are null"),
        (([0.5, -0.5, 1.5], [0, 1, 1]), "column 'probability' has 2 values that are not between"),
        ((HALVES, [None, 1]), "column 'label' has 1 values that are null"),
        ((HALVES, [-1, 1]), "column 'label' has 1 values that are negative"),
        ((HALVES, [0.5, 1.0]), "column 'label' has 1 values that are not whole"),
        ((HALVES, [inf, 1.0]), "column 'label' has 1 values that are infinite"),
        (([[0.5, 0.5]] * 3, [0, 2, 3]), "column 'label' has 2 values that are no place in 2 probabilities"),
        (([0.5, 0.5], [2, 1]), "column 'label' has 1 values that are no place in 2 probabilities"),
        ((HALVES, [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        ((HALVES, [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null"),
        ((HALVES, [0, 5], [1.0, 0.0]), "column 'label' has 1 values that are no place"),
    ),
    # The length of most is expected; where all three lengths occur once the least, where all are empty 1.
    "lists that are no probabilities": of_parts(
        s.ClassProbabilities,
        "probability label",
        *(
            ((lists, [0, 0, 0]), f"'probability' has {bad} values that are not lists of {length} numbers between 0 and")
            for lists, bad, length in [
                ([[0.5, 0.5], [1.0], [0.5, 0.5]], 1, 2),
                ([[0.5, 0.5], [], [0.5, 0.5]], 1, 2),
                ([[0.2, 0.8], [0.5, 0.25, 0.25], [1.0]], 2, 1),
                ([[0.5, None], [None, None], [0.5, 0.5]], 2, 2),
                ([[nan, 0.5], [nan] * 2, [0.5, 0.5]], 2, 2),
                ([[-0.5, 0.5], [0.5, 1.5], [0.5, 0.5]], 2, 2),
                ([[inf, 0.0], [0.0, 1.0], [0.5, 0.5]], 1, 2),
                ([[0.5, 0.5], [0.5, 1.5], [0.5, 0.5]], 1, 2),
                (pa.array([[], [], []], pa.list_(pa.float64())), 3, 1),
            ]
        ),
    ),
    "Confusion": of_parts(
        s.Confusion,
        "prediction label weight",
        (([0.0, None, nan], [0, 1, 1]), "column 'prediction' has 2 values that are null"),
        ((["a", "b"], [None, "b"]), "column 'label' has 1 values that are null"),
        (([0.0, 1.0], [inf, 1.0]), "column 'label' has 1 values that are infinite"),
        (([0, 1], [0, 1], [None, 1.0]), "column 'weight' has 1 values that are null"),
        (([0, 1], [0, 1], [inf, 1.0]), "column 'weight' has 1 values that are infinite"),
        (([0, 1], [0, 1], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([0, 1], [0, 1], [1e200, 1.0]), "column 'weight' has 1 values that are too large"),
        (([None, 1], [0, 1], [0.0, 1.0]), "column 'prediction' has 1 values that are null"),
    ),
    "LabelSets": of_parts(
        s.LabelSets,
        "prediction label weight",
        (([None, [1]], [[1], [1]]), "column 'prediction' has 1 values that are null"),
        (([[1]] * 3, [None, [1], None]), "column 'label' has 2 values that are null"),
        (([[1, None], [1]], [[1], [1]]), "column 'prediction' has 1 values that are lists with nulls"),
        (([[1], [2]], [[0.5, nan], [nan]]), "column 'label' has 2 values that are lists with nulls"),
        (([[1, 2], [1]], [[3, 2, 3], [1]]), "'label' has 1 values that are lists with repeats, expected .* once"),
        (([["a", "a"]], [["a"]]), "column 'prediction' has 1 values that are lists with repeats"),
        (([[1], [1]], [[1], [1]], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([[1], [1]], [[1], [1]], [None, inf]), "column 'weight' has 1 values that are null"),
        (([[1, 1], [1]], [[1], [1]], [0.0, 1.0]), "column 'prediction' has 1 values that are lists with repeats"),
    ),
    "Rankings": of_parts(
        partial(s.Rankings, k=5),
        "prediction label weight",
        (([None, [1]], [[1], [1]]), "column 'prediction' has 1 values that are null"),
        (([[1], [1]], [[1], None]), "column 'label' has 1 values that are null"),
        (([["a", None], ["b"]], [["a"], ["b"]]), "column 'prediction' has 1 values that are lists with nulls"),
        (([[1.0, nan], [2.0]], [[1], [2]]), "column 'prediction' has 1 values that are lists with nulls"),
        (([[1]], [[1]], [inf]), "column 'weight' has 1 values that are infinite"),
    ),
    "RegressionErrors": of_parts(
        s.RegressionErrors,
        "prediction label weight",
        (([None, 1.0], [1.0, 1.0]), "column 'prediction' has 1 values that are null"),
        (([inf, -inf], [1.0, 1.0]), "column 'prediction' has 2 values that are infinite"),
        (([1.0, 1.0], [nan, 1.0]), "column 'label' has 1 values that are null"),
        (([1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([1.0, 1.0], [1.0, 1.0], [inf, 1.0]), "column 'weight' has 1 values that are infinite"),
    ),
    "Residuals": of_parts(
        s.Residuals,
        "prediction label weight",
        (([None, 1.0], [1.0, 1.0]), "column 'prediction' has 1 values that are null"),
        (([inf, -inf], [1.0, 1.0]), "column 'prediction' has 2 values that are infinite"),
        (([1.0, 1.0], [nan, 1.0]), "column 'label' has 1 values that are null"),
        (([1.0, 1.0], [1e200, 1.0]), "column 'label' has 1 values that are too large, expected numbers of"),
        (([1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]), "column 'weight' has 1 values that are negative"),
        (([1.0, 1.0], [1.0, 1.0], [inf, 1.0]), "column 'weight' has 1 values that are too large"),
    ),
    "ClassMoments": of_changes(
        s.ClassMoments(tuple(CLASSES), weighted=True),
        CLASSES,
        ("label", [0.0, None, None], "has 2 values that are null"),
        ("label", [0.0, inf, inf], "has 2 values that are infinite"),
        ("label", [0.0, 0.5, 0.5], "has 2 values that are not whole"),
        ("x", [1.0, nan, nan], "has 2 values that are null"),
        ("x", [1.0, -inf, -inf], "has 2 values that are infinite"),
        ("y", [1.0, -1e151, -1e151], "has 2 values that are too large"),
        ("w", [1.0, None, None], "has 2 values that are null"),
        ("w", [1.0, -1.0, -1.0], "has 2 values that are negative"),
        ("w", [1.0, inf, inf], "has 2 values that are infinite"),
    ),
    "ClassGrams": of_changes(
        s.ClassGrams(("label", "x")),
        CLASSES,
        ("label", [1.0, 1.5, 1.0], "has 1 values that are not whole"),
        ("label", [1.0, None, 1.0], "has 1 values that are null"),
        ("label", [1.0, inf, 1.0], "has 1 values that are infinite"),
    ),
    "Contingencies": of_changes(
        s.Contingencies(("label", "x")),
        {"label": [1, 2, 3], "x": ["a", "b", "c"]},
        ("label", [1, None, 2], "has 1 values that are null"),
        ("label", [1.5, 2.0, 0.25], "has 2 values that are not whole"),
    ),
    "Gram": of_changes(
        s.Gram(("x", "y", "w"), weighted=True),
        POINTS,
        ("x", [1.0, None, None], "has 2 values that are null"),
        ("y", [1.0, nan, 1.0], "has 1 values that are null"),
        ("y", [1.0, inf, 1.0], "has 1 values that are infinite"),
        ("x", [1.0, -1e200, 1.0], "has 1 values that are too large"),
        ("w", [1.0, -1.0, 1.0], "has 1 values that are negative"),
        ("w", [1.0, None, 1.0], "has 1 values that are null"),
    ),
    "GroupSums": [
        (
            s.GroupSums(("c",), "y", test, classes),
            pa.table({"c": ["a", "b", "a"], "y": pa.array([0.0, bad, 1.0])}),
            told,
        )
        for test, classes, bad, told in [
            ("infinite", (), inf, "'y' has 1 values that are infinite"),
            ("infinite", (), 1e200, "'y' has 1 values that are too large"),
            ("not_binary", (), 2.0, "'y' has 1 values that are not binary"),
            ("not_binary", (), None, "'y' has 1 values that are null"),
            ("not_in", (0.0, 1.0), 3.0, "'y' has 1 values that are not in"),
        ]
    ],
    "GroupMoments": of_changes(
        s.GroupMoments(("k", "x")),
        {"k": [True, False]},
        ("x", [1.0, inf], "has 1 values that are infinite"),
        ("x", [1.0, -1e151], "has 1 values that are too large"),
    ),
    "ClusterSums": of_changes(
        s.ClusterSums(tuple(POINTS), weighted=True),
        POINTS,
        ("prediction", [0, None, 1], "has 1 values that are null"),
        ("prediction", [0.5, 1.0, 2.5], "has 2 values that are not whole"),
        ("prediction", [0.0, 1.0, inf], "has 1 values that are not between"),
        ("prediction", [0, 2**60, 1], "has 1 values that are not between"),
        ("x", [1.0, nan, None], "has 2 values that are null"),
        ("y", [1.0, -inf, 1.0], "has 1 values that are infinite"),
        ("y", [1.0, 1e200, 1.0], "has 1 values that are too large"),
        ("w", [1.0, -1.0, 0.0], "has 1 values that are negative"),
        ("w", [1.0, 1e308, 1e308], "has 2 values that are too large"),
        ("w", [1.0, None, 0.0], "has 1 values that are null"),
    ),
    "ClusterSums of lists": of_changes(
        s.ClusterSums(tuple(LISTS)),
        LISTS,
        ("x", [[1.0], None, [2.0]], "has 1 values that are null"),
        ("x", [[1.0, 1.0], [1.0], [1.0, 2.0]], "has 1 lists that are not of length 2, as most are"),
        ("x", [[], [1.0], []], "has 2 lists that are empty"),
        ("x", [[1.0, None], [nan, 2.0], [1.0, 1.0]], "has 2 lists with elements that are null"),
        ("x", [[1.0, -1e150], [1.0, -inf], [1.0, 1e160]], "has 2 lists with elements"),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("cases", REFUSED.values(), ids=REFUSED)
def test_what_is_no_value_is_refused_with_column_number_and_predicate(cases, subtests):
    for statistic, table, message in cases:
        with subtests.test(message):
            error = demand_refused(statistic, message, table.slice(0, 0), table, table.slice(0, 0))
            assert f"'{error.column}'" in error.message


def test_statistics_of_a_prediction_have_two_or_three_columns(subtests):
    kinds = {s.BinaryCurve: "score", s.Probabilities: "probability", s.Confusion: "prediction"}
    for kind, name in kinds.items():
        for columns in [("a",), ("a", "b", "c", "d")]:
            message = rf"expected \({name}, label\) or \({name}, label, weight\)"
            with subtests.test(message, columns=columns), pytest.raises(ConfigError, match=message):
                kind(columns)


PAIR = ("prediction", "label")
OPTIONS = [
    (lambda: s.BinaryCurve(PAIR, num_bins=1), "num_bins is 1, expected"),
    (lambda: s.BinaryCurve(PAIR, num_bins=-2), "num_bins is -2, expected"),
    (lambda: s.BinaryCurve(PAIR, limit_bytes=0), "limit_bytes is 0, expected"),
    (lambda: s.Probabilities(PAIR, bins=0), "bins is 0, expected"),
    (lambda: s.Probabilities(PAIR, bins=501), "bins is 501, expected"),
    (lambda: s.Probabilities(PAIR, eps=0.0), "eps is 0.0, expected"),
    (lambda: s.Probabilities(PAIR, eps=0.5), "eps is 0.5, expected"),
    (lambda: s.ClassProbabilities(PAIR, eps=0.0), "eps is 0.0"),
    (lambda: s.ClassProbabilities(PAIR, eps=0.5), "eps is 0.5"),
    (lambda: s.ClassProbabilities(PAIR, k=0), "k is 0, expected"),
    (lambda: s.Confusion(PAIR, 0), "limit is 0, expected at least 1"),
    *((lambda k=k: s.Rankings(PAIR, k), "expected an integer of at least 1") for k in (0, -1, 2.5, True, None)),
    (lambda: s.Residuals(PAIR, most=1), "most is 1, expected at least 2"),
    (lambda: s.ClusterSums(("prediction",)), r"expected \(prediction, feature, \.\.\."),
    (lambda: s.ClusterSums(("prediction", "x"), weighted=True), r"expected \(prediction, feature, \.\.\."),
    (lambda: s.ClusterSums(("prediction", "x"), distance_measure="cosin"), "Did you mean 'cosine'"),
    (lambda: s.Gram(("w",), weighted=True), "at least one column"),
    (lambda: s.Gram(tuple(map(str, range(MOST_COLUMNS + 1)))), "5,001 columns, expected at most 5,000"),
    (lambda: s.ClassMoments(("label",)), r"columns are .* expected \(label, feature, \.\.\.\)"),
    (
        lambda: s.ClassGrams(("label", "w"), weighted=True),
        r"columns are .* expected \(label, feature, \.\.\., weight\)",
    ),
    (lambda: s.ClassMoments(("label", "x"), limit=0), "limit is 0"),
    (lambda: s.Contingencies(("label",)), r"expected \(label, column, \.\.\.\)"),
    (lambda: s.Contingencies(("label", "c"), limit=0), "limit is 0"),
    (lambda: s.GroupMoments(("a", "b"), keys=2), "keys is 2 of 2 columns"),
    (lambda: s.BinCounts(("x", "y"), ((1.0,),)), "edges of 1 columns, expected 2"),
    (lambda: s.LogCells(("x",), most=1), "most is 1, expected at least 2"),
    (lambda: s.DistinctValues(("c",), 0), "size is 0, expected at least 1"),
    (lambda: s.FrequentItems(("x",), 0), "size of a sketch is 0, expected at least 1"),
    (lambda: s.NullPatterns(("x",), size=0), "size is 0"),
    (lambda: s.Folded.of([], num_folds=1), "num_folds is 1"),
]


def test_options_out_of_range_are_refused(subtests):
    for make, message in OPTIONS:
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            make()


@pytest.mark.parametrize("kind", [s.ClassMoments, s.ClassGrams])
def test_more_classes_than_the_limit_are_refused_in_one_partition_and_in_several(kind):
    rows = {"label": [1, 2, 3, 4], "x": [1.0] * 4}
    assert len(gathered(kind(("label", "x"), limit=4), rows).classes) == 4
    for parts in ([rows], cut(rows, 2)):
        with pytest.raises(DataValueError, match="'label' has 4 or more distinct values, expected at most 3 classes"):
            gathered(kind(("label", "x"), limit=3), *parts)
