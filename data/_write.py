"""What the data generators share: random streams, the directory they write, the command line."""

from __future__ import annotations

import argparse
import itertools
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

CHUNK_ROWS = 250_000
Stream = Callable[[str], np.random.Generator]


def streams(seed: int, chunk: int) -> Stream:
    """Return a function from a name to the random stream of that name in one chunk.

    Every name has its own stream and takes one array from it, so the first rows of a chunk do not depend on how
    many rows follow them.
    """
    return lambda name: np.random.default_rng([seed, chunk, zlib.crc32(name.encode())])


def chunks(rows: int, seed: int) -> Iterator[tuple[int, Stream]]:
    """Return the number of rows and the random streams of each chunk of a data set of ``rows`` rows."""
    if rows < 0 or seed < 0:
        raise ValueError(f"rows is {rows} and seed is {seed}, expected 0 or more of both")
    return ((size, streams(seed, chunk)) for chunk, size in enumerate(pieces(rows, CHUNK_ROWS)))


def pieces(rows: int, most: int) -> list[int]:
    """Return the sizes of the pieces of at most ``most`` rows that ``rows`` rows are cut into; no rows are one piece.

    Examples
    --------
    >>> pieces(7, 3)
    [3, 3, 1]
    """
    return [min(most, rows - start) for start in range(0, rows, most)] or [0]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a data set lies in its directory.

    Parameters
    ----------
    rows_per_file : int
        Rows in every file but the last.
    row_group_rows : int
        Rows in every Parquet row group but the last of a file; also how many rows are written at a time.
    format : {"parquet", "csv", "jsonl"}
        CSV has a header and an empty field for a null; JSON Lines has one object a row.
    overwrite : bool
        Whether a directory with something in it is replaced.
    """

    rows_per_file: int = 1_000_000
    row_group_rows: int = CHUNK_ROWS
    format: str = "parquet"
    overwrite: bool = False

    def __post_init__(self) -> None:
        for name in ("rows_per_file", "row_group_rows"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1")
        if self.format not in FORMATS:
            raise ValueError(f"format is {self.format!r}, expected one of {', '.join(FORMATS)}")


def write_directory(
    out: str | Path, tables: Iterable[pa.Table], schema: pa.Schema, rows: int, layout: Layout
) -> list[Path]:
    """Write ``rows`` rows as ``part-00000.parquet`` ... and an empty ``_SUCCESS``, and return the paths of the parts.

    Everything is written beside ``out`` and renamed to it at the end, so what stands at ``out`` is always whole.

    Raises
    ------
    FileExistsError
        ``out`` is a file, or a directory with something in it and ``layout.overwrite`` is false.
    """
    out = Path(out)
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not layout.overwrite):
        kind = "is a file" if out.is_file() else "is a directory with something in it"
        raise FileExistsError(f"{out} {kind}, expected a new or empty directory; choose another, or overwrite it")
    staged = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    staged.mkdir(parents=True)
    try:
        names = _write_parts(staged, tables, schema, rows, layout)
        (staged / "_SUCCESS").touch()
        _swap(staged, out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return [out / name for name in names]


def _swap(staged: Path, out: Path) -> None:
    replaced = staged.with_suffix(".replaced")
    if out.exists():
        out.rename(replaced)
    staged.rename(out)
    shutil.rmtree(replaced, ignore_errors=True)


def _write_parts(folder: Path, tables: Iterable[pa.Table], schema: pa.Schema, rows: int, layout: Layout) -> list[str]:
    groups = [pieces(size, layout.row_group_rows) for size in pieces(rows, layout.rows_per_file)]
    cut = _cut(tables, schema, itertools.chain.from_iterable(groups))
    names = [f"part-{number:05d}.{layout.format}" for number in range(len(groups))]
    for name, sizes in zip(names, groups, strict=True):
        _WRITERS[layout.format](folder / name, schema, itertools.islice(cut, len(sizes)))
    return names


def _cut(tables: Iterable[pa.Table], schema: pa.Schema, sizes: Iterable[int]) -> Iterator[pa.Table]:
    arriving, held = iter(tables), schema.empty_table()
    for size in sizes:
        while held.num_rows < size:
            held = pa.concat_tables([held, next(arriving)])
        yield held.slice(0, size)
        held = held.slice(size)


def _parquet(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    # The dictionaries of the widest columns outgrow the default page of 1 MiB, and would fall back to plain strings.
    with pq.ParquetWriter(
        path, schema, compression="zstd", compression_level=1, dictionary_pagesize_limit=16 << 20
    ) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(table.num_rows, 1))


def _csv(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    with path.open("wb") as file:
        pl.DataFrame(schema.empty_table()).write_csv(file)
        for table in tables:
            pl.DataFrame(table).write_csv(file, include_header=False, datetime_format="%Y-%m-%d %H:%M:%S")


def _jsonl(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    with path.open("wb") as file:
        for table in tables:
            pl.DataFrame(table).write_ndjson(file)


_WRITERS = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}
FORMATS = tuple(_WRITERS)


def main(description: str, write: Callable[..., list[Path]]) -> None:
    """Run the command line of a generator: its flags are the parameters of ``write``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rows", type=int, required=True, help="how many rows")
    parser.add_argument("--out", type=Path, required=True, help="directory to write, new or empty")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other rows")
    parser.add_argument("--rows-per-file", type=int, default=Layout.rows_per_file, help="rows of a file")
    parser.add_argument("--row-group-rows", type=int, default=Layout.row_group_rows, help="rows of a Parquet row group")
    parser.add_argument("--format", choices=FORMATS, default=Layout.format, help="file format")
    parser.add_argument("--overwrite", action="store_true", help="replace a directory with something in it")
    try:
        paths = write(**vars(parser.parse_args()))
    except (ValueError, FileExistsError) as error:
        parser.error(str(error))
    print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths):,} bytes in {paths[0].parent}")
