"""The coefficients of a linear model as a table to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

_INFERRED = {"standard_error": "coefficient_standard_errors", "t_value": "t_values", "p_value": "p_values"}
INTERCEPT = "(intercept)"


def coefficient_table(
    terms: Sequence[tuple[str, float]],
    intercept: float | None,
    summary: Mapping[str, Any] | None = None,
    *,
    of_class: Any = None,
) -> pa.Table:
    """Return a row per term, and one for the intercept if there is one.

    Parameters
    ----------
    terms : sequence of (str, float)
        Features and their coefficients.
    intercept : float or None
    summary : mapping, optional
        What was inferred of each, the intercept last, as `fitted` has it; null where it has not.
    of_class : str, int, float or bool, optional
        Whose margin it is that they add up to, in words.

    Returns
    -------
    pyarrow.Table
        ``feature`` (string, "(intercept)" for that), ``value`` (float64), ``kind`` ("coefficient" or "intercept"),
        ``class`` (string or null), ``standard_error``, ``t_value`` and ``p_value`` (float64 or null).

    Examples
    --------
    >>> table = coefficient_table([("x", 2.0)], 1.0, {"p_values": [0.01, 0.5]})
    >>> table.select(["feature", "value", "kind", "p_value"]).to_pylist()[1]
    {'feature': '(intercept)', 'value': 1.0, 'kind': 'intercept', 'p_value': 0.5}
    """
    rows = [*terms, *([] if intercept is None else [(INTERCEPT, intercept)])]
    kinds = ["coefficient"] * len(terms) + ["intercept"] * (len(rows) - len(terms))
    none = [None] * len(rows)
    inferred = {name: pa.array((summary or {}).get(key, none), pa.float64()) for name, key in _INFERRED.items()}
    told = None if of_class is None else str(of_class)
    return pa.table(
        {
            "feature": pa.array([term for term, _ in rows], pa.string()),
            "value": pa.array([value for _, value in rows], pa.float64()),
            "kind": kinds,
            "class": pa.array([told] * len(rows), pa.string()),
            **inferred,
        }
    )
