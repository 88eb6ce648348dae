"""What engines stage in a store is what they stage on a disk, and nothing of it stays."""

import copy
import gc
import os
import pickle
import tempfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.local import results
from penstock.engines.local.settings import LocalSettings
from penstock.errors import ConfigError, ExecutionError, OutputError, UserCodeError
from penstock.io.sinks import staging_place
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.staging_place import TemporaryStoreFolder
from tests.eventually import until
from tests.stores.conftest import Place
from tests.stores.shelf import Shelf

pytestmark = pytest.mark.xdist_group("s3")

START = datetime(2024, 3, 1)
TABLE = pa.table(
    {
        "row": range(40),
        "key": pa.array([None if row % 5 == 0 else row % 4 for row in range(40)], pa.int32()),
        "x": [None if row % 7 == 0 else row / 4 for row in range(40)],
        "text": [None if row % 3 == 0 else f"é{row}" for row in range(40)],
        "naive": pa.array([START + timedelta(seconds=row) for row in range(40)], pa.timestamp("us")),
        "zoned": pa.array([START + timedelta(seconds=row) for row in range(40)], pa.timestamp("us", "UTC")),
        "day": [date(2024, 3, 1)] * 40,
        "cost": pa.array([Decimal("1.25")] * 40, pa.decimal128(10, 2)),
        "flag": [True, None] * 20,
        "bytes": [b"a"] * 40,
        "list": [[1, None]] * 40,
        "small": pa.array(range(40), pa.uint16()),
    }
)


def joined(rows: nw.LazyFrame, others: nw.LazyFrame) -> nw.LazyFrame:
    sums = others.group_by("key").agg(nw.col("x").sum().alias("sum"))
    return rows.join(sums, on="key", how="left")


def fails(rows: nw.LazyFrame) -> nw.LazyFrame:
    return rows.select(nw.col("text").cast(nw.Int64))


def test_a_query_gives_the_same_rows_staged_in_a_store_and_on_a_disk(local, memory_or_s3):
    assert_staged_alike(local, memory_or_s3)


@pytest.mark.services
def test_a_query_of_a_cluster_gives_the_same_rows_staged_in_a_store(distributed_engine, s3):
    assert_staged_alike(distributed_engine, s3)


def assert_staged_alike(engine: Engine, place: Place) -> None:
    """Stage a query in a store and on a disk."""
    data = engine.from_arrow(TABLE, fragment_bytes=1000)
    expected = engine.query(joined, data, data, order_by="row")
    made = engine.query(joined, data, data, order_by="row", staging_dir=place.url, storage_options=place.options)
    assert made.schema == expected.schema
    assert made.to_arrow() == expected.to_arrow()
    bucket = place.url.partition("://")[2]
    assert all(bucket in path for piece in made.fragments for path in piece.paths)
    assert not [name for name in place.files() if "inputs" in name]
    del made
    until(lambda: _is_empty(place))


def _is_empty(place: Place) -> bool:
    """Return whether a store is empty; a client of Dask drops its last reference on a thread of its own."""
    gc.collect()
    return not place.files()


def test_a_query_that_fails_leaves_nothing_in_a_store(local, memory_or_s3):
    assert_nothing_is_left(local, memory_or_s3)


@pytest.mark.services
def test_a_query_of_a_cluster_that_fails_leaves_nothing_in_a_store(distributed_engine, s3):
    assert_nothing_is_left(distributed_engine, s3)


def assert_nothing_is_left(engine: Engine, place: Place) -> None:
    """Stage a query that fails."""
    data = engine.from_arrow(pa.table({"text": ["1", "two"]}))
    with pytest.raises((UserCodeError, ExecutionError)) as caught:
        engine.query(fails, data, staging_dir=place.url, storage_options=place.options)
    assert "hunter2" not in str(caught.value)
    del caught
    until(lambda: _is_empty(place))


@pytest.mark.thorough
def test_verbs_and_lags_stage_where_their_engine_does(memory, monkeypatch):
    monkeypatch.setattr(results, "TABLE_BYTES", 0)
    engine = ps.LocalEngine(device="cpu", staging_dir=memory.url)
    data = engine.from_arrow(TABLE)
    made = data.select("key", "x").group_by("key").agg(most=nw.col("x").max()).sort("key")
    lagged = data.lag("x", by="key", order_by="row")
    assert made.to_arrow().num_rows == 5
    assert lagged.to_arrow()["x_lag_1"].null_count > 5
    assert [name for name in memory.files() if name.endswith("part-000000.parquet")]
    del made, lagged, data
    gc.collect()
    assert memory.files() == {}


def test_rows_that_are_exploded_are_numbered_in_a_store(memory):
    engine = ps.LocalEngine(device="cpu", staging_dir=memory.url)
    data = engine.from_arrow(pa.table({"a": [1, 2], "many": [[3, 4], [5]]})).explode("many")
    assert data.unique("a").to_arrow().to_pydict() == {"a": [1, 2], "many": [3, 5]}
    assert not [name for name in memory.files() if "inputs" in name]


