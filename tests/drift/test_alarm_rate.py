"""How often there is an alarm where nothing has changed, and whether there is one where something has."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from drift.drifting import NUMBERS, TEXTS, draw
from scipy import stats

from penstock import frames
from penstock.pipeline.drift.counting import Bins, first_look
from penstock.pipeline.drift.drift_limits import DriftLimits
from penstock.pipeline.drift.drift_report import DriftReport
from penstock.pipeline.drift.profile import INPUT, Profile
from penstock.pipeline.drift.profiling import ColumnWatch, compare


def profile_of(table: pa.Table) -> tuple[ColumnWatch, Profile]:
    frame = frames.from_arrow(table)
    look = first_look(table.schema)
    bins = Bins.of(table.schema, [each.finish(each.summarise(frame)) for each in look])
    watch = ColumnWatch(INPUT, 0, tuple(table.column_names), bins)
    return watch, Profile(table.num_rows, {INPUT: watch.counted([each.summarise(frame) for each in watch.statistics])})


def drift(watch: ColumnWatch, profile: Profile, table: pa.Table, level: float) -> DriftReport:
    frame = frames.from_arrow(table)
    current = {INPUT: watch.counted([each.summarise(frame) for each in watch.statistics])}
    return compare(profile, current, DriftLimits(level=level))


@pytest.mark.thorough
@pytest.mark.parametrize(("resamples", "rows", "new_rows", "level"), [(24, 500, 800, 0.01), (12, 300, 1500, 0.2)])
def test_rows_of_the_same_distribution_raise_no_more_alarms_than_the_level_says(resamples, rows, new_rows, level):
    rng, alarms = np.random.default_rng(11), 0
    for number in range(resamples):
        if number % 4 == 0:  # of which values and edges are chosen anew
            watch, profile = profile_of(pa.table(draw(rng, rows)))
        alarms += not drift(watch, profile, pa.table(draw(rng, new_rows)), level).passed
    assert alarms <= stats.binom.ppf(0.999, resamples, level)


@pytest.fixture(scope="module")
def found() -> DriftReport:
    """What is found in 100,000 rows of which three columns have changed."""
    rng, rows = np.random.default_rng(2), 100_000
    watch, profile = profile_of(pa.table(draw(rng, rows)))
    now = draw(rng, rows)
    now["n0"] = pc.add(now["n0"], 0.1)
    now["c4"] = pc.if_else(pa.array(rng.uniform(size=rows) < 0.01), "brand new", now["c4"])
    now["c1"] = pc.if_else(pa.array(rng.uniform(size=rows) < 0.02), None, now["c1"])
    return drift(watch, profile, pa.table(now), 0.01)


@pytest.mark.thorough
def test_what_has_changed_is_named_and_nothing_else(found):
    assert sorted(each.name for each in found.drifted) == ["c1", "c4", "n0"]
    assert len(found.columns) == len(NUMBERS) + len(TEXTS)


@pytest.mark.thorough
def test_a_shift_of_a_tenth_of_a_deviation_is_told_by_the_distance_of_distributions(found):
    measure = found["n0"]["kolmogorov_smirnov"]
    expected = 2 * stats.norm.cdf(0.05) - 1  # of two normal distributions so far apart
    assert measure.drifted
    assert measure.value == pytest.approx(expected, abs=measure.chance)
    assert found["n0"]["mean"].value == pytest.approx(0.1, abs=found["n0"]["mean"].chance)


def test_a_new_value_is_named_with_its_share(found):
    first = found["c4"].categories[0]
    assert (first.value, first.change) == ("brand new", "new")
    assert first.current == pytest.approx(0.01, abs=0.0045)  # of many values counts are too low by less than 0.4 %


@pytest.mark.thorough
def test_values_that_are_missing_more_often_are_told(found):
    column = found["c1"]
    assert column["missing"].drifted
    assert (column.reference["missing"], column.current["missing"]) == pytest.approx((0.01, 0.03), abs=0.002)


def test_a_value_that_has_gone_and_one_that_has_come_are_told_with_their_shares():
    watch, profile = profile_of(pa.table({"c": ["a"] * 500 + ["b"] * 30 + ["z"] * 470}))
    column = drift(watch, profile, pa.table({"c": ["a"] * 1000 + ["n"] * 60 + ["z"] * 940}), 0.01)["c"]
    told = {each.value: (each.change, each.reference, each.current) for each in column.categories}
    assert told == {"b": ("vanished", 0.03, 0.0), "n": ("new", 0.0, 0.03)}


def test_values_that_the_profile_has_no_room_for_are_no_drift():
    values, times = np.arange(500).astype(str), np.where(np.arange(500) < 256, 12, 11)
    watch, profile = profile_of(pa.table({"c": np.repeat(values, times)}))
    assert drift(watch, profile, pa.table({"c": np.repeat(values, 12)}), 0.01).passed


def test_values_out_of_range_are_told():
    rng = np.random.default_rng(0)
    watch, profile = profile_of(pa.table({"x": rng.uniform(size=1000)}))
    now = rng.uniform(size=1000)
    now[:20] = [*range(2, 12), *range(-12, -2)]
    measure = drift(watch, profile, pa.table({"x": now}), 0.01)["x"]["range"]
    assert (measure.value, measure.drifted) == (0.02, True)
    assert not drift(watch, profile, pa.table({"x": np.append(now[20:], [1.5, -0.5])}), 0.01)["x"]["range"].drifted
