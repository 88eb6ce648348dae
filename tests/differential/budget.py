"""How many tables are drawn: a few, and always the same, in the suite; ``TABLES`` of them, new ones, in a hunt."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings

TABLES = int(os.environ.get("TABLES", "0"))


def differential(few: int = 10, **strategies: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with values drawn from the strategies, `few` times in the suite."""
    budget = settings(
        max_examples=TABLES or few,
        derandomize=not TABLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),  # tables are large, and engines are shared by all examples
    )
    return lambda test: budget(given(**strategies)(test))
