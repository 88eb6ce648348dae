"""Checks of stages as sub-tests of one test, each within the time limit of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from pytest_timeout import get_env_settings

from penstock.engines.base import Engine
from penstock.engines.local import LocalEngine
from penstock.testing import Check
from penstock.testing.trials import home

Demand = Callable[[Iterable[Check], Engine], None]


@pytest.fixture
def demand(request: pytest.FixtureRequest, subtests: pytest.Subtests) -> Demand:
    """A function that runs checks on an engine and tells every failure, not the first alone."""
    settings, hooks = get_env_settings(request.config), request.config.pluginmanager.hook

    def demand_all(checks: Iterable[Check], engine: Engine) -> None:
        for check in checks:
            if settings.timeout:
                hooks.pytest_timeout_cancel_timer(item=request.node)
                hooks.pytest_timeout_set_timer(item=request.node, settings=settings)
            with subtests.test(str(check)):
                check(engine)

    return demand_all


@pytest.fixture
def here(engines) -> LocalEngine:
    """The engine that all others are held to, so that each trial on it is made once."""
    return home(engines.get("local").kind)
