"""Checks as tests: one for what is asked of a class, of all its examples and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.stages.base import Trainer
from penstock.testing import Check, discover_examples

EXAMPLES = discover_examples()
FIRST = set({type(stage): stage for stage in reversed(EXAMPLES)}.values())
FAST = (None, "ordinary", "offset", "all_null", "unseen")
"""Tables of the fast tier: the telling ones, and one, ``unseen``, that needs no fit of its own."""


def by_class(checks: Iterable[Check]) -> list[Any]:
    """Return the checks as parameters, each a tuple of those that ask the same of a class, in this tier or in all.

    Tests of a class stay in one process, which keeps its fits, where tests are shared among processes.
    """
    asked = defaultdict[tuple[str, str, bool], list[Check]](list)
    for check in checks:
        what = check.name.partition("[")[0] if check.fitted else "parameters"
        asked[type(check.stage).__name__, what, _is_fast(check)].append(check)
    return [
        pytest.param(tuple(each), id=f"{kind}-{what}{'' if fast else '-more'}", marks=_marks(kind, fast))
        for (kind, what, fast), each in asked.items()
    ]


def _marks(kind: str, fast: bool) -> list[pytest.MarkDecorator]:
    group = pytest.mark.xdist_group(kind)
    return [group] if fast else [group, pytest.mark.thorough]


ANOTHER_FIT = ("refit", "warm_start", "repeatable", "nan_is_missing", "needed_columns", "vectors")
"""Words of the checks that fit once more: what learns otherwise then is seldom a stage, and mostly what all share."""


def _is_fast(check: Check) -> bool:
    return not check.fitted or (check.case in FAST and check.stage in FIRST and not _takes_long(check))


def _takes_long(check: Check) -> bool:
    """Return whether it changes every part of what was learned, fits again, or trains on more than one table."""
    if any(word in check.name for word in ANOTHER_FIT):
        return True
    several = check.case not in (None, "ordinary") or "schema" in check.name or "one_row" in check.name
    return "changed_state" in check.name or (several and isinstance(check.stage, Trainer))
