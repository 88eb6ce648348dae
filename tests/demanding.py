"""Checks of stages run together."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.engines.base import Engine
from penstock.testing import Check


def demand_all(checks: Iterable[Check], engine: Engine) -> None:
    """Raise what the checks raise, together, each with a note that says which check of which example it was."""
    failures = []
    for check in checks:
        try:
            check(engine)
        except Exception as error:
            error.add_note(str(check))
            failures.append(error)
    if failures:
        raise ExceptionGroup("checks fail", failures)