@pytest.mark.dask
@pytest.mark.services
def test_a_frame_of_dask_is_staged_in_a_store(engines, s3):
    from dask import dataframe

    engine = engines.get("dask")
    frame = dataframe.from_pandas(TABLE.select(["row", "x", "text", "zoned"]).to_pandas(), npartitions=3)
    made = engine.from_dask(frame, staging_dir=s3.url, storage_options=s3.options)
    expected = engine.from_dask(frame)
    assert made.schema == expected.schema
    assert made.to_arrow() == expected.to_arrow()
    assert all(path.startswith(s3.url) for piece in made.fragments for path in piece.paths)


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize("condition", ["true", "row < 0"])
def test_a_frame_of_spark_is_staged_in_a_store(engines, s3, condition):
    engine = engines.get("spark")
    frame = engine.session.createDataFrame(TABLE.drop(["small"])).repartition(3).sort("row").filter(condition)
    made = engine.from_spark(frame, staging_dir=s3.url, storage_options=s3.options)
    expected = engine.from_spark(frame)
    assert made.schema == expected.schema
    assert made.to_arrow() == expected.to_arrow()
    assert all(path.startswith(s3.url) for piece in made.fragments for path in piece.paths)


@pytest.mark.dask
def test_rows_in_the_memory_of_one_process_are_neither_written_nor_read_by_others(engines):
    engine, refused = engines.get("dask"), "is in the memory of this process, and tasks of 'dask' run in others"
    rows = engine.from_arrow(TABLE)
    with pytest.raises(ConfigError, match="staging_dir memory://x, which is in the memory of this process"):
        engine.query(lambda frame: frame, rows, staging_dir="memory://x")
    with pytest.raises(ConfigError, match=refused):
        rows.write("memory://x/rows")
    with pytest.raises(ConfigError, match=refused):
        rows.write(tempfile.gettempdir() + "/rows", quarantine="memory://x/aside")
    with pytest.raises(ConfigError, match=refused):
        engine.read_parquet(["memory://x/rows"])


def test_credentials_of_a_staging_place_are_not_shown():
    settings = LocalSettings(staging_dir="s3://bucket", storage_options={"secret": "hunter2"})
    engine = settings.start(None)
    assert "hunter2" not in f"{settings} {settings!r} {engine.staging(None, 'query')}"


def test_a_folder_lives_as_long_as_a_reference_to_it(shelf):
    folder = TemporaryStoreFolder(shelf.url)
    put(folder)
    other, name = copy.deepcopy(folder), pickle.loads(pickle.dumps(folder))
    assert len(shelf.files()) == 2
    assert name == folder.store.url
    del folder
    assert len(shelf.files()) == 2
    del other
    assert shelf.files() == {}


def test_a_forked_child_leaves_the_folders_of_its_parent_alone(shelf):
    folder = TemporaryStoreFolder(shelf.url)
    put(folder)
    assert in_child(folder.remove) == 0
    assert len(shelf.files()) == 2


def test_what_a_killed_process_left_is_removed_by_the_next(shelf, monkeypatch):
    kept: list[TemporaryStoreFolder] = []

    def leave() -> None:
        kept.append(TemporaryStoreFolder(shelf.url))
        put(kept[0])

    assert in_child(leave) == 0
    assert len(shelf.files()) == 2
    monkeypatch.setattr(staging_place, "_visited", set())
    with TemporaryStoreFolder(shelf.url) as folder:
        assert list(shelf.files()) == [f".penstock-staging/{os.path.basename(folder.store.path)}.owner"]


@pytest.mark.parametrize(("patience", "left"), [(staging_place.ABANDONED_SECONDS, 2), (-1.0, 0)])
def test_a_folder_of_another_host_is_removed_when_it_is_old(shelf, monkeypatch, patience, left):
    shelf.put("penstock-0123456789abcdef/rows/part-000000.parquet", b"rows")
    shelf.put(".penstock-staging/penstock-0123456789abcdef.owner", Owner("elsewhere", 1, None).encode())
    monkeypatch.setattr(staging_place, "ABANDONED_SECONDS", patience)
    monkeypatch.setattr(staging_place, "_visited", set())
    TemporaryStoreFolder(shelf.url).remove()
    assert len(shelf.files()) == left


def test_a_folder_that_cannot_be_removed_keeps_its_record(shelf, monkeypatch):
    folder = TemporaryStoreFolder(shelf.url)
    put(folder)
    monkeypatch.setattr(Shelf, "rm", refuse)
    folder.remove()
    monkeypatch.undo()
    assert len(shelf.files()) == 2


def test_a_store_that_does_not_take_the_record_is_told(shelf, monkeypatch):
    monkeypatch.setattr(Shelf, "pipe_file", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        TemporaryStoreFolder(shelf.url)


def put(folder: TemporaryStoreFolder) -> None:
    def write(path: str) -> None:
        with open(path, "w") as file:
            file.write("rows")

    folder.parts("rows").put("part-000000.parquet", write, rows=None, kind="parquet")


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


def in_child(act: Callable[[], object]) -> int:
    """Do something in a forked process, which ends as one that is killed does."""
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.services
def test_an_output_in_the_same_store_by_another_name_is_its_own_input(local, s3):
    data: Dataset = local.from_arrow(TABLE)
    data.write(s3.at("rows"), storage_options=s3.options)
    stored = local.read_parquet(s3.at("rows"), storage_options=s3.options)
    with pytest.raises(ConfigError, match="its own input"):
        stored.write(s3.at("rows").replace("s3:", "s3a:"), mode="overwrite", storage_options=s3.options)
    part = s3.at(next(name for name in s3.files() if name.endswith(".parquet")))
    with pytest.raises(ConfigError, match="named twice"):
        local.read_parquet([part, part.replace("s3:", "s3a:")], storage_options=s3.options)
