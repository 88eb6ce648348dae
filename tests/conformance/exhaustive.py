"""Checks of stages on engines, tables and parameters that cannot change their outcome: run where this file is named."""

import pytest
import test_every_evaluator as evaluators
from stage_checks import all_checks, each_stage, examples, in_process, on_clusters
from timed_subtests import run_checks

from penstock.testing import tables
from penstock.testing.cases import read_by
from penstock.testing.checks.hostile import demand_survives
from penstock.testing.datasets import cut, uneven
from penstock.testing.trials import attempt

TEXTS = {"s1", "s2", "words"}


@each_stage
def test_every_table_in_one_process(name, subtests, here):
    asked = {str(check) for check in in_process(name, fast=False)}
    run_checks([c for c in all_checks(name) if str(c) not in asked and "agree" not in c.name], here, subtests)


@each_stage
def test_hostile_data_and_oracles_on_every_engine(name, subtests, distributed_engine):
    asked = {str(check) for check in on_clusters(name)}
    of_data = [check for check in all_checks(name) if "[" in check.name or check.scheduled]
    run_checks([check for check in of_data if str(check) not in asked], distributed_engine, subtests)


@each_stage
def test_strings_of_a_megabyte(name, local, subtests):
    rows = tables.long_strings(2**20)
    for stage in examples(name):
        if TEXTS & set(read_by(stage)):
            with subtests.test(repr(stage)):
                demand_survives(stage, attempt(stage, cut(local, rows, uneven(rows.num_rows, few=True))))


@evaluators.examples
def test_an_evaluator_is_the_same_on_every_engine(evaluator, distributed_engine):
    evaluators.test_the_same_fragments_give_the_same_on_every_engine(evaluator, distributed_engine)
    evaluators.test_rows_shuffled_into_uneven_fragments_change_no_metric(evaluator, distributed_engine)
    evaluators.test_without_rows_every_metric_is_undefined_with_a_reason(evaluator, distributed_engine)
    evaluators.test_one_row_gives_numbers_or_reasons(evaluator, distributed_engine)
    evaluators.test_slices_and_replicates_can_be_had_of_it(evaluator, distributed_engine)


@pytest.mark.parametrize("kind", evaluators.KNOWN)
def test_a_bad_value_is_refused_with_its_row_on_every_engine(kind, distributed_engine, subtests):
    evaluators.test_a_bad_value_is_refused_with_its_row(kind, distributed_engine, subtests)
