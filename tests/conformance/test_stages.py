"""Every stage of the library, found and not listed, through the suite that is shipped: on each engine and device.

What an engine, a table or a parameter cannot change is checked once; ``exhaustive.py`` runs the products as well.
"""

from __future__ import annotations

import functools

import pytest
from covering import covering
from demanding import demand_all
from grouping import EXAMPLES, by_class

from penstock.engines.local import LocalEngine
from penstock.stages.base import Stage
from penstock.testing import Check, checks_for, tables
from penstock.testing.cases import trains
from penstock.testing.trials import home

CHECKS = [check for stage in EXAMPLES for check in checks_for(stage)]
SCHEMA = tables.ordinary(1).schema
TELLING = ("check_any_partitioning[ordinary]", "check_any_partitioning[offset]")
"""Tables that show how rows were cut: one that all stages take, and the one that is hard on sums. The others are hard
on what is done with rows, however they were cut."""
OF_FUNCTIONS = ("check_engines_agree[ordinary]", "check_any_partitioning[ordinary]", "check_scores_elsewhere")
"""What is asked of engines about a stage that learns nothing: it is one function to them, whatever it does."""


@functools.cache
def gathered(stage: Stage) -> frozenset[type]:
    """Return what an engine is asked to gather for a stage: all that it sees of it, unless it trains."""
    return frozenset(type(statistic) for statistic in stage.bind(SCHEMA).statistics(SCHEMA).values())


def seen(stage: Stage) -> frozenset[str]:
    """Return what a cluster sees of a stage: each statistic by itself, its trainer, or out of which package it is."""
    package, _, module = type(stage).__module__.rpartition(".")
    statistics = {f"{kind.__module__}.{kind.__qualname__}" for kind in gathered(stage)}
    return frozenset(statistics | {f"{package}.{module}"} if trains(stage) else statistics or {package})


CHOSEN = {EXAMPLES[place] for place in covering([dict.fromkeys(seen(stage), ()) for stage in EXAMPLES], 1)}
"""A few examples in which clusters see everything that there is to see."""


def asked_of_every_engine(check: Check) -> bool:
    """Return whether it is about one of the examples for clusters, and says something of an engine."""
    if not check.scheduled or check.stage not in CHOSEN:
        return False
    return bool(gathered(check.stage)) or check.name in OF_FUNCTIONS


def asked_of_this_process(check: Check) -> bool:
    if "partitioning" in check.name and check.name not in TELLING:
        return False
    return check.fitted and not check.name.startswith("check_engines_agree")


ASKED = [check for check in CHECKS if asked_of_every_engine(check)]
AGREEMENT = [check for check in ASKED if "engines_agree" in check.name]
ON_ENGINES = [check for check in ASKED if "engines_agree" not in check.name]
IN_PROCESS = [check for check in CHECKS if asked_of_this_process(check) and not asked_of_every_engine(check)]


@pytest.mark.parametrize("checks", by_class(check for check in CHECKS if not check.fitted))
def test_a_stage_is_its_parameters(checks, local):
    demand_all(checks, local)


@pytest.fixture
def here(engines) -> LocalEngine:
    """The engine that all others are held to, so that each trial on it is made once."""
    return home(engines.get("local").kind)


@pytest.mark.parametrize("checks", by_class(IN_PROCESS))
def test_in_one_process(checks, here):
    demand_all(checks, here)


@pytest.mark.parametrize("checks", by_class(AGREEMENT))
def test_clusters_agree_with_this_process(checks, distributed_engine):
    demand_all(checks, distributed_engine)


@pytest.mark.parametrize("checks", by_class(ON_ENGINES))
def test_on_every_engine(checks, engine, here):
    demand_all(checks, here if engine.name == here.name else engine)
