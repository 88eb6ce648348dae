"""Categories replaced by how much they speak for one of two classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.categories._supervised import SupervisedEncoder, check_numeric, encodings_of
from penstock.statistics.grouped.group_sums import GroupSum, GroupSums


@dataclass(frozen=True)
class WeightOfEvidenceEncoder(SupervisedEncoder):
    """Replaces each value by the logarithm of its share of the label's ones over its share of the zeros, in float64.

    With r the `regularization`, and of the ``ones`` and ``zeros`` of the label those that a value has, it becomes
    ``ln(((ones_of_value + r) / (ones + 2 * r)) / ((zeros_of_value + r) / (zeros + 2 * r)))``, as in category_encoders'
    ``WOEEncoder``. Null is a value of its own, so that nothing that comes out is null; a value unseen at fit, null too,
    becomes 0, which speaks for neither class. MLlib and scikit-learn have no such stage.

    In a fit, the stages after this one learn from rows that are encoded fold by fold, without their own label, as those
    of :class:`TargetEncoder`.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are matched by their text, see :class:`StringIndexer`.
        Numbers are put into bins before, by :class:`QuantileDiscretizer`, say.
    label : str, default="label"
        The target: 0 and 1, or booleans. It is read at fit alone.
    regularization : float, default=1.0
        Larger than 0: how many rows of each class every value is thought to have besides its own.
    num_folds : int or None, default=5
        In how many folds rows that are learned from are encoded; None encodes them with their own labels among the
        rest.
    fold : str, optional
        Column of the fold of each row, from 0 to ``num_folds - 1``; without it rows are dealt by their number.
    seed : int, default=0
        Of that deal.
    handle_invalid : {"keep", "error"}, default="keep"
        What becomes of a value unseen at fit: 0, or an error. Null is never refused.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or the label is among the columns.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        At fit: a label is null, or neither 0 nor 1, or all are the same; a number in `fold` is no fold. When it runs,
        with ``handle_invalid="error"``: values unseen at fit. Column, count, first file and row are named.

    Notes
    -----
    Learned are ``encodings``, an Arrow table by column of ``value`` (ascending, in the type of the column), ``count``
    and ``encoding_0``, the weight; ``missing``, a list of one number by column, the weight of null; ``prior``, 0 in a
    list; and ``information_value``, a number by column: the sum over all values of the difference of the two shares
    times the weight, the shares as above. It is 0 where a column tells nothing of the label; from 0.3 on, by a rule
    of credit scoring, it tells much. Unlike category_encoders, a value of a single row keeps its weight.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"c": ["a", "a", "a", "b", "b", None], "label": [1, 1, 0, 0, 0, 1]})
    >>> model = ps.Pipeline(st.WeightOfEvidenceEncoder("c")).fit(ps.LocalEngine().from_arrow(table))
    >>> [round(row["c"], 3) for row in model.predict([{"c": "a"}, {"c": "b"}, {"c": None}, {"c": "z"}], columns="c")]
    [0.405, -1.099, 0.693, 0.0]
    >>> round(model.fitted[0]["information_value"]["c"], 3)
    0.659
    """

    _: KW_ONLY
    regularization: float = field(default=1.0, metadata=in_range(above=0, most=1e300))

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them, the label and the column of folds."""
        check_numeric(bound := super().bind(schema), schema, "binary")
        return bound

    def group_sums(self) -> GroupSums:
        """Return the number of ones over each value."""
        return GroupSums(self.inputs(), self.label, "not_binary")

    def check(self, sums: Mapping[str, GroupSum]) -> None:
        """Raise DataValueError unless the label has both classes."""
        found = sums[self.inputs()[0]]
        rows, ones = int(found.counts.sum()), int(found.sums.sum())
        if not 0 < ones < rows:
            raise DataValueError(
                f"label {self.label!r} has one class, expected both; counts: 0: {rows - ones}, 1: {ones}",
                hint="What speaks for one class cannot be told from what speaks for the other.",
                column=self.label,
            )

    def learned(self, sums: Mapping[str, GroupSum]) -> dict[str, Any]:
        """Return ``prior``, ``encodings``, ``missing`` and ``information_value`` of some rows."""
        shares = {name: self._shares(sums[name]) for name in self.inputs()}
        weights = {name: np.log(ones / zeros) for name, (ones, zeros) in shares.items()}
        found = {name: encodings_of(sums[name], weights[name][:, None], [0.0]) for name in self.inputs()}
        return {
            "prior": [0.0],
            "encodings": {name: table for name, (table, _) in found.items()},
            "missing": {name: missing for name, (_, missing) in found.items()},
            "information_value": {
                name: math.fsum((ones - zeros) * weights[name]) for name, (ones, zeros) in shares.items()
            },
        }

    def _shares(self, found: GroupSum) -> tuple[np.ndarray, np.ndarray]:
        """Return the share that each category has of the ones, and of the zeros."""
        ones = found.sums[:, 0]
        zeros = found.counts - ones
        first, second = (
            (each + self.regularization) / (each.sum() + 2 * self.regularization) for each in (ones, zeros)
        )
        return first, second
