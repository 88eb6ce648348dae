"""What in the columns of a dataset would hurt a model, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.core.redaction import presentable
from penstock.dataset.description.relations import Correlations

if TYPE_CHECKING:
    from penstock.dataset.description.column_description import ColumnDescription

MOSTLY_MISSING = 0.5
NEAR_UNIQUE, _ENOUGH = 0.95, 20
SKEWED = 5.0
MIXED = 0.5
CORRELATED = 0.99
LEAKING = 0.8

_ADVICE = {
    "constant": "Leave it out: it tells rows apart in nothing.",
    "missing": "Leave it out, or fill it with an indicator beside it (Imputer, MissingIndicator).",
    "near_unique": "Leave it out, or use it as a key: a model would learn rows by heart.",
    "infinite": "Find out where they come from; filter them or make them null before statistics of the column.",
    "skewed": "Transform it (Log1p, QuantileTransformer, Winsorizer), or use trees, which do not mind.",
    "padded": "Strip the blanks: values that differ in them count as different.",
    "mixed": "Cast it to numbers, unless they are codes; make null what is none.",
    "duplicated": "Keep one of them.",
    "correlated": "Keep one of them, or use a penalty: coefficients of a linear model are not told apart.",
    "leaking": "Find out whether it is known when a row is scored; a column made after the label is no feature.",
}
"""What to do, by the name of a warning."""


@dataclass(frozen=True)
class ColumnWarning:
    """Something about a column, or several, that would hurt a model.

    Attributes
    ----------
    name : str
        ``"constant"``, ``"missing"``, ``"near_unique"``, ``"infinite"``, ``"skewed"``, ``"padded"``, ``"mixed"``,
        ``"duplicated"``, ``"correlated"`` or ``"leaking"``.
    columns : tuple of str
    value : float
        The number that it was noticed by.
    message : str
        What was found, in words.
    """

    name: str
    columns: tuple[str, ...]
    value: float
    message: str

    @property
    def advice(self) -> str:
        """What to do."""
        return _ADVICE[self.name]

    def __str__(self) -> str:
        return presentable(f"{self.name}: {', '.join(self.columns)}: {self.message}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        told = {"name": self.name, "columns": list(self.columns), "value": self.value}
        return {**told, "message": self.message, "advice": self.advice}


def find_warnings(
    columns: Sequence[ColumnDescription],
    correlations: Correlations | None,
    equal: Sequence[Sequence[str]],
    label: str | None,
) -> tuple[ColumnWarning, ...]:
    """Return what is to be said of columns, in the order of the kinds of warnings, then of the columns.

    Parameters
    ----------
    columns : sequence of ColumnDescription
        Of a full description.
    correlations : Correlations or None
    equal : sequence of sequence of str
        Groups of columns that are the same in every row.
    label : str or None
        It may be missing, skewed and the like; correlations with it are left to ``"leaking"``.
    """
    flat = {column.name for column in columns if not column.count or (column.distinct == 1 and not column.missing)}
    groups = [tuple(name for name in group if name not in flat) for group in equal]
    found = [warning for column in columns for warning in _of_column(column, label)]
    same = "they have the same value in every row"
    found += [ColumnWarning("duplicated", group, float(len(group)), same) for group in groups if len(group) > 1]
    found += _correlated(correlations, groups, label)
    return tuple(sorted(found, key=lambda warning: list(_ADVICE).index(warning.name)))


def _of_column(column: ColumnDescription, label: str | None) -> Iterator[ColumnWarning]:
    rows = column.count + column.missing
    if column.count and column.distinct == 1:
        yield _warning(column, "constant", 1, "every value is the same")
    if rows and column.missing > MOSTLY_MISSING * rows:
        yield _warning(
            column, "missing", column.missing / rows, f"{column.missing / rows:.1%} of the rows have no value"
        )
    if column.infinite:
        yield _warning(column, "infinite", column.infinite, f"{column.infinite:,} values are infinite")
    if column.name != label:
        yield from _of_feature(column)


def _of_feature(column: ColumnDescription) -> Iterator[ColumnWarning]:
    count, distinct = column.count, column.distinct or 0
    is_name = column.type == "string" or "int" in column.type
    if is_name and count >= _ENOUGH and distinct >= NEAR_UNIQUE * count:
        yield _warning(column, "near_unique", distinct / count, f"{distinct:,} different values in {count:,} rows")
    if column.skewness is not None and abs(column.skewness) >= SKEWED and distinct > 2:
        yield _warning(column, "skewed", column.skewness, f"its skewness is {column.skewness:.3g}")
    if column.padded:
        yield _warning(column, "padded", column.padded, f"{column.padded:,} texts have blanks before or after")
    if column.numeric and not column.codes and column.numeric >= MIXED * count:
        how = "all texts are" if column.numeric == count else f"{column.numeric / count:.1%} of the texts are"
        yield _warning(column, "mixed", column.numeric / count, f"{how} numbers")
    if column.association is not None and column.association >= LEAKING:
        yield _warning(column, "leaking", column.association, f"it tells {column.association:.1%} of the label")


def _warning(column: ColumnDescription, name: str, value: float, message: str) -> ColumnWarning:
    return ColumnWarning(name, (column.name,), float(value), message)


def _correlated(
    correlations: Correlations | None, equal: Sequence[Sequence[str]], label: str | None
) -> list[ColumnWarning]:
    pairs = [] if correlations is None else correlations.pairs(CORRELATED)
    left_out = {label, *(name for group in equal for name in group[1:])}
    return [
        ColumnWarning("correlated", (one, other), value, f"their correlation is {value:.4g}")
        for one, other, value in pairs
        if one not in left_out and other not in left_out
    ]
