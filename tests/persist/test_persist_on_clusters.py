"""Persisted rows on Dask and Spark: the same results, and on Dask a fragment comes back to the worker that had it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pyarrow as pa
import pytest
from persist_bodies import LoggedSource

import penstock as ps
from penstock import stages as st

TABLE = pa.table(
    {"x": [None if row % 7 == 3 else row / 3 for row in range(60)], "s": [f"t{row % 5}" for row in range(60)]}
)
PIPELINE = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("s"))


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
    names = sorted(path.name for path in (folder / "reads").iterdir())
    for name in names:
        (folder / "reads" / name).unlink()
    return names


def test_no_result_depends_on_it(distributed_engine, folder):
    data = read(distributed_engine, folder)
    persisted = data.persist(memory="1MiB", disk="1MiB")
    model = PIPELINE.fit(data)
    assert PIPELINE.fit(persisted).digest == model.digest
    prepared = model.transform(persisted).persist()
    for _ in range(2):
        assert persisted.to_arrow() == TABLE
        assert prepared.to_arrow() == model.transform(data).to_arrow()
    assert prepared.unpersist().unpersist().to_arrow() == model.transform(data).to_arrow()


@pytest.fixture
def dask(engines, request):
    if "dask" not in request.config.getoption("--engines"):
        pytest.skip("of Dask")
    engine = engines.get("dask")
    engine.client.wait_for_workers(2)  # an earlier test may have killed one
    return engine


@pytest.mark.dask
def test_on_dask_a_fragment_comes_back_to_its_worker(dask, folder):
    persisted = read(dask, folder).persist(memory="1MiB")
    persisted.to_arrow()
    assert len(reads(folder)) == 6
    assert dask.usage(persisted.reader.persistence.name).columns == 12
    assert persisted.to_arrow() == TABLE
    assert reads(folder) == []
    persisted.unpersist()
    assert dask.usage(persisted.reader.persistence.name).columns == 0


@pytest.mark.dask
def test_a_fit_on_dask_holds_what_it_reads_again(dask, local, folder):
    data = read(dask, folder)
    model = PIPELINE.fit(data)
    # A worker that is idle may take a fragment from a busy one, which costs a read; two passes would cost twelve.
    assert 6 <= len(reads(folder)) < 12
    assert model.digest == PIPELINE.fit(read(local, folder)).digest


@pytest.mark.dask
def test_a_worker_that_is_lost_costs_a_read(dask, folder):
    persisted = read(dask, folder).persist(memory="1MiB")
    persisted.to_arrow()
    reads(folder)
    lost = next(iter(dask.client.run(os.getpid).values()))
    os.kill(lost, signal.SIGKILL)
    assert persisted.to_arrow() == TABLE
    again = reads(folder)
    assert 3 <= len(again) <= 6
    assert not any(f"-{lost}-" in name for name in again)
