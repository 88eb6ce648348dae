"""Appends of several processes to the same outputs at once: all come through, and a run is there once."""

import os

import pytest

from tests.writing.racing_runs import NAMES, race

ROUNDS = 3


@pytest.mark.thorough
@pytest.mark.faults
def test_two_jobs_that_append_at_once_both_come_through_and_are_there_once_when_run_again(local, tmp_path):
    out = tmp_path / "out"
    every = sorted((number, ord(name)) for number in range(ROUNDS) for name in NAMES)
    for _ in range(2):
        assert race(str(out), ROUNDS) == [0, 0]
        for name in ("rows", "by_day"):
            rows = local.read_parquet(out / name).to_arrow().to_pylist()
            assert sorted((row["day"], row["n"]) for row in rows) == every
    owned = [f"own-{name}{number}" for name in NAMES for number in range(ROUNDS)]
    assert sorted(os.listdir(out)) == sorted(["rows", "by_day", *owned])
