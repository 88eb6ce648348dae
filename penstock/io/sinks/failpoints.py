"""Kill the process at a chosen step of a write, so that tests can show that no step can be fatal to the data.

Set ``PENSTOCK_FAILPOINT`` to the name of a step, or to ``n`` for the n-th step passed, and the process sends itself
SIGKILL there, as the kernel or a scheduler would. Without the variable a failpoint does nothing.
"""

from __future__ import annotations

import itertools
import os
import signal

VARIABLE = "PENSTOCK_FAILPOINT"

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
