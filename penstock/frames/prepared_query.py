"""A query that is planned once, and then run on one frame after the other: Polars on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import narwhals as nw
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from penstock.frames import no_rows

_AS_IF_EAGER = pl.QueryOptFlags.none(simplify_expression=True)
"""What Polars does to a single call of a frame's; there is nothing to be read less of, and more takes its time."""


class PreparedQuery:
    """Expressions over frames of one schema, in a plan that is kept: making it takes longer than a thousand rows.

    It may be called from several threads; those that call it at the same time have a plan each.

    Parameters
    ----------
    query : callable
        Makes a lazy frame of a lazy frame.
    schema : pyarrow.Schema
        What comes in.

    Examples
    --------
    >>> doubled = PreparedQuery(lambda frame: frame.with_columns(nw.col("x") * 2), pa.schema({"x": pa.int64()}))
    >>> doubled(nw.from_native(pl.DataFrame({"x": [1, None]}), eager_only=True))["x"].to_list()
    [2, None]
    """

    def __init__(self, query: Callable[[nw.LazyFrame], nw.LazyFrame], schema: pa.Schema) -> None:
        self._query, self._empty = query, nw.to_native(no_rows(schema))
        self._idle = [_Plan(query, self._empty)]

    def __call__(self, frame: nw.DataFrame) -> nw.DataFrame:
        """Return what the query makes of a frame on a CPU, which has exactly the schema."""
        try:
            plan = self._idle.pop()
        except IndexError:
            plan = _Plan(self._query, self._empty)
        made = plan.run(nw.to_native(frame))
        self._idle.append(plan)
        return nw.from_native(made, eager_only=True)


class _Plan:
    """A plan whose source is whatever frame it is run on; in one thread at a time."""

    def __init__(self, query: Callable[[nw.LazyFrame], nw.LazyFrame], empty: pl.DataFrame) -> None:
        # What Polars holds must not hold this, as Python could not tell that nobody else does.
        self._read = read = [empty]

        def source(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
            yield read[0] if columns is None else read[0].select(columns)

        lazy = register_io_source(source, schema=empty.schema, validate_schema=True)
        self._lazy: pl.LazyFrame = query(nw.from_native(lazy)).to_native()

    def run(self, frame: pl.DataFrame) -> pl.DataFrame:
        empty, self._read[0] = self._read[0], frame
        try:
            return self._lazy.collect(engine="in-memory", optimizations=_AS_IF_EAGER)
        finally:
            self._read[0] = empty
