"""The reference engine of conformance."""

import pytest

from penstock.engines.local import LocalEngine
from penstock.testing.trials import home


@pytest.fixture
def here(engines) -> LocalEngine:
    """The reference engine; trials on it are shared."""
    return home(engines.get("local").kind)
