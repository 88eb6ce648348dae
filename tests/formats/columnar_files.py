"""Files of each format of columns, as other libraries write them, in groups of a few rows."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

GROUP = 1024
"""Rows of a group; ORC has no smaller ones."""

_AVRO = {pa.int64(): "long", pa.float64(): "double", pa.string(): "string", pa.bool_(): "boolean"}


def write_orc(table: pa.Table, path: Path) -> None:
    with orc.ORCWriter(path, stripe_size=1, batch_size=GROUP) as writer:
        writer.write(table)


def write_arrow(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=GROUP)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=GROUP)


def write_avro(table: pa.Table, path: Path) -> None:
    import fastavro

    fields = [{"name": field.name, "type": ["null", _AVRO[field.type]]} for field in table.schema]
    with open(path, "wb") as sink:
        writer = fastavro.write.Writer(sink, {"type": "record", "name": "r", "fields": fields}, codec="deflate")
        for begin in range(0, table.num_rows, GROUP):
            for row in table.slice(begin, GROUP).to_pylist():
                writer.write(row)
            writer.dump()


WRITERS: dict[str, tuple[str, Callable[[pa.Table, Path], None]]] = {
    "orc": ("orc", write_orc),
    "avro": ("avro", write_avro),
    "arrow": ("arrow", write_arrow),
    "stream": ("arrow", write_stream),
}
"""By a name: the format, and what writes a file of it."""


def table(rows: int, first: int = 0) -> pa.Table:
    """Return columns with nulls; no two rows are the same."""
    numbers = range(first, first + rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "x": pa.array([None if number % 7 == 0 else number / 3 for number in numbers], pa.float64()),
            "s": pa.array([None if number % 5 == 0 else f"größe {number % 11}" for number in numbers], pa.string()),
            "b": pa.array([number % 3 == 0 for number in numbers], pa.bool_()),
        }
    )
