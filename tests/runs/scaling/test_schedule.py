"""List scheduling and the tree of merges."""

import numpy as np
import pytest

from penstock.engines.base import TreeReduction
from penstock.runs.scaling.scan_model import MergeTree, makespan
from penstock.runs.scaling.train_model import slowest


def test_tasks_end_in_waves_after_gaps_and_as_fast_as_the_scheduler_starts_them() -> None:
    assert [makespan([2.0] * 6, workers) for workers in (1, 2, 3, 5, 6)] == [12.0, 6.0, 4.0, 4.0, 2.0]
    assert makespan([1.0] * 4, 2, gaps=[0.5] * 4) == 2.5
    assert makespan([1.0] * 100, 100, dispatch=3.0) == pytest.approx(99 * 3.0 + 1.0)


def test_grahams_bounds_hold() -> None:
    durations = np.random.default_rng(0).lognormal(size=50).tolist()
    for workers in (1, 3, 7, 50):
        share = sum(durations) / workers
        assert max(share, max(durations)) <= makespan(durations, workers) + 1e-9
        assert makespan(durations, workers) <= share + max(durations)


def test_the_merges_are_those_of_a_tree_reduction() -> None:
    for tasks in (1, 2, 8, 9, 64, 65, 100):
        merged: list[int] = []
        tree = TreeReduction(lambda parts, merged=merged: merged.append(len(parts)))
        for _ in range(tasks):
            tree.push(None)
        tree.result()
        assert MergeTree.of(tasks)[:2] == (len(merged), sum(merged)), tasks


def test_the_slowest_of_many_is_the_largest_there_is() -> None:
    assert slowest([0.9, 1.0, 1.1], 1) == pytest.approx(1.0)
    assert slowest([0.9, 1.0, 1.1], 500) == pytest.approx(1.1)
