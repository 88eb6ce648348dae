"""Work that kills itself, in children of a script that imports once: a line of stdin each, and its status on stdout."""

import json
import os
import sys
import traceback
from collections.abc import Callable


def answer_lines(work: Callable[..., object]) -> None:
    """Call `work` with the JSON list of each line, in a child of its own, and print the exit status of that.

    The status is negative where a signal ended it.
    """
    for line in sys.stdin:
        print(_status_of(work, line), flush=True)


def _status_of(work: Callable[..., object], line: str) -> int:
    child = os.fork()
    if child == 0:
        try:
            work(*json.loads(line))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
