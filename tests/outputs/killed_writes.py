"""Write an output for each line of stdin, in a process forked for it, and print how that process ended.

Run by test_commit_killed in a process of its own, which imports once: a line is ``[target, run_id, way, failpoint]``.
"""

from __future__ import annotations

import os

from penstock.io.sinks import JointCommit, StagedDirectory, file_entry, swap
from penstock.io.sinks.failpoints import VARIABLE
from tests.forked import answer_lines
from tests.outputs.alone import no_exchange


def write(target: str, run_id: str, way: str, failpoint: str | None) -> None:
    if failpoint is not None:
        os.environ[VARIABLE] = failpoint
    if way == "aside":
        swap._renameat2 = no_exchange
    with JointCommit(staged := StagedDirectory(target, overwrite=way != "new", run_id=run_id)) as joint:
        entries = []
        for part in range(2):
            path = staged.path / f"part-{run_id}-{part}.csv"
            path.write_text(run_id * 3)
            entries.append(file_entry(path, staged.path, rows=1, kind="csv"))
        old = staged.previous() if way == "keep" else None
        kept = () if old is None else old.files
        staged.seal([*kept, *entries], keep=kept)
        joint.commit()


if __name__ == "__main__":
    answer_lines(write)
