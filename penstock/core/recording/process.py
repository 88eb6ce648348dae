"""The process that this is: its machine, and the most memory that it has had."""

from __future__ import annotations

import resource
import socket
import sys
from functools import lru_cache


@lru_cache(maxsize=1)
def host_name() -> str:
    """Return the name of this machine."""
    return socket.gethostname()


def peak_memory() -> int:
    """Return the most bytes of memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
