"""Every stage of the library, found and not listed, through the suite that is shipped: on each engine and device.

What an engine, a table or a parameter cannot change is checked once; ``exhaustive.py`` runs the products as well.
"""

from __future__ import annotations

import pytest
from grouping import by_stage, classes

from penstock.engines.local import LocalEngine
from penstock.stages.base import Stage
from penstock.testing import Check, checks_for, discover_examples, tables
from penstock.testing.trials import home

EXAMPLES = discover_examples()
CHECKS = [check for stage in EXAMPLES for check in checks_for(stage)]
SCHEMA = tables.ordinary(1).schema
TELLING = ("check_any_partitioning[ordinary]", "check_any_partitioning[offset]")
"""Tables that show how rows were cut: one that all stages take, and the one that is hard on sums. The others are hard
on what is done with rows, however they were cut."""
OF_FUNCTIONS = ("check_engines_agree[ordinary]", "check_any_partitioning[ordinary]", "check_scores_elsewhere")
"""What is asked of engines about a stage that learns nothing: it is one function to them, whatever it does."""


def gathered(stage: Stage) -> frozenset[type]:
    """Return what an engine is asked to gather for a stage: with the class, all that it sees of the parameters."""
    return frozenset(type(statistic) for statistic in stage.bind(SCHEMA).statistics(SCHEMA).values())


FIRST = {(type(stage), gathered(stage)): stage for stage in reversed(EXAMPLES)}


def asked_of_every_engine(check: Check) -> bool:
    """Return whether it is about the first example of its class of which engines are asked to gather this."""
    if not check.scheduled or check.stage is not FIRST[type(check.stage), gathered(check.stage)]:
        return False
    return bool(gathered(check.stage)) or check.name in OF_FUNCTIONS


def asked_of_this_process(check: Check) -> bool:
    if "partitioning" in check.name and check.name not in TELLING:
        return False
    return check.fitted and not check.name.startswith("check_engines_agree")


AGREEMENT = [check for check in CHECKS if asked_of_every_engine(check) and "engines_agree" in check.name]
ON_ENGINES = [check for check in CHECKS if asked_of_every_engine(check) and check not in AGREEMENT]
IN_PROCESS = [check for check in CHECKS if asked_of_this_process(check) and not asked_of_every_engine(check)]


@pytest.mark.parametrize("checks", classes(check for check in CHECKS if not check.fitted))
def test_a_stage_is_its_parameters(checks, local, subtests):
    for check in checks:
        with subtests.test(str(check)):
            check(local)


@pytest.fixture
def here(engines) -> LocalEngine:
    """The engine that all others are held to, so that each trial on it is made once."""
    return home(engines.get("local").kind)


@pytest.mark.parametrize("check", by_stage(IN_PROCESS))
def test_in_one_process(check, here):
    check(here)


@pytest.mark.parametrize("check", by_stage(AGREEMENT))
def test_clusters_agree_with_this_process(check, distributed_engine):
    check(distributed_engine)


@pytest.mark.parametrize("check", by_stage(ON_ENGINES))
def test_on_every_engine(check, engine, here):
    check(here if engine.name == here.name else engine)
