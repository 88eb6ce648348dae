"""Checks of stages on engines, tables and parameters that cannot change their outcome: run where this file is named."""

from __future__ import annotations

import pytest
import test_every_evaluator as evaluators
from demanding import demand_all
from grouping import EXAMPLES, by_class
from test_oracles import CHECKS as ORACLES
from test_stages import ASKED, CHECKS, IN_PROCESS

from penstock.testing import tables
from penstock.testing.cases import read_by
from penstock.testing.checks.hostile import demand_survives
from penstock.testing.datasets import cut, uneven
from penstock.testing.suite import shorthand
from penstock.testing.trials import attempt

ON_ENGINES = {str(check) for check in ASKED}
HERE = {str(check) for check in IN_PROCESS}
REST = [check for check in CHECKS if ("[" in check.name or check.scheduled) and str(check) not in ON_ENGINES]
TEXTS = {"s1", "s2", "words"}


@pytest.mark.parametrize(
    "checks", by_class(each for each in REST if str(each) not in HERE and "agree" not in each.name)
)
def test_every_table_in_one_process(checks, local):
    demand_all(checks, local)


@pytest.mark.parametrize("checks", by_class(REST))
def test_hostile_data_on_every_engine(checks, engine):
    demand_all(checks, engine)


@pytest.mark.parametrize("checks", by_class(ORACLES))
def test_the_oracle_says_so_on_every_engine(checks, engine):
    demand_all(checks, engine)


@pytest.mark.parametrize("stage", [stage for stage in EXAMPLES if TEXTS & set(read_by(stage))], ids=shorthand)
def test_strings_of_a_megabyte(stage, local):
    rows = tables.long_strings(2**20)
    demand_survives(stage, attempt(stage, cut(local, rows, uneven(rows.num_rows, few=True))))


@evaluators.examples
def test_an_evaluator_is_the_same_on_every_engine(evaluator, distributed_engine):
    evaluators.test_the_same_fragments_give_the_same_on_every_engine(evaluator, distributed_engine)
    evaluators.test_rows_shuffled_into_uneven_fragments_change_no_metric(evaluator, distributed_engine)
    evaluators.test_without_rows_every_metric_is_undefined_with_a_reason(evaluator, distributed_engine)
    evaluators.test_one_row_gives_numbers_or_reasons(evaluator, distributed_engine)
    evaluators.test_slices_and_replicates_can_be_had_of_it(evaluator, distributed_engine)


@pytest.mark.parametrize(("evaluator", "column", "value"), evaluators.BAD)
def test_a_bad_value_is_refused_with_its_row_on_every_engine(evaluator, column, value, distributed_engine):
    evaluators.demand_refused(evaluator, column, value, distributed_engine)
