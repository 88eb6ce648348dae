import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.report.scales import Scale, is_drawable, nice_domain, nice_step, tick_labels, ticks

NUMBERS = st.floats(-1e12, 1e12).map(lambda value: round(value, 6))


def test_a_step_is_one_two_or_five_times_a_power_of_ten():
    steps = {1.0: 0.2, 0.99: 0.2, 2.6: 1.0, 5.0: 1.0, 7.0: 2.0, 11.0: 5.0, 730.0: 200.0, 3e-7: 1e-7, 4e20: 1e20}
    assert {span: nice_step(span) for span in steps} == pytest.approx(steps, rel=1e-12)


def test_ticks_are_the_round_numbers_of_the_range():
    places = {
        (0.0, 1.0): [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
        (-1.0, 1.0): [-1.0, -0.5, 0.0, 0.5, 1.0],
        (0.0, 0.3): [0.0, 0.1, 0.2, 0.3],
        (95.0, 105.0): [96.0, 98.0, 100.0, 102.0, 104.0],
        (-400.0, 400.0): [-400.0, -200.0, 0.0, 200.0, 400.0],
    }
    assert {ends: ticks(*ends) for ends in places} == places


@pytest.mark.thorough
@given(st.lists(NUMBERS, min_size=1))
def test_a_domain_holds_all_values_with_two_to_seven_ticks_from_end_to_end(values):
    low, high = nice_domain(values)
    slack = 1e-6 * (high - low)
    assert low - slack <= min(values) <= max(values) <= high + slack
    assert low < high
    assert 1 <= len(ticks(low, high)) <= 7


@given(NUMBERS, st.floats(1e-6, 1e6))
def test_neighbouring_ticks_are_all_one_step_apart(low, span):
    high = low + span
    if high - low < 1e-9 * max(abs(low), abs(high)):
        return
    places = ticks(low, high)
    step = nice_step(high - low)
    for index in range(len(places) - 1):
        assert places[index + 1] - places[index] == pytest.approx(step, rel=1e-3)


def test_a_domain_of_one_value_or_none_has_an_extent():
    for values in ([], [0.0], [5.0, 5.0], [-2.0], [1e200], [-1e299, 1e299], [1e-300], [1.0, 1.0 + 1e-15]):
        low, high = nice_domain(values)
        assert -math.inf < low < high < math.inf, values
        assert ticks(low, high), values


def test_a_scale_maps_its_ends_and_its_middle_and_only_finite_numbers_are_drawn():
    scale = Scale(-2.0, 2.0, 300.0, 100.0)
    assert (scale(-2.0), scale(0.0), scale(2.0)) == (300.0, 200.0, 100.0)
    assert not any(map(is_drawable, (math.nan, math.inf, -math.inf, 1e301, None, "1", [1.0])))


def test_tick_labels_share_their_decimals():
    labels = {
        (0.0, 0.2, 0.4): ["0.0", "0.2", "0.4"],
        (-100.0, 0.0): ["\u2212100", "0"],
        (0.0, 2500.0): ["0", "2,500"],
        (0.0, 50000.0, 100000.0): ["0", "50k", "100k"],
        (0.0, 2e6): ["0", "2M"],
        (0.0, 1e-7): ["0", "1e-07"],
    }
    assert {places: tick_labels([*places]) for places in labels} == labels
