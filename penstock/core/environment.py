"""The environment of this process, lent to what reads it when it starts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def restoring_environment(names: Collection[str]) -> Iterator[None]:
    """Put these variables back, when it is left, to what they were when it was entered.

    Examples
    --------
    >>> with restoring_environment(["PENSTOCK_EXAMPLE"]):
    ...     os.environ["PENSTOCK_EXAMPLE"] = "1"
    >>> "PENSTOCK_EXAMPLE" in os.environ
    False
    """
    before = {name: os.environ[name] for name in names if name in os.environ}
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextmanager
def default_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set those of these variables that are not set, until it is left: whoever set the others knows better.

    Examples
    --------
    >>> with default_environment({"PENSTOCK_EXAMPLE": "1"}), default_environment({"PENSTOCK_EXAMPLE": "2"}):
    ...     os.environ["PENSTOCK_EXAMPLE"]
    '1'
    """
    missing = {name: value for name, value in values.items() if name not in os.environ}
    with restoring_environment(missing):
        os.environ.update(missing)
        yield
