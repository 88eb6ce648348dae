"""PySpark looks for pandas where it uses Arrow, and warns of pandas 3; Penstock takes nothing of pandas from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_pandas_warning() -> Iterator[None]:
    """Leave out PySpark's warning of pandas 3."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
