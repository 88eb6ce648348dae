"""The stage through the suite that every stage of the library passes; other engines can be tried the same way."""

from __future__ import annotations

import pytest
from own_stage import Surplus

import penstock as ps
from penstock.testing import Check, checks_for

ENGINE = ps.LocalEngine(device="cpu")


@pytest.mark.parametrize("check", checks_for(Surplus(("n1", "n2"), factor=0.5)), ids=str)
def test_own_stage(check: Check) -> None:
    """What every stage must hold; an AssertionError says what does not."""
    check(ENGINE)
