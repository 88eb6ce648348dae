"""Checks of one stage share its fits, which a process keeps: they are to run in the same one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.stages.base import Trainer
from penstock.testing import Check, discover_examples

THOROUGH = pytest.mark.thorough
FIRST = set({type(stage): stage for stage in reversed(discover_examples())}.values())
FAST = (None, "ordinary", "offset", "all_null", "unseen")
"""Tables of the fast tier: the telling ones, and one, ``unseen``, that needs no fit of its own."""


def by_stage(checks: Iterable[Check]) -> list[Any]:
    """Return the checks as parameters that stay together, stage by stage, where tests are shared among processes."""
    return [pytest.param(check, id=str(check), marks=_marks(check)) for check in checks]


def _marks(check: Check) -> list[pytest.MarkDecorator]:
    group = pytest.mark.xdist_group(check.stage.title)
    return [group] if check.stage in FIRST and check.case in FAST and not _fits_often(check) else [group, THOROUGH]


def _fits_often(check: Check) -> bool:
    """Return whether it changes every part of what was learned, or trains on numbers of every type."""
    return "changed_state" in check.name or ("schema" in check.name and isinstance(check.stage, Trainer))


def classes(checks: Iterable[Check]) -> list[Any]:
    """Return the checks as parameters, those of all examples of a class together."""
    grouped = itertools.groupby(checks, key=lambda check: type(check.stage))
    return [pytest.param(tuple(group), id=kind.__name__) for kind, group in grouped]
