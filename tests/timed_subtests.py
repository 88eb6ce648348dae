"""Sub-tests with a time limit each."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest
from pytest_timeout import get_env_settings

if TYPE_CHECKING:
    from penstock.engines.base import Engine
    from penstock.testing import Check


class TimedSubtests:
    """pytest's sub-tests; each restarts the time limit of its test."""

    def __init__(self, request: pytest.FixtureRequest, subtests: pytest.Subtests) -> None:
        self._item, self._subtests = request.node, subtests
        self._settings = get_env_settings(request.config)

    def test(self, msg: str | None = None, **values: Any) -> AbstractContextManager[None]:
        """Return a context manager that reports failures inside it and continues."""
        if self._settings.timeout:
            hooks = self._item.config.pluginmanager.hook
            hooks.pytest_timeout_cancel_timer(item=self._item)
            hooks.pytest_timeout_set_timer(item=self._item, settings=self._settings)
        return self._subtests.test(msg, **values)


def run_checks(checks: Iterable[Check], engine: Engine, subtests: TimedSubtests) -> None:
    """Run each check on an engine as a sub-test, so that every failure is reported."""
    for check in checks:
        with subtests.test(str(check)):
            check(engine)
