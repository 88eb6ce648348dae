"""Plain values for JSON, with texts for infinity and NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def as_json(value: Any) -> Any:
    """Return plain values with a text for each number that JSON does not have.

    Examples
    --------
    >>> as_json({"rmse": float("inf"), "rows": [1, 2.5]})
    {'rmse': 'inf', 'rows': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
