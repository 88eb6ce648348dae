"""Checks of stages on engines that cannot change their outcome: not collected, but run where this file is named."""

from __future__ import annotations

import pytest
from grouping import by_stage
from test_oracles import CHECKS as ORACLES
from test_stages import CHECKS, ON_ENGINES

ASKED = {str(check) for check in ON_ENGINES}
REST = [check for check in CHECKS if "[" in check.name and str(check) not in ASKED]


@pytest.mark.parametrize("check", by_stage(REST))
def test_hostile_data_on_every_engine(check, engine):
    check(engine)


@pytest.mark.parametrize("check", by_stage(ORACLES))
def test_the_oracle_says_so_on_every_engine(check, engine):
    check(engine)
