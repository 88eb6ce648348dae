"""Categories replaced by the mean of a target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.preprocessing.categories._supervised import SupervisedEncoder, check_numeric, encodings_of
from penstock.stages.preprocessing.categories.vocabulary import check_new, holds, spelt
from penstock.statistics.grouped.group_sums import GroupSum, GroupSums

_RULES = {"binary": "not_binary", "continuous": "infinite", "multiclass": "not_in"}


@dataclass(frozen=True)
class TargetEncoder(SupervisedEncoder):
    """Replaces each value by the mean of the label in the rows that had it at fit, drawn to the mean of all rows.

    With n rows of a value, their mean and the `prior`, the mean of all rows, it becomes, as in MLlib and scikit-learn,
    ``w * mean + (1 - w) * prior`` with ``w = n / (n + smoothing)``, in float64. Null is a value of its own, so that
    nothing that comes out is null; a value unseen at fit, null too, becomes the prior.

    In a fit, the stages after this one learn from rows that are encoded without their own label: each fold by the
    means of the other folds, as by scikit-learn's ``fit_transform``. Otherwise a model would learn labels from the
    encodings of rare values, and trust them too much. `transform` has the means of all rows, as scikit-learn's has, and
    MLlib's, which has no folds.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text, see :class:`StringIndexer`.
    label : str, default="label"
        The target: numbers or booleans, for ``multiclass`` integers, booleans or strings. It is read at fit alone.
    target_type : {"binary", "continuous", "multiclass"}, default="binary"
        ``binary`` takes 0 and 1; the mean is the share of 1. ``multiclass``, which MLlib does not have, gives one
        column a class, the share of that class.
    classes : sequence, optional
        For ``multiclass``, and for nothing else: the classes, all that the label has. The columns made are named
        ``<column>_<class>`` and added; of the others the columns are replaced unless `output_columns` says otherwise.
    smoothing : float, default=0.0
        As MLlib's ``smoothing`` and a number as scikit-learn's ``smooth``, whose ``"auto"`` is absent.
    num_folds : int or None, default=5
        In how many folds rows that are learned from are encoded; None encodes them with their own labels among the
        rest, as MLlib does.
    fold : str, optional
        Column of the fold of each row, from 0 to ``num_folds - 1``; rows of one person, say, belong in one fold.
        Without it rows are dealt by their number: the same rows on every engine and partitioning.
    seed : int, default=0
        Of that deal.
    handle_invalid : {"keep", "error"}, default="keep"
        What becomes of a value unseen at fit: the prior, or an error, which is MLlib's default. Null is never refused.
    output_columns : sequence of str, optional
        Names for the results, one a column; for ``multiclass`` what their names begin with.

    Raises
    ------
    ConfigError
        A parameter is wrong, a class cannot be a value of the label, the label is among the columns, or a column to be
        added is there already.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        At fit: a label is null, infinite, larger than 1e150, not 0 or 1 for ``binary``, or none of the classes; a
        number in `fold` is none. When it runs, with ``handle_invalid="error"``: values unseen at fit. Column, count,
        first file and row are named.

    Notes
    -----
    Sums are exact to the last digit in whatever order rows are read. Learned are ``prior``, a list of a number a class
    (one unless ``multiclass``); ``encodings``, an Arrow table by column of ``value`` (ascending, in the type of the
    column), ``count`` and for class i ``encoding_<i>``; and ``missing``, a list by column, the encoding of null. A
    value that only one fold has becomes there the mean of the labels of the other folds.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"c": ["a", "a", "b", None], "label": [1, 0, 1, 1]})
    >>> model = ps.Pipeline(st.TargetEncoder("c", smoothing=1)).fit(ps.LocalEngine().from_arrow(table))
    >>> model.predict([{"c": "a"}, {"c": "b"}, {"c": None}, {"c": "z"}], columns="c")
    [{'c': 0.5833333333333333}, {'c': 0.875}, {'c': 0.875}, {'c': 0.75}]
    """

    _: KW_ONLY
    target_type: str = field(default="binary", metadata=one_of(*_RULES))
    classes: tuple[Any, ...] | None = None
    smoothing: float = field(default=0.0, metadata=in_range(least=0, most=1e300))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        if (self.target_type == "multiclass") != bool(self.classes):
            raise ConfigError(
                f"target_type of TargetEncoder is {self.target_type!r} and classes are {self.classes!r};"
                " expected classes for 'multiclass', and for nothing else",
                hint="They tell how many columns there will be, before any data is read.",
                stage=self.title,
            )

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them, the label and the column of folds."""
        bound = super().bind(schema)
        if self.classes is None:
            check_numeric(self, schema, self.target_type, 'For classes pass target_type="multiclass" and classes.')
        bound._check_classes(schema.field(self.label).type)
        if self.classes is not None:
            check_new(bound, schema)
        return bound

    def _check_classes(self, kind: pa.DataType) -> None:
        classes = self.classes or ()
        if len({spelt(each) for each in classes}) < len(classes) or not all(holds(kind, each) for each in classes):
            raise ConfigError(
                f"classes of TargetEncoder are {classes!r:.200}, expected different values of type {kind}, that of"
                f" label {self.label!r}",
                column=self.label, stage=self.title,
            )  # fmt: skip

    def outputs(self) -> tuple[str, ...]:
        """Return the columns made, those of the first column first."""
        return tuple(out for name, first in self.pairs() for out, _ in self.made(first))

    def pairs(self) -> list[tuple[str, str]]:
        """Return (input, output) names; for ``multiclass`` what the names of the outputs begin with."""
        return list(zip(self.inputs(), super().outputs(), strict=True))

    def made(self, out: str) -> list[tuple[str, int]]:
        """Return the names for one column, each with the number of its class."""
        if self.classes is None:
            return [(out, 0)]
        return [(f"{out}_{spelt(each)}", place) for place, each in enumerate(self.classes)]

    def group_sums(self) -> GroupSums:
        """Return the sums of the label, or of each class, over each value."""
        return GroupSums(self.inputs(), self.label, _RULES[self.target_type], self.classes or ())

    def learned(self, sums: Mapping[str, GroupSum]) -> dict[str, Any]:
        """Return ``prior``, ``encodings`` and ``missing`` of some rows."""
        whole = sums[self.inputs()[0]]
        prior = np.array([math.fsum(column) for column in whole.sums.T.tolist()]) / whole.counts.sum()
        found = {
            name: encodings_of(sums[name], self._drawn(sums[name], prior), prior.tolist()) for name in self.inputs()
        }
        return {
            "prior": prior.tolist(),
            "encodings": {name: table for name, (table, _) in found.items()},
            "missing": {name: missing for name, (_, missing) in found.items()},
        }

    def _drawn(self, found: GroupSum, prior: np.ndarray) -> np.ndarray:
        weight = (found.counts / (found.counts + self.smoothing))[:, None]
        return weight * found.means + (1 - weight) * prior
