"""Rows with missing values left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from operator import and_
from typing import ClassVar

import narwhals as nw

from penstock.core.schemas import shorten
from penstock.dataset.steps import RowLog
from penstock.stages.base import Fitted, SelectedColumns, Tags
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing._dropping import FilterStage, drop_rows


@dataclass(frozen=True)
class DropNulls(SelectedColumns, FilterStage):
    """Drops the rows in which some of the columns, or all of them, are null; as pandas' ``dropna(subset=columns)``.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of any type.
    how : {"any", "all"}, default="any"
        Whether one null is enough, or the row goes only where every one of the columns is null.

    Raises
    ------
    ConfigError
        `how` is not known.
    SchemaError
        Before reading: a column is missing.

    Notes
    -----
    NaN is read as null. The rows are counted in the report, those of ``"any"`` by the first of the columns that is null
    in them. They are dropped wherever rows pass through, at fit too, and when a model scores: put the stage before what
    learns only where rows without these values need no prediction, and use :class:`Imputer` elsewhere. Statistics of
    later stages are gathered from the rows that are left. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, None, None], "y": ["a", "b", None]}))
    >>> ps.Pipeline(st.DropNulls(["x", "y"], how="all")).fit(data).transform(data).to_polars().rows()
    [(1, 'a'), (None, 'b')]
    """

    _: KW_ONLY
    how: str = field(default="any", metadata=one_of("any", "all"))

    tags: ClassVar[Tags] = Tags(keeps_rows=False)

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the rows that are kept, and count the others."""
        return drop_rows(frame, self._reasons(), log)

    def _reasons(self) -> Mapping[str, nw.Expr]:
        nulls = {name: nw.col(name).is_null() for name in self.inputs()}
        if self.how == "all" and len(nulls) > 1:
            return {f"all null: {shorten(self.inputs())}": reduce(and_, nulls.values())}
        return {f"{name} is null": null for name, null in nulls.items()}
