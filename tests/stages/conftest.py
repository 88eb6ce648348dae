"""What the comparisons with MLlib need."""

from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, engines: Any) -> Any:
    """The Spark session of the run."""
    if "spark" not in request.config.getoption("--engines"):
        pytest.skip("spark is not among --engines")
    return engines.get("spark").session
