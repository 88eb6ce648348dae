"""Kill harness: kills processes at random times and counts the outcomes."""

import collections
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def kill_later(process: int, seconds: float) -> None:
    """Kill a process after some seconds, if it still runs."""
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def in_turns(count: int, act: Callable[[], None], counts: collections.Counter[str]) -> None:
    """Repeat an action; print the counts after every tenth time and the last."""
    for number in range(1, count + 1):
        act()
        if number % 10 == 0 or number == count:
            print(number, dict(+counts), flush=True)


def failures(counts: collections.Counter[str], never: Sequence[str]) -> dict[str, int]:
    """Return the counts that must be zero and are not."""
    return {name: counts[name] for name in never if counts[name]}


def report(counts: collections.Counter[str], never: Sequence[str]) -> int:
    """Print all counts; return 1 if one that must be zero is not."""
    found = failures(counts, never)
    print(json.dumps({"counts": dict(+counts), "failures": found}))
    return 1 if found else 0
