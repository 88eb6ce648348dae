"""What the rows of a group have in common, beside each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, did_you_mean
from penstock.stages.base import Fitted, RowFunction, Tags, normalise_columns, with_fields
from penstock.stages.preprocessing._groups import GroupStage, group_place, group_places
from penstock.stages.preprocessing.categories.vocabulary import check_new
from penstock.stages.preprocessing.columns import check_values
from penstock.stages.shapes import Fields, Maybe, Scalar, Shape, TableOf, by_column, is_number, like
from penstock.statistics.grouped.group_moments import GroupMoment

AGGREGATES = ("count", "sum", "mean", "std", "min", "max")
_OF_NONE = {"count": 0, "sum": 0.0}


@dataclass(frozen=True)
class GroupStatistics(GroupStage):
    """Adds ``<column>_<aggregate>_by_<key>``: what the rows of the fit that have the key of a row came to.

    As a group-by joined back to the rows, but one scan and no shuffle: the groups travel with the model.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), of which statistics are taken.
    by : str, sequence of str, or Selector
        Columns of strings, integers or booleans to group by; of several, each combination is a group, and in names
        they are joined by ``_``. The values are matched by their text, see :class:`StringIndexer`.
    aggregates : sequence of {"count", "sum", "mean", "std", "min", "max"}, default all of them
        ``count`` (int64; the others float64) is the number of values that are not null, ``std`` the sample standard
        deviation, with n - 1 in the denominator.
    handle_invalid : {"skip", "keep"}, default="skip"
        What becomes of a row whose key was unseen at fit, or is null: null, or with ``keep`` the statistic of all rows,
        those with a null key included; ``count`` and ``sum`` are 0 then. ``keep`` puts it also where a group has no
        such statistic: no value, or a single one for ``std``.

    Raises
    ------
    ConfigError
        A parameter is wrong, or a column to be added is there already.
    SchemaError
        At fit, before reading: a column is missing or of another type.
    DataValueError
        At fit: a column has no value that is not null, or one that is infinite or larger than 1e150; column, count,
        first file and row are named.

    Notes
    -----
    Nulls in `columns` are left out. The rows that are learned from get the statistics of their group with themselves
    among it; of a label, or of what is known only later, use :class:`TargetEncoder`. Sums do not depend on the order of
    rows. What is learned grows with the number of groups, and every worker holds all of it. Learned are ``groups``, an
    Arrow table of the keys, ascending, and a column for each output, and ``overall``, by output, what ``keep`` puts in.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"shop": ["a", "b", "a"], "paid": [1.0, 5.0, 3.0]}))
    >>> model = ps.Pipeline(st.GroupStatistics("paid", by="shop", aggregates=["count", "mean"])).fit(data)
    >>> model.transform(data).to_polars().rows()
    [('a', 1.0, 2, 2.0), ('b', 5.0, 1, 5.0), ('a', 3.0, 2, 2.0)]
    >>> model.predict([{"shop": "z", "paid": 2.0}])
    [{'paid_count_by_shop': None, 'paid_mean_by_shop': None}]
    """

    _: KW_ONLY
    aggregates: tuple[str, ...] = AGGREGATES

    tags: ClassVar[Tags] = Tags(
        skips_nulls=True, tells_labels="a group is told of with all its rows: columns are features, and no label"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "aggregates")
        unknown = [each for each in self.aggregates if each not in AGGREGATES]
        if unknown or not self.aggregates or len(set(self.aggregates)) < len(self.aggregates):
            raise ConfigError(
                f"aggregates of GroupStatistics are {self.aggregates!r}, expected some of {', '.join(AGGREGATES)}, each"
                " once." + (did_you_mean(str(unknown[0]), AGGREGATES) if unknown else ""),
                stage=self.title,
            )

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns of both kinds, check their types, and that what is added has names of its own."""
        bound = super().bind(schema)
        check_new(bound, schema)
        return bound

    def _made(self) -> dict[str, tuple[str, str]]:
        """Return the column and the aggregate by output."""
        key = "_".join(self.keys)
        return {f"{name}_{each}_by_{key}": (name, each) for name in self.values for each in self.aggregates}

    def inputs(self) -> tuple[str, ...]:
        """Return the columns grouped by: rows that are scored may lack those that were learned from."""
        return self.keys

    def outputs(self) -> tuple[str, ...]:
        """Return the columns added, those of the first column first."""
        return tuple(self._made())

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns added."""
        kinds = {out: pa.int64() if each == "count" else pa.float64() for out, (_, each) in self._made().items()}
        return with_fields(schema, kinds)

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``groups`` and ``overall``."""
        check_values(results["counts"])
        found: GroupMoment = results["groups"]
        groups, whole = found.known(), found.whole()
        made = self._made().items()
        columns = dict(zip(self.keys, groups.keys.columns, strict=True))
        columns |= {out: groups.of(name, each) for out, (name, each) in made}
        overall = {out: _OF_NONE.get(each, whole.of(name, each)[0].as_py()) for out, (name, each) in made}
        return {"groups": pa.table(columns), "overall": overall}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        keys = {name: like(schema.field(name).type) for name in self.keys}
        numbers = dict.fromkeys(self.outputs(), is_number)
        overall = by_column(self.outputs(), lambda name: Maybe(Scalar(fitted["groups"][name].type)))
        return Fields(
            {"groups": TableOf({**keys, **numbers}, nullable=self.outputs(), unique=self.keys), "overall": overall}
        )

    def _found(self, fitted: Fitted, out: str) -> pa.Array:
        return self.looked_up(fitted["groups"][out], fitted["overall"][out])

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Find the group of each row, and look its statistics up."""
        place = group_places(frame, self.groups(fitted))
        made = [frames.decode(place, self._found(fitted, out)).alias(out) for out in self.outputs()]
        return frame.with_columns(*made)

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Look the statistics of one row up."""
        place = group_place(self.groups(fitted))
        values = {out: self._found(fitted, out).to_pylist() for out in self.outputs()}

        def call(row: dict[str, Any]) -> None:
            at = place(row)
            row.update({out: each[at] for out, each in values.items()})

        return call
