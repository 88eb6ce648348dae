"""Sums of each class by score: against NumPy, and refused scores."""

import numpy as np
import pytest
from gathering import cut, gathered

from penstock.errors import DataValueError, ExecutionError
from penstock.statistics.scores_by_class import ScoresByClass

COLUMNS = ("score", "label")


def test_a_hundred_classes_are_told_apart_whatever_the_partitions():
    label = np.arange(200) % 100
    found = gathered(ScoresByClass(COLUMNS), *cut({"score": np.arange(200.0), "label": label}, 50, 120))
    assert list(found.of_class) == list(range(100))
    tied = found.one_against_rest(0, 7)
    np.testing.assert_array_equal(tied.sums["positive"], label == 7)
    np.testing.assert_array_equal(tied.sums["negative"], label != 7)


def test_without_weights_a_score_takes_twenty_bytes_with_both_sides():
    rows = {"score": [0.5, 0.25, 0.5, 0.75], "label": ["a", "a", "b", "b"]}
    tied = gathered(ScoresByClass(COLUMNS, limit_bytes=3 * 20), rows).one_against_rest(0, "b")
    assert (tied.values.tolist(), tied.sums["negative"].tolist()) == ([0.25, 0.5, 0.75], [1.0, 1.0, 0.0])
    with pytest.raises(ExecutionError, match="column 'score' has 3 or more distinct values; at 20 bytes each"):
        gathered(ScoresByClass(COLUMNS, limit_bytes=3 * 20 - 1), rows).one_against_rest(0, "b")


def test_scores_of_other_classes_are_refused_by_the_name_of_their_column():
    found = gathered(ScoresByClass(COLUMNS), {"score": [0.5], "label": ["a"]})
    with pytest.raises(
        DataValueError, match=r"column 'score' has 1 score\(s\) a row, and label 'label' has 3"
    ) as caught:
        found.check_classes(["a", "b", "c"], "label")
    assert caught.value.column == "score"
