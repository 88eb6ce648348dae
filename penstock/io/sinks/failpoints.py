"""Kill the process at a chosen step of a write, so that tests can show that no step can be fatal to the data.

Set ``PENSTOCK_FAILPOINT`` to the name of a step, or to ``n`` for the n-th step passed, and the process sends itself
SIGKILL there, as the kernel or a scheduler would. Without the variable a failpoint does nothing.
"""

from __future__ import annotations

import itertools
import os
import signal

VARIABLE = "PENSTOCK_FAILPOINT"

#: The steps of a write in their order. "file-synced" is passed for a file and the steps from "swept" to
#: "directories-synced" for a directory, "set-aside" only where two paths cannot be exchanged at once, "removed" only
#: when something was replaced or a write was given up, and "settled" only where a run completes what a dead one began.
STEPS = (
    "entered",
    "settled",
    "recorded",
    "staged",
    "file-synced",
    "committing",
    "sealed",
    "swept",
    "files-synced",
    "manifest-written",
    "directories-synced",
    "locked",
    "checked",
    "journal-written",
    "journal-synced",
    "set-aside",
    "swapped",
    "parents-synced",
    "journal-removed",
    "unlocked",
    "removed",
    "finished",
)

_passed = itertools.count(1)


def failpoint(step: str) -> None:
    """Die by SIGKILL here if ``PENSTOCK_FAILPOINT`` is this step's name or its number among the steps passed.

    Examples
    --------
    >>> failpoint("sealed")
    """
    wanted = os.environ.get(VARIABLE)
    if wanted is not None and wanted in (step, str(next(_passed))):
        os.kill(os.getpid(), signal.SIGKILL)
