"""Persisted rows on Dask and Spark: the same results, and on Dask no worker reads a fragment twice."""

import os
import signal
from dataclasses import replace

import pyarrow as pa
import pytest
from persist_bodies import LoggedSource

import penstock as ps
from penstock import stages as st
from penstock.io.fragments import Fragment, Piece

TABLE = pa.table({"x": [None if i % 7 == 3 else i / 3 for i in range(60)], "s": [f"t{i % 5}" for i in range(60)]})
PIPELINE = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("s"))
EVERYTHING = {(str(file), column) for file in range(6) for column in ("x", "s")}


@pytest.fixture
def folder(tmp_path):
    for file in range(6):
        pa.parquet.write_table(TABLE.slice(10 * file, 10), tmp_path / f"{file}.parquet")
    (tmp_path / "reads").mkdir()
    return tmp_path


def read(engine, folder):
    data = engine.read_parquet(f"{folder}/*.parquet", fragment_bytes=400)
    assert len(data.fragments) == 6
    return replace(data, reader=replace(data.reader, source=LoggedSource(data.reader.source, folder / "reads")))


def reads(folder):
    """Return the file, the column and the process of each column that was read since the last call."""
    paths = list((folder / "reads").iterdir())
    for path in paths:
        path.unlink()
    return [tuple(path.name.split()[:3]) for path in paths]


def test_no_result_depends_on_it(distributed_engine, local, folder):
    data = read(local, folder)
    model = PIPELINE.fit(data)
    expected = model.transform(data).to_arrow()
    persisted = read(distributed_engine, folder).persist(memory="1MiB", disk="1MiB")
    assert PIPELINE.fit(persisted).digest == model.digest
    assert persisted.to_arrow() == TABLE
    prepared = model.transform(persisted).persist()
    for dataset in (prepared, prepared, prepared.unpersist().unpersist()):
        assert dataset.to_arrow() == expected


def test_dask_is_asked_to_run_a_persisted_fragment_on_the_same_worker_each_time_as_long_as_that_is_there():
    from engines.instant_client import InstantClient

    client = InstantClient({"b": 1, "a": 1})
    fragments = [
        Fragment(index, 10 * index, (Piece("a", 0, 10),), persisted=persisted)
        for index, persisted in ((0, True), (1, True), (2, True), (1, False))
    ]
    expected = [(["a"], True), (["b"], True), (["a"], True), (None, False)]
    for order in (1, -1):
        client.asked.clear()
        list(client.tasks().each(fragments[::order]))
        assert client.asked == [(item, *where) for item, where in zip(fragments, expected, strict=True)][::order]
    client.asked.clear()
    client.workers.clear()
    list(client.tasks().each(fragments[:1]))
    assert client.asked == [(fragments[0], None, False)]


@pytest.fixture
def dask(engines, request, monkeypatch):
    if "dask" not in request.config.getoption("--engines"):
        pytest.skip("of Dask")
    # What workers hold is asked for within seconds, and a worker of a busy machine may take longer to answer.
    monkeypatch.setattr("penstock.engines.dask.workers._ANSWER", 60.0)
    engine = engines.get("dask")
    engine.client.wait_for_workers(2)  # an earlier test may have killed one
    return engine


@pytest.mark.dask
def test_on_dask_no_worker_reads_twice_what_it_holds_until_it_is_let_go(dask, folder):
    persisted = read(dask, folder).persist(memory="1MiB")
    persisted.to_arrow()
    first = reads(folder)
    assert sorted(each[:2] for each in first) == sorted(EVERYTHING)
    assert dask.usage(persisted.reader.persistence.name).columns == 12
    assert persisted.to_arrow() == TABLE
    # Dask may give a fragment to another worker that has nothing to do, which then reads it for the first time.
    assert not set(first) & set(reads(folder))
    persisted.unpersist()
    assert dask.usage(persisted.reader.persistence.name).columns == 0


@pytest.mark.dask
def test_a_fit_on_dask_holds_what_it_reads_again(dask, local, folder):
    model = PIPELINE.fit(read(dask, folder))
    seen = reads(folder)
    assert len(seen) == len(set(seen))  # no worker reads a column twice, in two passes
    assert {each[:2] for each in seen} == EVERYTHING
    assert model.digest == PIPELINE.fit(read(local, folder)).digest


@pytest.mark.dask
@pytest.mark.faults
def test_what_a_lost_worker_held_is_read_again(dask, folder):
    persisted = read(dask, folder).persist(memory="1MiB")
    persisted.to_arrow()
    first = reads(folder)
    lost = first[0][2]
    os.kill(int(lost), signal.SIGKILL)
    assert persisted.to_arrow() == TABLE
    again = reads(folder)
    assert {each[:2] for each in first if each[2] == lost} <= {each[:2] for each in again}
    assert lost not in {process for *_, process in again}
