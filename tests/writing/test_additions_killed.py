"""SIGKILL while rows are added: all of them are there or none, and the same write again has them there once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

import penstock
from penstock.engines.base import Engine
from penstock.io.sinks import read_manifest
from tests.outputs.alone import verify_content
from tests.writing.killed_additions import MODES, NEW, OLD, Row

pytestmark = pytest.mark.thorough

AFTER: dict[str, list[Row]] = {
    "append": [*OLD, *NEW],
    "overwrite_partitions": [*OLD[:2], OLD[3], *NEW],
    "merge": [*OLD, *NEW[1:]],
}
STEPS = {"kept": False, "journal-synced": False, "swapped": True, "removed": True}
"""Where a process is killed, and whether the new rows are there by then."""

Run = Callable[..., int]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A function that writes in a process of its own, and returns how that ended."""
    root = Path(penstock.__file__).parents[1]
    command = [sys.executable, "-m", "tests.writing.killed_additions"]
    environment = os.environ | {"PYTHONPATH": str(root)}
    with subprocess.Popen(command, env=environment, cwd=root, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines, statuses = process.stdin, process.stdout

        def write(target: Path, mode: str, which: str, failpoint: str | None = None) -> int:
            lines.write(json.dumps([str(target), mode, which, failpoint]) + "\n")
            return int(statuses.readline())

        yield write
        lines.close()


def content(local: Engine, target: Path) -> list[Row]:
    manifest = read_manifest(target)
    assert manifest is not None
    verify_content(target, manifest)
    return [(row["day"], row["s"]) for row in local.read_parquet(target).to_arrow().to_pylist()]


CASES = [(mode, step) for mode in MODES for step in STEPS if mode == "merge" or step in ("kept", "swapped")]


@pytest.mark.parametrize(("mode", "step"), CASES)
def test_a_killed_write_has_added_all_its_rows_or_none_and_is_done_again_without_a_trace(
    run: Run, local: Engine, tmp_path: Path, mode: str, step: str
) -> None:
    target = tmp_path / "out"
    assert run(target, mode, "old") == 0
    assert run(target, mode, "new", step) == -signal.SIGKILL
    assert content(local, target) == (AFTER[mode] if STEPS[step] else OLD)
    assert run(target, mode, "new") == 0
    assert content(local, target) == AFTER[mode]
    assert os.listdir(tmp_path) == ["out"]
