"""The engine that conformance holds the others to."""

from __future__ import annotations

import pytest

from penstock.engines.local import LocalEngine
from penstock.testing.trials import home


@pytest.fixture
def here(engines) -> LocalEngine:
    """The engine that all others are held to, so that each trial on it is made once."""
    return home(engines.get("local").kind)
