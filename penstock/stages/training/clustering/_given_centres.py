"""Centres that a user gives, to begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.parameter_checks import wrong_parameter

Given = tuple[tuple[Any, ...], ...]
"""Rows of coordinates, or pairs of a feature and its coordinates."""
_EXPECTED = "an array of finite numbers of shape (k, n_features), or a table with a column for each feature"


def plain_centres(stage: Any, name: str) -> None:
    """Make plain values of the centres that a stage is given, if any.

    Raises
    ------
    ConfigError
        They are no k rows of finite numbers.
    """
    given = getattr(stage, name)
    if given is None:
        return
    try:
        plain = _pairs(given) if _is_named(given) else tuple(map(tuple, _matrix(given).tolist()))
        rows = _matrix([values for _, values in plain]).T if _is_named(plain) else _matrix(plain)
    except (TypeError, ValueError) as error:
        raise wrong_parameter(stage, name, _EXPECTED) from error
    if rows.ndim != 2 or len(rows) != stage.k or not np.isfinite(rows).all():
        raise wrong_parameter(stage, name, f"{_EXPECTED}; k is {stage.k}")
    object.__setattr__(stage, name, plain)


def centres_of(given: Given, names: Sequence[str], stage: str) -> list[list[float]]:
    """Return the centres with a coordinate for each of these features, in their order.

    Raises
    ------
    ConfigError
        They are of other features.

    Examples
    --------
    >>> centres_of((("y", (1.0, 2.0)), ("x", (3.0, 4.0))), ["x", "y"], "KMeans")
    [[3.0, 1.0], [4.0, 2.0]]
    """
    columns = dict(given) if _is_named(given) else dict(zip(names, zip(*given, strict=True), strict=False))
    width = len(columns) if _is_named(given) else len(given[0])
    if set(columns) != set(names) or width != len(names):
        found = f"columns {', '.join(columns)}" if _is_named(given) else f"{width} coordinates"
        raise ConfigError(
            f"init of {stage} has {found}, expected one for each of the {len(names)} features: {', '.join(names[:10])}",
            hint="Centres have a coordinate for each feature, in the order of features.",
            stage=stage,
        )
    return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]


def has_origin(given: Given) -> bool:
    """Return whether a centre is 0 in all features.

    Examples
    --------
    >>> has_origin(((0.0, 1.0), (0.0, 0.0))), has_origin((("x", (0.0, 1.0)), ("y", (1.0, 0.0))))
    (True, False)
    """
    rows = zip(*(values for _, values in given), strict=True) if _is_named(given) else given
    return not all(map(any, rows))


def _is_named(given: Any) -> bool:
    if isinstance(given, Mapping | pa.Table):
        return True
    return isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0][0], str)


def _pairs(given: Any) -> Given:
    columns = given.to_pydict() if isinstance(given, pa.Table) else dict(given)
    return tuple((str(name), tuple(_matrix(values).tolist())) for name, values in columns.items())


def _matrix(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)
