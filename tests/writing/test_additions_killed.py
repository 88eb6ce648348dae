"""SIGKILL while rows are added: all of them are there or none, and the same write again has them there once."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engines.base import Engine
from tests.outputs.alone import verified
from tests.outputs.workers import Worker, worker
from tests.writing.killed_additions import MODES, NEW, OLD, Row

pytestmark = [pytest.mark.thorough, pytest.mark.faults]

AFTER: dict[str, list[Row]] = {
    "append": [*OLD, *NEW],
    "overwrite_partitions": [*OLD[:2], OLD[3], *NEW],
    "merge": [*OLD, *NEW[1:]],
}
STEPS = {"kept": False, "journal-synced": False, "swapped": True, "removed": True}
"""Where a process is killed, and whether the new rows are there by then."""


@pytest.fixture(scope="module")
def run() -> Iterator[Worker]:
    with worker("tests.writing.killed_additions") as write:
        yield write


def content(local: Engine, target: Path) -> list[Row]:
    verified(target)
    return [(row["day"], row["s"]) for row in local.read_parquet(target).to_arrow().to_pylist()]


CASES = [(mode, step) for mode in MODES for step in STEPS if mode == "merge" or step in ("kept", "swapped")]


@pytest.mark.parametrize(("mode", "step"), CASES)
def test_a_killed_write_has_added_all_its_rows_or_none_and_is_done_again_without_a_trace(
    run, local, tmp_path, mode, step
):
    target = tmp_path / "out"
    assert run(target, mode, "old", None) == 0
    assert run(target, mode, "new", step) == -signal.SIGKILL
    assert content(local, target) == (AFTER[mode] if STEPS[step] else OLD)
    assert run(target, mode, "new", None) == 0
    assert content(local, target) == AFTER[mode]
    assert os.listdir(tmp_path) == ["out"]
