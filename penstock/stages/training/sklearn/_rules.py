"""What must hold of the values that an estimator is fitted on, checked over all rows before."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.statistics.rules import Rule, rules_for


def rules(
    schema: pa.Schema,
    *,
    labels: tuple[str, ...],
    weight: str | None,
    features: tuple[str, ...],
    classifies: bool,
) -> Iterator[tuple[str, Rule]]:
    """Yield columns, each with a rule that its values keep.

    Examples
    --------
    >>> schema = pa.schema({"y": pa.string(), "x": pa.float64()})
    >>> found = rules(schema, labels=("y",), weight=None, features=("x",), classifies=True)
    >>> [(name, rule.test) for name, rule in found]
    [('y', 'null'), ('x', 'null'), ('x', 'infinite')]
    """
    for name in labels:
        of_floats = ("infinite", "not_whole") if classifies else ("infinite",)
        tests = ("null", *(of_floats if pa.types.is_floating(schema.field(name).type) else ()))
        yield from rules_for((name,), *tests)
    if weight is not None:
        yield from rules_for((weight,), "null", "infinite", "negative")
    for name in features:
        yield from rules_for((name,), "null", "infinite")


def value_error(
    name: str, rule: Rule, count: int, *, rows: int, features: tuple[str, ...], allow_nan: bool
) -> DataValueError | None:
    """Return the error for `count` values that break a rule; None for nulls that are allowed, unless all rows are."""
    of_feature = name in features and rule.test == "null"
    if of_feature and count == rows:
        return DataValueError(f"column {name!r} is null in all {rows} row(s)", hint="Leave it out.", column=name)
    if of_feature and allow_nan:
        return None
    error = rule.error(name, count)
    if of_feature:
        error.hint = "Put an Imputer before this step, or use an estimator that takes missing values."
    return error
