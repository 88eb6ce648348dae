"""Classes of score columns: labels are compared with them by value, never by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from penstock.core.errors import SchemaError
from penstock.core.known_classes import classes_of_scores
from penstock.stages.base import wrong_type
from penstock.stages.parameter_checks import is_finite_number, wrong_parameter

Known = tuple[Any, ...] | None
"""Classes in the order of their scores: none where a classifier is still to be fitted, None where nothing says them."""


def check_classes(evaluator: Any, most: int | None = None) -> None:
    """Make a tuple of the parameter ``classes``; ConfigError unless it is None, or two texts or numbers or more."""
    given = evaluator.classes
    if given is None:
        return
    values = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    alike = _are_texts(values) or all(isinstance(each, bool) or is_finite_number(each) for each in values)
    if not alike or len(_distinct(values)) != len(values) or not 2 <= len(values) <= (most or len(values)):
        expected = f"{most or '2 or more'} different texts, or numbers"
        raise wrong_parameter(evaluator, "classes", expected, 'In the order of their scores: classes=("no", "yes").')
    object.__setattr__(evaluator, "classes", values)


def known_classes(evaluator: Any, schema: pa.Schema, scores: Sequence[str | None]) -> Known:
    """Return the classes of score columns: the evaluator's parameter, or the columns' metadata.

    Raises
    ------
    SchemaError
        Two of these are not the same, or float64 cannot tell two classes apart.
    """
    noted = {name: classes_of_scores(schema, name) for name in scores if name is not None}
    known: Known = evaluator.classes or next(filter(None, noted.values()), None)
    for name, classes in noted.items():
        if classes and classes != known:
            problem = f"column {name!r} has scores of the classes {shown(classes)}, expected {shown(known or ())}"
            hint = "Leave classes out, or name those of this column; two columns are of one model."
            raise SchemaError(problem, hint=hint, column=name, stage=evaluator.title)
    if known and len(_distinct(known)) < len(known):
        problem = f"of the classes {shown(known)} two are one as float64, by which labels are compared"
        raise SchemaError(problem, hint="Have the label as a text.", column=evaluator.label, stage=evaluator.title)
    return () if known is None and () in noted.values() else known


def check_label(evaluator: Any, schema: pa.Schema, classes: Known) -> None:
    """Raise SchemaError for labels that are texts where known classes are numbers, or the other way round."""
    field = schema.field(evaluator.label)
    if classes and not are_labels(classes, schema, evaluator.label):
        hint = f"Evaluate by the column that the model has learned, or cast {field.name!r} to its type."
        raise wrong_type(evaluator.title, field.name, field.type, f"labels among the classes {shown(classes)}", hint)


def are_labels(classes: Sequence[Any], schema: pa.Schema, name: str) -> bool:
    """Return whether classes and a column have comparable types: both texts, or both numbers."""
    return is_text(schema, name) == _are_texts(classes)


def is_text(schema: pa.Schema, name: str) -> bool:
    """Return whether a column holds strings."""
    return bool(pa.types.is_string(schema.field(name).type))


def shown(classes: Sequence[Any]) -> str:
    """Return the first classes, for an error."""
    return ", ".join(map(repr, classes[:10])) + (", ..." if len(classes) > 10 else "")


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _distinct(values: Sequence[Any]) -> set[Any]:
    return set(values) if _are_texts(values) else set(map(float, values))
