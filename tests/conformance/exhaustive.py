"""Checks of stages on engines, tables and parameters that cannot change their outcome: run where this file is named."""

from __future__ import annotations

import pytest
from grouping import by_stage
from test_oracles import CHECKS as ORACLES
from test_stages import AGREEMENT, CHECKS, EXAMPLES, IN_PROCESS, ON_ENGINES

from penstock.testing import tables
from penstock.testing.cases import read_by
from penstock.testing.checks.hostile import demand_survives
from penstock.testing.datasets import cut, uneven
from penstock.testing.suite import shorthand
from penstock.testing.trials import attempt

ASKED = {str(check) for check in [*ON_ENGINES, *AGREEMENT]}
ALONE = ASKED | {str(check) for check in IN_PROCESS}
REST = [check for check in CHECKS if ("[" in check.name or check.scheduled) and str(check) not in ASKED]
TABLES = [check for check in REST if str(check) not in ALONE and "engines_agree" not in check.name]
TEXTS = {"s1", "s2", "words"}


@pytest.mark.parametrize(
    "check", by_stage(each for each in REST if str(each) not in ALONE and "agree" not in each.name)
)
def test_every_table_in_one_process(check, local):
    check(local)


@pytest.mark.parametrize("check", by_stage(REST))
def test_hostile_data_on_every_engine(check, engine):
    check(engine)


@pytest.mark.parametrize("check", by_stage(ORACLES))
def test_the_oracle_says_so_on_every_engine(check, engine):
    check(engine)


@pytest.mark.parametrize("stage", [stage for stage in EXAMPLES if TEXTS & set(read_by(stage))], ids=shorthand)
def test_strings_of_a_megabyte(stage, local):
    rows = tables.long_strings(2**20)
    demand_survives(stage, attempt(stage, cut(local, rows, uneven(rows.num_rows, few=True))))
