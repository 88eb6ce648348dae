"""Checks of one stage share its fits, which a process keeps: they are to run in the same one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.testing import Check


def by_stage(checks: Iterable[Check]) -> list[Any]:
    """Return the checks as parameters that stay together, stage by stage, where tests are shared among processes."""
    return [pytest.param(check, id=str(check), marks=pytest.mark.xdist_group(check.stage.title)) for check in checks]


def classes(checks: Iterable[Check]) -> list[Any]:
    """Return the checks as parameters, those of all examples of a class together."""
    grouped = itertools.groupby(checks, key=lambda check: type(check.stage))
    return [pytest.param(tuple(group), id=kind.__name__) for kind, group in grouped]
