"""Networks for docstrings and the conformance suite: each gives the mean of two columns."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache
from importlib.resources import as_file, files

_extracted = ExitStack()
atexit.register(_extracted.close)


@cache
def example(name: str) -> str:
    """Return the path of a file of this folder; one in a zip is unpacked for as long as this process lives."""
    return str(_extracted.enter_context(as_file(files(__name__) / name)))
