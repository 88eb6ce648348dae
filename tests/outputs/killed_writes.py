"""Write an output for each line of stdin, in a process forked for it, and print how that process ended.

Run by test_commit_killed in a process of its own, which imports once: a line is ``[target, run_id, way, failpoint]``.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback

from penstock.io.sinks import JointCommit, StagedDirectory, file_entry, swap
from penstock.io.sinks.failpoints import VARIABLE


def refuse(*_: object) -> None:
    raise OSError(errno.ENOSYS, "no renameat2")


def write(target: str, run_id: str, way: str, failpoint: str | None) -> None:
    if failpoint is not None:
        os.environ[VARIABLE] = failpoint
    if way == "aside":
        swap._renameat2 = refuse
    with JointCommit(staged := StagedDirectory(target, overwrite=way != "new", run_id=run_id)) as joint:
        entries = []
        for part in range(2):
            path = staged.path / f"part-{part}.csv"
            path.write_text(run_id * 3)
            entries.append(file_entry(path, staged.path, rows=1, kind="csv"))
        staged.seal(entries)
        joint.commit()


def forked(line: str) -> int:
    """Write in a child, and return its exit status; that of a signal is negative."""
    child = os.fork()
    if child == 0:
        try:
            write(*json.loads(line))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        print(forked(line), flush=True)
