"""What stages that learn group by group share: the columns grouped by, and the group of a row that comes later."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.selectors import Columns, is_numeric, resolve
from penstock.stages.base import Fitted, Stage, normalise_columns, wrong_type
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.categories.vocabulary import codes, values_of
from penstock.statistics import Counts, Statistic
from penstock.statistics.grouped.group_moments import GroupMoments


@dataclass(frozen=True)
class GroupStage(Stage):
    """A stage that learns numbers for each group of rows, and looks them up for rows that come later.

    What it learns has ``groups``, an Arrow table with the columns of the keys, ascending.
    """

    columns: Columns
    _: KW_ONLY
    by: Columns
    handle_invalid: str = field(default="skip", metadata=one_of("skip", "keep"))

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "columns", "by")

    def bind(self, schema: pa.Schema) -> Self:
        columns, by = (resolve(each, schema, self.title) for each in (self.columns, self.by))
        for name in columns:
            self._check(schema, name, is_numeric, "numbers or booleans")
        for name in by:
            self._check(schema, name, is_key, "strings, integers or booleans to group by")
        return dataclasses.replace(self, columns=columns, by=by)

    def _check(self, schema: pa.Schema, name: str, test: Callable[[pa.DataType], bool], expected: str) -> None:
        kind = schema.field(name).type
        if not test(kind):
            raise wrong_type(self.title, name, kind, expected)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns grouped by; the stage is bound."""
        return self.by  # type: ignore[return-value]

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are learned from; the stage is bound."""
        return self.columns  # type: ignore[return-value]

    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.keys, *self.values)))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the moments and extremes of each group, and whether there are any values."""
        groups = GroupMoments((*self.keys, *self.values), keys=len(self.keys))
        return {"counts": Counts(self.values), "groups": groups}

    def groups(self, fitted: Fitted) -> pa.Table:
        """Return the keys of the groups."""
        return fitted["groups"].select(list(self.keys))

    def looked_up(self, known: pa.ChunkedArray, other: Any) -> pa.Array:
        """Return the numbers of the groups, and at the end what stands for rows in none of them.

        That is null, or with ``keep`` it is `other`, which then replaces nulls of the groups too.
        """
        numbers = pa.concat_arrays([known.combine_chunks(), pa.nulls(1, known.type)])
        return numbers if other is None or self.handle_invalid == "skip" else numbers.fill_null(other)


def is_key(kind: pa.DataType) -> bool:
    """Return whether rows can be grouped by a column of this type."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null))


def group_places(frame: nw.DataFrame, keys: pa.Table) -> nw.Series:
    """Return, int32, the row of `keys` that each row of a frame equals; their number for what is unseen or null.

    Each key is encoded by itself; the codes of several are then encoded together, as text.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"a": ["x", "y", None], "b": [1, 1, 1]}))
    >>> group_places(frame, pa.table({"a": ["x", "x"], "b": [2, 1]})).to_list()
    [1, 2, 2]
    """
    by = keys.column_names
    known = {name: pc.unique(keys[name]) if len(by) > 1 else _values_of(keys, name) for name in by}
    unseen = {name: len(values) for name, values in known.items()}
    found = codes(frame, known, unseen, unseen if len(by) == 1 else None)
    if len(by) == 1:
        return found.get_column(by[0])
    text = nw.concat_str([nw.col(name).cast(nw.String) for name in by], separator=",").alias("key")
    joint = found.select(text)
    coded = [pc.index_in(keys[name], known[name]).cast(pa.string()).combine_chunks() for name in by]
    joined = {"key": pc.binary_join_element_wise(*coded, ",")}
    rows = {"key": keys.num_rows}
    return frames.encode(joint, joined, rows, rows)["key"]


def _values_of(keys: pa.Table, name: str) -> pa.Array:
    """Return a key of every group as one array; see :func:`values_of`."""
    return values_of(keys.select([name]).rename_columns(["value"]))


def group_place(keys: pa.Table) -> Callable[[dict[str, Any]], int]:
    """Return what :func:`group_places` does as a function of one row.

    Examples
    --------
    >>> place = group_place(pa.table({"a": ["x", "x"], "b": [2, 1]}))
    >>> place({"a": "x", "b": 1}), place({"a": None, "b": 1})
    (1, 2)
    """
    by = keys.column_names
    places = {values: place for place, values in enumerate(zip(*keys.to_pydict().values(), strict=True))}
    return lambda row: places.get(tuple(row[name] for name in by), len(places))
