"""Ways to look at a dataset that all have to show the same rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.dataset import Dataset

FORMS = ("narwhals", "polars", "pandas", "arrow")


def unchanged(frame: Any) -> Any:
    return frame


def by_partitions(form: str) -> Callable[[Dataset, Path], pa.Table]:
    """Return a consumer that passes partitions through a function of frames of a library."""
    return lambda dataset, _: dataset.map_partitions(unchanged, dataset.schema, frame=form).to_arrow()


def polars(dataset: Dataset, _: Path) -> pa.Table:
    """Collect as Polars."""
    return dataset.to_polars().to_arrow().cast(dataset.schema)


def pandas(dataset: Dataset, _: Path) -> pa.Table:
    """Collect as pandas."""
    frame = dataset.to_pandas()
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    arrays = [
        pa.array(column, field.type, from_pandas=True) for column, field in zip(columns, dataset.schema, strict=True)
    ]
    return pa.table(arrays, [str(name) for name in frame.columns])


def head(dataset: Dataset, _: Path) -> pa.Table:
    """Take more rows than there are from the front."""
    return dataset.head(dataset.count() + 1).to_arrow().cast(dataset.schema)


def column_by_column(dataset: Dataset, _: Path) -> pa.Table:
    """Read each column by itself."""
    alone = [dataset.select(name).to_arrow() for name in dataset.columns]
    return pa.table([table.column(0) for table in alone], [table.column_names[0] for table in alone])


def backwards(dataset: Dataset, _: Path) -> pa.Table:
    """Select the columns in the opposite order."""
    return dataset.select(*dataset.columns[::-1]).to_arrow().select(dataset.columns)


def filtered(dataset: Dataset, _: Path) -> pa.Table:
    """Keep the rows for which something that is always so is so."""
    first = nw.col(dataset.columns[0])
    return dataset.filter(first.is_null() | ~first.is_null()).to_arrow()


def split(dataset: Dataset, _: Path) -> pa.Table:
    """Read a sample that is everything."""
    return dataset.split([1.0], seed=3)[0].to_arrow()


def queried(dataset: Dataset, folder: Path) -> pa.Table:
    """Pass through the query engine, whose types may hold the same values in another way."""
    return dataset.engine.query(unchanged, dataset, staging_dir=folder).to_arrow().cast(dataset.schema)


def written(dataset: Dataset, folder: Path) -> pa.Table:
    """Write as Parquet and read again; Parquet lacks seconds, and finer units hold them exactly."""
    dataset.write_parquet(folder / "written", overwrite=True)
    return dataset.engine.read_parquet(folder / "written").to_arrow().cast(dataset.schema)


def fits(consumer: str, table: pa.Table) -> bool:
    """Return whether a consumer has values for those of a table.

    pandas has no maps and no nanoseconds of a day.
    """
    return "pandas" not in consumer or not any(map(_is_odd, table.columns))


def _is_odd(column: pa.ChunkedArray) -> bool:
    kind = column.type
    return bool(pa.types.is_map(kind) or kind == pa.time64("ns"))


OFTEN_ODD = ("to_pandas", "map_partitions of pandas")
"""Those with types of their own, where most differences were."""
CONSUMERS: dict[str, Callable[[Dataset, Path], pa.Table]] = {
    "to_polars": polars, "to_pandas": pandas, "head": head, "column by column": column_by_column,
    "backwards": backwards,
    "filter": filtered, "split": split, "query": queried, "write_parquet": written,
    **{f"map_partitions of {form}": by_partitions(form) for form in FORMS},
}  # fmt: skip
