"""Times that Hive, Impala and early Spark stored as INT96, whose years pass those that nanoseconds count."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.base import Engine
from penstock.engines.plain_files import plain_files

Ways = Callable[[Path], Iterator[pa.Table]]
TIMES = [
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1500, 1, 1),
    None,
    dt.datetime(1, 1, 1, 0, 0, 0, 1),
    dt.datetime(2020, 2, 29, 12, 30, 15, 123456),
]
MICROSECONDS = pa.timestamp("us")
TABLE = pa.table(
    {
        "id": range(len(TIMES)),
        "t": pa.array(TIMES, MICROSECONDS),
        "list": pa.array([[time, None] for time in TIMES], pa.list_(MICROSECONDS)),
        "struct": pa.array([{"t": time} for time in TIMES], pa.struct({"t": MICROSECONDS})),
    }
)


@pytest.fixture
def ways(local: Engine) -> Ways:
    """Return the readers of a local file."""

    def read_file(path: Path) -> Iterator[pa.Table]:
        fsspec.filesystem("memory").put(str(path), f"/{path.name}")
        for where, checked in ((path, False), (path, True), (f"memory://{path.name}", False)):
            yield local.read_parquet(where, page_checksum_verification=checked).to_arrow()

    return read_file


def test_int96_times_of_every_year_are_read_as_they_are(ways: Ways, tmp_path: Path) -> None:
    for noted in (True, False):
        path, options = tmp_path / f"{noted}.parquet", {"store_schema": noted, "row_group_size": 2}
        pq.write_table(TABLE, path, use_deprecated_int96_timestamps=True, **options)
        for found in ways(path):
            assert found.schema.types == TABLE.schema.types
            assert found.to_pylist() == TABLE.to_pylist()


def test_what_int96_has_below_a_microsecond_is_cut_off(ways: Ways, tmp_path: Path) -> None:
    path = tmp_path / "below.parquet"
    nanoseconds = pa.table({"t": pa.array([1999, 0, -1, -1000], pa.timestamp("ns"))})
    pq.write_table(nanoseconds, path, use_deprecated_int96_timestamps=True)
    for found in ways(path):
        assert found["t"].cast(pa.int64()).to_pylist() == [1, 0, -1, -1]


def test_int96_in_one_file_and_microseconds_in_another_are_one_column(local: Engine, tmp_path: Path) -> None:
    for old in (True, False):
        pq.write_table(TABLE, tmp_path / f"{old}.parquet", use_deprecated_int96_timestamps=old)
    data = local.read_parquet(str(tmp_path / "*.parquet"))
    assert data.to_arrow().to_pylist() == TABLE.to_pylist() * 2
    assert data.select("id").to_arrow()["id"].to_pylist() == [*range(5), *range(5)]


def test_a_file_with_int96_times_is_plain_only_without_them(local: Engine, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    data = local.read_parquet(tmp_path / "a.parquet")
    assert plain_files(data.select("id", "t")) is None
    assert plain_files(data.select("id")) is not None
