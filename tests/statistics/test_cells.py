"""Cells against the sets of values that they hold: bounded, additive, and the same however rows are partitioned."""

import math

import numpy as np
import pytest

from penstock.statistics.cells import finish_cells, merge_cells, summarise_cells

RNG = np.random.default_rng(5)
VALUES = {
    "normal": RNG.normal(size=2000),
    "heavy tails": RNG.standard_cauchy(2000) ** 3,
    "far from zero": 1e12 + RNG.normal(size=2000),
    "few distinct": RNG.choice([-0.0, 0.0, 0.1, 0.3, -7.0], 2000),
    "small and large": np.concatenate([RNG.normal(size=1000) * 1e-300, RNG.normal(size=1000) * 1e300]),
    "denormal": RNG.integers(-5000, 5000, 2000) * 5e-324,
    "zero beside tiny": np.concatenate([np.zeros(1000), RNG.random(1000) * 1e-100]),
    "negative": -RNG.random(2000),
}


def state_of(values, most, sums=None):
    return summarise_cells(values, {"rows": np.ones(len(values))} if sums is None else sums, most)


def exponent_of(values, most):
    """Return, by trial with exact integers, the narrowest cells that are allowed."""
    scaled = [math.frexp(each) for each in values.tolist()]
    exact = [(int(mantissa * 2**53), exponent - 53) for mantissa, exponent in scaled]
    exponent = max([-1000, *(each - 53 for mantissa, each in scaled if mantissa)])
    while len({_cell(*each, exponent) for each in exact}) > most:
        exponent += 1
    return exponent


def _cell(mantissa, power, exponent):
    return mantissa << (power - exponent) if power >= exponent else mantissa >> (exponent - power)


@pytest.mark.parametrize("case", VALUES)
def test_cells_are_as_narrow_as_exact_integers_allow_and_each_holds_its_values(case):
    values = np.sort(VALUES[case])
    for most in (2, 60, 1000):
        state = state_of(VALUES[case], most)
        assert state["exponent"] == exponent_of(values, most)
        cells = finish_cells(state)
        assert len(cells.lower) <= most
        starts, ends = np.searchsorted(values, cells.lower), np.searchsorted(values, cells.upper)
        assert cells.sums["rows"].tolist() == (ends - starts).tolist()
        assert cells.sums["rows"].sum() == len(values)


@pytest.mark.parametrize("case", VALUES)
def test_shuffled_uneven_and_empty_parts_give_the_same_cells_merged_at_once_or_in_a_tree(case):
    values = np.random.default_rng(1).permutation(VALUES[case])
    for most in (2, 60, 1000):
        whole = finish_cells(state_of(VALUES[case], most))
        states = [state_of(part, most) for part in np.split(values, [0, 1, 7, 7, 900, 1999])]
        tree = merge_cells([merge_cells(states[:2], most), merge_cells(states[2:5], most), *states[5:]], most)
        for state in (merge_cells(states, most), tree):
            merged = finish_cells(state)
            assert merged.lower.tolist() == whole.lower.tolist()
            assert merged.upper.tolist() == whole.upper.tolist()
            assert merged.sums["rows"].tolist() == whole.sums["rows"].tolist()


def test_a_value_on_the_wrong_side_of_zero_is_in_no_cell():
    """Scaled to cells as wide as 1e300 asks for, -1e-300 is zero: it is still below it."""
    cells = finish_cells(state_of(np.array([-1e-300, 1e-300, 1e300]), 2))
    assert cells.lower[0] < 0 == cells.upper[0]
    assert cells.sums["rows"].tolist() == [1.0, 2.0]


def test_sums_are_those_of_the_rows_of_each_cell():
    values = RNG.normal(size=500)
    sums = {"weight": RNG.random(500), "squares": values * values}
    cells = finish_cells(state_of(values, 20, sums))
    for name, terms in sums.items():
        held = [terms[(values >= a) & (values < b)].sum() for a, b in zip(cells.lower, cells.upper, strict=True)]
        assert cells.sums[name] == pytest.approx(held, rel=1e-13)


def test_values_that_are_all_equal_fill_one_cell_no_wider_than_their_last_digit():
    cells = finish_cells(state_of(np.full(10, 0.1), 100))
    assert (cells.lower.tolist(), cells.sums["rows"].tolist()) == ([0.1], [10.0])
    assert cells.width == np.spacing(0.1)


def test_the_edges_of_the_largest_numbers_are_finite():
    largest = np.finfo(np.float64).max
    cells = finish_cells(state_of(np.array([-largest, 0.0, largest]), 2))
    assert (cells.lower.tolist(), cells.upper.tolist()) == ([-largest, 0.0], [0.0, largest])


def test_merging_one_state_makes_its_cells_fewer():
    values = VALUES["normal"]
    fewer = finish_cells(merge_cells([state_of(values, 1000)], 10))
    direct = finish_cells(state_of(values, 10))
    assert fewer.lower.tolist() == direct.lower.tolist()
    assert fewer.sums["rows"].tolist() == direct.sums["rows"].tolist()
