"""A file that cannot be read is named by every verb of every engine, with the class and the column of a plain read."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import CorruptFileError, DiskFullError, IncompleteInputError, InputError

ROWS = 300
TABLE = pa.table({"k": [place % 5 for place in range(ROWS)], "s": [f"text {place % 7}" for place in range(ROWS)]})


def damaged(path: Path) -> None:
    """Change the head of the page of a column; the end of the file still says what was in it."""
    data = bytearray(path.read_bytes())
    first = pq.read_metadata(path).row_group(0).column(1).dictionary_page_offset
    data[first : first + 40] = bytes(each ^ 0xFF for each in data[first : first + 40])
    path.write_bytes(data)


def garbled(path: Path) -> None:
    """Have bytes of Latin-1 where there are texts."""
    raw = pa.array([b"C\xd4TE"] * ROWS, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), ROWS, raw.buffers())
    pq.write_table(TABLE.set_column(1, "s", texts), path)


def wiped(path: Path) -> None:
    """Have nothing but zeros, as some file systems do after a crash."""
    path.write_bytes(bytes(path.stat().st_size))


BEFORE: dict[str, Callable[[Path], None]] = {"damaged": damaged, "garbled": garbled}
AFTER: dict[str, Callable[[Path], None]] = {"wiped": wiped, "gone": Path.unlink}


def verbs(engine: Any, data: Dataset, folder: Path) -> dict[str, Callable[[], Any]]:
    whole = engine.from_arrow(TABLE)
    ways: dict[str, Callable[[], Dataset]] = {
        "select": lambda: data.select("s"),
        "filter": lambda: data.filter(nw.col("s") > "a"),
        "with_columns": lambda: data.sort("k").with_columns(more=nw.col("s").str.len_chars()),
        "join": lambda: data.join(whole.unique("k").select("k"), "k"),
        "join, on the right": lambda: whole.join(data, "s", how="semi"),
        "group_by": lambda: data.group_by("s").agg(n="len"),
        "sort": lambda: data.sort("s"),
        "unique": lambda: data.unique(),
        "pivot": lambda: data.pivot("k", index="s", values="k", aggregate_function="max", on_values=[1]),
        "rolling": lambda: data.rolling(2, order_by="k", by="s").agg(n="len"),
        "as-of": lambda: data.join_asof(whole, "k", by="s"),
        "union": lambda: data.union(whole).sort("s"),
        "limit": lambda: data.sort("s").limit(2),
        "SQL": lambda: engine.sql("SELECT k, max(s) AS m FROM t GROUP BY k", t=data),
        "query": lambda: engine.query(lambda frame: frame, data),
    }
    made: dict[str, Callable[[], Any]] = {name: lambda way=way: way().to_arrow() for name, way in ways.items()}
    return made | {"write": lambda: data.sort("s").write_parquet(folder / "out")}


@contextmanager
def leaving_out_files(engine: Any) -> Iterator[None]:
    """Have Spark's session say that files that cannot be read are left out without a word."""
    names = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
    if engine.name != "spark":
        yield
        return
    for name in names:
        engine.session.conf.set(name, "true")
    try:
        yield
    finally:
        for name in names:
            engine.session.conf.unset(name)


@pytest.mark.parametrize("kind", [*BEFORE, *AFTER])
def test_every_verb_names_the_one_of_three_files_that_cannot_be_read(engine: Engine, tmp_path, subtests, kind):
    paths = [tmp_path / f"f{place}.parquet" for place in range(3)]
    for path in paths:
        pq.write_table(TABLE, path, compression="zstd")
    for path in paths[1:2] if kind in BEFORE else []:
        BEFORE[kind](path)
    data = engine.read_parquet(str(tmp_path / "*.parquet"))
    if kind in AFTER:
        times = paths[1].stat()
        AFTER[kind](paths[1])
        if paths[1].exists():
            os.utime(paths[1], ns=(times.st_atime_ns, times.st_mtime_ns))
    with leaving_out_files(engine):
        for name, run in verbs(engine, data, tmp_path).items():
            with subtests.test(name):
                with pytest.raises(InputError) as told:
                    run()
                assert type(told.value) is (IncompleteInputError if kind == "gone" else CorruptFileError)
                assert told.value.path == str(paths[1])
                assert "f1.parquet" in str(told.value).splitlines()[0]
                assert kind not in BEFORE or "column 's'" in told.value.message


def test_a_function_of_a_query_that_reads_a_damaged_file_is_not_blamed_for_it(local, tmp_path):
    pq.write_table(TABLE, tmp_path / "f1.parquet")
    damaged(tmp_path / "f1.parquet")
    data = local.read_parquet(tmp_path / "f1.parquet")

    def looking(frame: nw.LazyFrame) -> nw.LazyFrame:
        return frame.filter(nw.col("s") == frame.collect()["s"][0])

    with pytest.raises(CorruptFileError, match=r"f1\.parquet: column 's'"):
        local.query(looking, data)


def test_what_a_query_itself_does_wrong_is_not_said_of_its_files(local, tmp_path, monkeypatch):
    pq.write_table(TABLE, tmp_path / "f1.parquet")
    data = local.read_parquet(tmp_path / "f1.parquet")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("penstock.engines.local.query.collect", full)
    with pytest.raises(DiskFullError, match="staged rows of a query"):
        data.sort("s").to_arrow()
