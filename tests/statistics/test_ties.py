"""Runs of distinct numbers against NumPy's unique and a dictionary."""

import numpy as np
import pytest

from penstock.statistics.evaluation import ties
from penstock.statistics.evaluation.ties import add_ties, merge_ties


def runs(count, rows, distinct, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.integers(0, distinct, rows) / 8, rng.integers(0, 2, rows).astype(bool)) for _ in range(count)]


def unchecked(distinct, size):
    return None


def expected(parts):
    numbers = np.concatenate([part[0] for part in parts])
    chosen = np.concatenate([part[1] for part in parts])
    distinct, place = np.unique(numbers, return_inverse=True)
    return distinct, np.bincount(place, chosen)


@pytest.mark.parametrize("block", [2**20, 64])
def test_a_merge_of_runs_is_the_run_of_all_rows(monkeypatch, block):
    monkeypatch.setattr(ties, "_BLOCK", block)
    monkeypatch.setattr(ties, "_SAMPLED", 8)
    for distinct in (1, 50, 10**9):
        parts = runs(8, 500, distinct)
        numbers, counts = merge_ties([add_ties(part) for part in parts], unchecked)
        assert numbers.tolist() == expected(parts)[0].tolist()
        assert counts.tolist() == expected(parts)[1].tolist()


def test_infinities_tie_with_themselves():
    numbers, counts = add_ties([np.array([np.inf, -np.inf, np.inf, -np.inf]), np.ones(4, bool)])
    assert (numbers.tolist(), counts.tolist()) == ([-np.inf, np.inf], [2, 2])


def test_counts_that_outgrow_32_bits_become_64_bits():
    large = (np.array([1.0]), np.array([2**31], np.uint32))
    [_, twice] = merge_ties([large, large], unchecked)
    assert (twice.dtype, twice.tolist()) == (np.int64, [2**32])
    [_, three] = merge_ties([(np.array([1.0]), twice), large], unchecked)
    assert three.tolist() == [3 * 2**31]


def test_long_ties_lose_no_digits():
    [_, added] = add_ties([np.zeros(1_000_000), np.full(1_000_000, 0.1)])
    assert added.tolist() == pytest.approx([1e5], rel=1e-14)


def test_a_merge_tells_how_much_there_is_before_it_has_all(monkeypatch):
    monkeypatch.setattr(ties, "_BLOCK", 64)
    monkeypatch.setattr(ties, "_SAMPLED", 8)
    told = []
    merge_ties([add_ties(part) for part in runs(2, 500, 10**9)], lambda distinct, size: told.append((distinct, size)))
    assert told[-1] == (1000, 8 + 4)
    assert told[0][0] < 200
    assert told == sorted(told)
