"""Columns scaled group by group."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.stages.base import Fitted, RowFunction, named_outputs, normalise_columns, with_fields
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing._groups import GroupStage, group_place, group_places
from penstock.stages.preprocessing.columns import check_values
from penstock.stages.shapes import Fields, ListOf, Number, Shape, TableOf, like
from penstock.statistics.grouped.group_moments import GroupMoment

_PARTS = ("shift", "scale")


@dataclass(frozen=True)
class GroupScaler(GroupStage):
    """Scales each value by the rows of the fit that have the key of its row, in float64; one scan and no shuffle.

    ============== =================================================================================================
    ``method``     what becomes of x
    ============== =================================================================================================
    ``"standard"`` ``(x - mean) / std`` of the group, ``std`` with n - 1 in the denominator, as :class:`StandardScaler`;
                   0.0 throughout a group of a single value, or of equal ones
    ``"minmax"``   ``(x - min) / (max - min)`` of the group, as :class:`MinMaxScaler`; 0.5 throughout such a group
    ============== =================================================================================================

    It is a stage of its own, and no ``by`` of those scalers, since what it learns is a table and not a number a column.
    There is no robust method: it would hold a sketch of quantiles for every group.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    by : str, sequence of str, or Selector
        Columns of strings, integers or booleans to group by; of several, each combination is a group. The values are
        matched by their text, see :class:`StringIndexer`.
    method : {"standard", "minmax"}, default="standard"
    handle_invalid : {"skip", "keep"}, default="skip"
        What becomes of a value whose key was unseen at fit, or is null, or had nothing but nulls in its column: null,
        or with ``keep`` it is scaled by all rows of the fit, those with a null key included.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        At fit: a column has no value that is not null, or one that is infinite or larger than 1e150; column, count,
        first file and row are named.

    Notes
    -----
    A null stays null and takes no part. An infinity that comes after the fit stays infinite, except in a group that was
    constant. What is learned grows with the number of groups, and every worker holds all of it. Learned are ``groups``,
    an Arrow table of the keys, ascending; ``lines``, one of ``shift_<i>`` and ``scale_<i>`` of column i for each of
    them; and ``overall``, for all rows the list of each by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"shop": ["a", "b", "a", "b"], "paid": [1.0, 50.0, 3.0, 90.0]}))
    >>> model = ps.Pipeline(st.GroupScaler("paid", by="shop", method="minmax")).fit(data)
    >>> model.predict([{"shop": "a", "paid": 3.0}, {"shop": "b", "paid": 70.0}, {"shop": None, "paid": 2.0}])
    [{'paid': 1.0}, {'paid': 0.5}, {'paid': None}]
    """

    version: ClassVar[int] = 2

    _: KW_ONLY
    method: str = field(default="standard", metadata=one_of("standard", "minmax"))
    output_columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "output_columns")

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns of both kinds, and check their types."""
        bound = super().bind(schema)
        return dataclasses.replace(bound, output_columns=named_outputs(self, bound.values))

    def outputs(self) -> tuple[str, ...]:
        """Return the columns made."""
        return self.output_columns or self.values

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns made, float64."""
        return with_fields(schema, dict.fromkeys(self.outputs(), pa.float64()))

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``groups``, ``lines`` and ``overall``."""
        check_values(results["counts"])
        found: GroupMoment = results["groups"]
        groups, whole = found.known(), found.whole()
        lines, overall = ([self._lines(each, name) for name in self.values] for each in (groups, whole))
        return {
            "groups": groups.keys,
            "lines": pa.table({f"{part}_{i}": line[part] for i, line in enumerate(lines) for part in _PARTS}),
            "overall": {part: [line[part][0].as_py() for line in overall] for part in _PARTS},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        rows = fitted["groups"].num_rows
        lines = {f"{part}_{i}": pa.types.is_floating for i in range(len(self.values)) for part in _PARTS}
        overall = Fields(dict.fromkeys(_PARTS, ListOf(Number(), len(self.values))))
        keys = {name: like(schema.field(name).type) for name in self.keys}
        groups = TableOf(keys, unique=self.keys)
        return Fields({"groups": groups, "lines": TableOf(lines, rows=rows, nullable=tuple(lines)), "overall": overall})

    def _lines(self, found: GroupMoment, name: str) -> dict[str, pa.Array]:
        """Return the shift and the divisor of each group, 0 for one of equal values; null for one without a value."""
        low, high, mean, std = (
            found.of(name, each).to_numpy(zero_copy_only=False) for each in ("min", "max", "mean", "std")
        )
        shift, width = (mean, std) if self.method == "standard" else (low, high - low)
        scale = np.where(low == high, 0.0, width)
        return {part: pa.array(each, mask=np.isnan(low)) for part, each in zip(_PARTS, (shift, scale), strict=True)}

    @property
    def _middle(self) -> float:
        """What becomes of the values of a constant group."""
        return 0.0 if self.method == "standard" else 0.5

    def _numbers(self, fitted: Fitted) -> dict[str, pa.Array]:
        """Return both numbers of each column, by group."""
        return {
            f"{part}_{i}": self.looked_up(fitted["lines"][f"{part}_{i}"], fitted["overall"][part][i])
            for part in _PARTS
            for i in range(len(self.values))
        }

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Find the group of each row, look its numbers up, and scale all columns in one list of expressions."""
        place = group_places(frame, self.groups(fitted))
        numbers = [frames.decode(place, each).alias(name) for name, each in self._numbers(fitted).items()]
        values = [nw.col(name).cast(nw.Float64).alias(f"value_{i}") for i, name in enumerate(self.values)]
        scaled = frame.select(*values).with_columns(*numbers).select(*map(self._scaled, range(len(values))))
        made = [scaled[str(i)].alias(out) for i, out in enumerate(self.outputs())]
        return frame.with_columns(*made)

    def _scaled(self, i: int) -> nw.Expr:
        value, shift, scale = (nw.col(f"{part}_{i}") for part in ("value", *_PARTS))
        constant = (scale == 0) & ~value.is_null()
        # Divided, not multiplied by an inverse: the largest value of a group is 1 to the bit.
        return nw.when(constant).then(nw.lit(self._middle)).otherwise((value - shift) / scale).alias(str(i))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Scale the values of one row."""
        place, middle = group_place(self.groups(fitted)), self._middle
        numbers = {name: each.to_pylist() for name, each in self._numbers(fitted).items()}
        columns = [
            (name, out, numbers[f"shift_{i}"], numbers[f"scale_{i}"])
            for i, (name, out) in enumerate(zip(self.values, self.outputs(), strict=True))
        ]

        def call(row: dict[str, Any]) -> None:
            at = place(row)
            row.update([(out, _scaled(row[name], shift[at], scale[at], middle)) for name, out, shift, scale in columns])

        return call


def _scaled(value: Any, shift: float | None, scale: float | None, middle: float) -> float | None:
    if value is None or shift is None or scale is None:
        return None
    return (float(value) - shift) / scale if scale else middle
