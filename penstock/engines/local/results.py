"""What a query on Polars gives: a table while it is small, files of Parquet once it is not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import polars as pl
import pyarrow as pa

from penstock.core.bounded_pool import ahead
from penstock.dataset.relations.operation import polars_types
from penstock.engines.staging import put_part
from penstock.io.sinks.part_folder import PartFolder

TABLE_BYTES = 32 * 2**20
"""Memory that the rows of a result take at most that is kept there; of a larger one it is what a file holds."""
_PARTS_AT_ONCE = 2
_PLAIN = (pl.Boolean, pl.String, pl.Binary, pl.Date, pl.Datetime)


def collect(query: pl.LazyFrame, folder: Callable[[], PartFolder]) -> pa.Table | None:
    """Run a query; return its rows, or None where they are many and are files in a new folder.

    Types that Parquet would change go by way of it, however few rows there are, so that they do not depend on that.
    """
    batches = iter(query.collect_batches(engine="streaming", maintain_order=True))
    held: list[pl.DataFrame] = []
    size = 0.0
    for batch in batches:
        held.append(batch)
        size += batch.estimated_size()
        if size > TABLE_BYTES or not stays_as_it_is(batch.schema):
            write(chain(held, batches), folder())
            return None
    empty = pl.DataFrame(schema=query.collect_schema()) if not held else None
    if empty is not None and not stays_as_it_is(empty.schema):
        write(iter([empty]), folder())
        return None
    return (pl.concat(held) if empty is None else empty).to_arrow()


def write(batches: Iterator[pl.DataFrame], folder: PartFolder) -> None:
    """Write rows as Parquet, zstd at level 1, to files that are in order by their names."""

    def write_part(part: tuple[int, pl.DataFrame]) -> None:
        place, rows = part
        encode = partial(rows.write_parquet, compression="zstd", compression_level=1)
        put_part(folder, f"part-{place:06d}.parquet", encode)

    deque(ahead(write_part, enumerate(_parts(batches)), _PARTS_AT_ONCE), maxlen=0)


def _parts(batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    held: list[pl.DataFrame] = []
    size = 0.0
    for batch in batches:
        held.append(batch)
        size += batch.estimated_size()
        if size > TABLE_BYTES:
            yield pl.concat(held)
            held, size = [], 0.0
    if held:
        yield pl.concat(held)


def cast(schema: pa.Schema, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the columns of a schema in its types."""
    kinds = zip(schema.names, polars_types(schema.types), strict=True)
    return frame.select(pl.col(name).cast(kind) for name, kind in kinds)


def stays_as_it_is(schema: pl.Schema) -> bool:
    """Return whether all types are in Arrow what they are in Parquet."""
    return all(kind.is_numeric() or kind in _PLAIN for kind in schema.dtypes())
