"""Numbers in the smallest types that hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames.columns import arrow_schema
from penstock.stages.base import ColumnStage, Fitted, Tags, with_fields
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.columns import check_values, integer_range, refuse_rows
from penstock.stages.shapes import Fields, Shape, Text, by_column
from penstock.statistics import Counts, Extreme, Extremes, Rule, Statistic, Violations

_SIGNED = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_UNSIGNED = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_KINDS = {str(kind): kind for kind in (*_SIGNED, *_UNSIGNED)} | {"float32": pa.float32()}


@dataclass(frozen=True)
class ReduceDtypes(ColumnStage):
    """Gives each column the smallest type that holds what it held at fit: less memory, the same numbers.

    Integers go to the smallest integer type that holds the smallest and the largest of them, float64 to float32 where
    that holds every value. No column gets a larger type than it has; booleans and smaller floats stay as they are.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans.
    unsigned : bool, default=False
        Give columns without negative integers an unsigned type.
    tolerance : float, default=0.0
        By what share of itself float32 may change a value, at least 0 and below 1. With 0 every value survives exactly,
        which mostly those do that were float32 before or have few digits in binary; with 1e-7 all those do whose
        size is between 1.2e-38 and 3.4e38, and zero.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `tolerance` is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column of numbers has no value that is not null. When it runs: values that the type of their column
        does not hold, as it came of others; column, count, first file and row are named.

    Notes
    -----
    A null stays null, and float32 holds infinities. The range of an integer type is wider than that of the values that
    it came of, so that not every new extreme is refused: where values may grow, name the columns that may not.

    The types are known once the stage is fitted; stages after it are bound to them then. Learned are ``types``, names
    by column; a column that was larger already has the smaller of the two.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"i": [1, 200], "x": [0.5, None], "y": [0.1, 0.2]}))
    >>> model = ps.Pipeline(st.ReduceDtypes(["i", "x", "y"], unsigned=True)).fit(data)
    >>> [str(kind) for kind in model.transform(data).to_arrow().schema.types]
    ['uint8', 'float', 'double']
    """

    _: KW_ONLY
    unsigned: bool = False
    tolerance: float = field(default=0.0, metadata=in_range(least=0, most=float(np.nextafter(1.0, 0.0))))

    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema with the smaller types."""
        return with_fields(schema, {out: _smaller(schema.field(name).type, name, fitted) for name, out in self.pairs()})

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the extremes of integers, and how many values of float64 float32 does not hold."""
        kinds = {name: schema.field(name).type for name in self.inputs()}
        integers = tuple(name for name, kind in kinds.items() if pa.types.is_integer(kind))
        doubles = tuple(name for name, kind in kinds.items() if pa.types.is_float64(kind))
        asked: dict[str, Statistic] = {"counts": Counts(integers + doubles)} if integers or doubles else {}
        asked |= {"extremes": Extremes(integers)} if integers else {}
        return asked | ({"changed": Violations(doubles, "not_float32", (self.tolerance,))} if doubles else {})

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``types``, names by column, of the columns that can have another."""
        check_values(results.get("counts", {}))
        types = {name: str(self._integer(extreme)) for name, extreme in results.get("extremes", {}).items()}
        return {"types": types | {name: "float32" for name, bad in results.get("changed", {}).items() if not bad.count}}

    def _integer(self, extreme: Extreme) -> pa.DataType:
        """Return the smallest type that holds a range; int64 does not hold every unsigned one."""
        family = _UNSIGNED if self.unsigned and extreme.min >= 0 else _SIGNED
        ranges = ((kind, *integer_range(kind)) for kind in family)
        fitting = [kind for kind, low, high in ranges if low <= extreme.min and extreme.max <= high]
        return fitting[0] if fitting else pa.uint64()

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"types": by_column(self.inputs(), Text(tuple(_KINDS)), some=True)})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check the values of all columns in one select, then cast them."""
        schema = arrow_schema(frame, self.inputs())
        kinds = {name: _smaller(schema.field(name).type, name, fitted) for name in self.inputs()}
        broken = {name: self._rule(kinds[name]) for name in kinds if kinds[name] != schema.field(name).type}
        frame = refuse_rows(frame, broken, lambda name, count: self._error(name, kinds[name], count))
        dtypes = frames.dtypes(pa.schema(list(kinds.items())))
        return frame.with_columns(*[
            (nw.col(name).cast(dtypes[name]) if name in broken else nw.col(name)).alias(out)
            for name, out in self.pairs()
        ])  # fmt: skip

    def _rule(self, kind: pa.DataType) -> Rule:
        if pa.types.is_floating(kind):
            return Rule("not_float32", (self.tolerance,))
        return Rule("not_between", integer_range(kind))

    def _error(self, name: str, kind: pa.DataType, count: int) -> DataValueError:
        told = "float32" if pa.types.is_floating(kind) else str(kind)
        return DataValueError(
            f"column {name!r} has {count} values that {told} does not hold, which held all of them at fit",
            hint=f"Fit again to data with such values, or take {name!r} from {self.title}.",
            column=name,
            predicate=self._rule(kind).broken(name),
        )

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Check and cast one value."""
        made = _smaller(kind, name, fitted)
        if made == kind:
            return lambda value: value
        convert = self._nearest if pa.types.is_floating(made) else _within(integer_range(made))

        def reduced(value: Any) -> Any:
            if value is None:
                return None
            found = convert(value)
            if found is None:
                raise self._error(name, made, 1)
            return found

        return reduced

    def _nearest(self, value: float) -> float | None:
        with np.errstate(over="ignore"):
            near = float(np.float32(value))
        return near if near == value or abs(near - value) <= self.tolerance * abs(value) else None


def _smaller(kind: pa.DataType, name: str, fitted: Fitted) -> pa.DataType:
    """Return the type that a column of type `kind` becomes: the learned one where that is smaller."""
    found = _KINDS.get(fitted["types"].get(name))
    return kind if found is None or found.bit_width >= kind.bit_width else found


def _within(ends: tuple[int, int]) -> Callable[[int], int | None]:
    return lambda value: value if ends[0] <= value <= ends[1] else None
