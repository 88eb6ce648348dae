"""What a run is expected to take by runs before it, of times that are made by a formula."""

import pytest
from run_samples import timed

from penstock.runs.run import TASKS, Run
from penstock.runs.scaling import expected_time, expected_time_under_way

BEFORE = [timed(4_000), timed(8_000), timed(12_000)]


def test_a_run_is_expected_to_take_what_its_rows_say():
    expected = expected_time(timed(16_000, seconds=100.0), BEFORE)
    assert expected is not None
    assert (expected.rows, expected.workers) == (16_000, 1)
    assert expected.seconds == pytest.approx(2 + 16, rel=0.01)


def test_of_a_run_under_way_the_share_that_is_scanned_is_that_of_runs_before():
    before = [timed(4_000, read=5_000), timed(8_000, read=10_000), timed(12_000, read=15_000)]
    expected = expected_time_under_way(timed(0, read=20_000).info, before)
    assert expected is not None
    assert expected.rows == 16_000
    # In fragments as large as the largest before, of 3,000 rows, each half a second and one for each 1,000 rows.
    assert expected.seconds == pytest.approx(6 * 0.5 + 16, rel=0.01)


def test_nothing_is_expected_by_fewer_than_three_runs_of_an_engine_without_scans_or_of_unknown_rows():
    for before in (BEFORE[:2], [*BEFORE[:2], timed(12_000, engine="dask")]):
        assert expected_time(BEFORE[0], before) is expected_time_under_way(BEFORE[0].info, before) is None
    assert expected_time_under_way(timed(0, read=0).info, BEFORE) is None
    assert expected_time(BEFORE[0], [Run({**run.info, "spans": []}, TASKS.empty_table()) for run in BEFORE]) is None
