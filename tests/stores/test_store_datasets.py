"""Datasets written to a disk, to memory and to S3: one body of checks, since they all promise the same."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import (
    CommitConflictError,
    ConfigError,
    CorruptFileError,
    IncompleteInputError,
    OutputError,
    OutputExistsError,
    UserCodeError,
)
from penstock.io.sinks import OutputCommit, output_directory
from tests.stores.conftest import BUCKET, Place

pytestmark = pytest.mark.xdist_group("s3")

TABLE = pa.table(
    {
        "x": pa.array([None if row % 7 == 0 else row / 3 for row in range(300)]),
        "s": [f"text {row}" for row in range(300)],
        "t": pa.array(range(300), pa.timestamp("us", "UTC")),
    }
)


@pytest.fixture
def data(local: Engine) -> Dataset:
    """Three hundred rows in several fragments."""
    data = local.from_arrow(TABLE, fragment_bytes=4000)
    assert len(data.fragments) > 2
    return data


def write(data: Dataset, place: Place, name: str = "out", **options: object) -> str:
    return data.write(place.at(name), storage_options=place.options, **options).run_id  # type: ignore[arg-type]


def read(place: Place, name: str = "out", engine: Engine | None = None) -> pa.Table:
    engine = engine or ps.LocalEngine(device="cpu")
    return engine.read_parquet(place.at(name), storage_options=place.options).to_arrow()


def test_what_is_written_is_read_again_to_the_bit(local, data, place):
    for format in ("parquet", "csv", "json_lines"):
        write(data, place, format, format=format)
        again = local.read(format, place.at(format), schema=TABLE.schema, storage_options=place.options)
        assert again.to_arrow() == TABLE, format


@pytest.mark.services
def test_an_engine_with_workers_writes_to_a_store_and_reads_it_again(distributed_engine, s3):
    write(distributed_engine.from_arrow(TABLE, fragment_bytes=4000), s3)
    assert read(s3, engine=distributed_engine) == TABLE
    assert read(s3) == TABLE


def test_a_second_write_is_refused_and_changes_nothing(data, place):
    write(data, place)
    before = place.files()
    with pytest.raises(OutputExistsError, match="exists and holds the output of run") as caught:
        write(data, place)
    assert "overwrite=True" in str(caught.value.hint)
    assert place.files() == before


def test_an_overwrite_leaves_nothing_of_the_old_output(data, place):
    write(data, place)
    old = place.files()
    run = write(data.filter(nw.col("x") > 50), place, overwrite=True)
    manifest = json.loads(place.read("out/_manifest.json"))
    assert manifest["run_id"] == run
    assert place.files().keys() == {"out/_manifest.json", *(f"out/{entry['path']}" for entry in manifest["files"])}
    assert place.url.startswith("/") or not place.files().keys() & (old.keys() - {"out/_manifest.json"})
    assert read(place)["x"].to_pylist() == [value for value in TABLE["x"].to_pylist() if value and value > 50]


def test_what_has_no_manifest_is_not_replaced_even_if_asked(data, place):
    place.put("out/notes.txt", b"of somebody")
    with pytest.raises(OutputExistsError, match="holds no manifest") as caught:
        write(data, place, overwrite=True)
    assert "remove it yourself" in str(caught.value.hint)
    assert place.files() == {"out/notes.txt": 11}


@pytest.mark.thorough
def test_rows_set_aside_lie_beside_and_go_with_the_next_run_that_has_none(data, place):
    clean = ps.Pipeline(st.Expect("x is None or x < 90", action="quarantine")).fit(data).transform(data)
    result = clean.write(place.at("out"), storage_options=place.options)
    assert result.quarantine == place.at("out.quarantine")
    assert len(read(place)) + len(read(place, "out.quarantine")) == 300
    write(data, place, overwrite=True)
    assert read(place) == TABLE
    assert not [name for name in place.files() if name.startswith("out.quarantine")]


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(data, place):
    write(data, place)
    before = place.files()

    def fail(frame: nw.DataFrame) -> nw.DataFrame:
        if "text 200" in frame["s"].to_list():
            raise ValueError("no more")
        return frame

    with pytest.raises(UserCodeError, match="no more"):
        write(data.map_partitions(fail, TABLE.schema), place, overwrite=True)
    assert place.files() == before
    assert read(place) == TABLE


def test_an_output_that_is_not_as_its_manifest_says_is_refused(data, place, subtests):
    for damage in ("missing", "shorter", "other"):
        write(data, place, damage)
        parts = sorted(name for name in place.files() if name.startswith(damage) and name.endswith(".parquet"))
        content = place.read(parts[1])
        if damage == "missing":
            place.remove(parts[1])
        else:
            flipped = content[:30] + bytes([content[30] ^ 1]) + content[31:]
            place.put(parts[1], content[:-1] if damage == "shorter" else flipped)
        error = CorruptFileError if damage == "other" else IncompleteInputError
        with subtests.test(damage=damage), pytest.raises(error):
            read(place, damage)
    write(data, place)
    place.put("out/part-00009.parquet", content)
    with pytest.raises(IncompleteInputError, match=r"part-00009\.parquet"):  # which is of no run
        read(place)


def test_parts_of_a_run_at_work_are_no_rows_yet(data, store):
    write(data, store)
    later = output_directory(store.at("out"), overwrite=True, run_id="later", storage_options=store.options)
    with OutputCommit(later):
        later.parts.put("part-00000.parquet", lambda path: Path(path).write_bytes(b"PAR1"), rows=1, kind="parquet")
        assert any("later" in name for name in store.files())
        for pattern in ("out", "out/*.parquet"):
            assert read(store, pattern) == TABLE
    assert not any("later" in name for name in store.files())
    first = output_directory(store.at("new"), run_id="first", storage_options=store.options)
    with OutputCommit(first):
        first.parts.put("part-00000.parquet", lambda path: Path(path).write_bytes(b"PAR1"), rows=1, kind="parquet")
        with pytest.raises(IncompleteInputError, match="no manifest beside it"):
            read(store, "new/*.parquet")


@pytest.mark.thorough
@pytest.mark.faults
def test_a_reader_in_a_loop_sees_the_old_rows_or_the_new_ones(data, local, store):
    write(data, store)
    other = local.from_arrow(TABLE.slice(0, 100), fragment_bytes=2000)
    done = threading.Event()

    def overwrite() -> None:
        try:
            for turn in range(6):
                write(other if turn % 2 == 0 else data, store, overwrite=True)
        finally:
            done.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(overwrite)
        seen = []
        while not done.is_set():
            with suppress(IncompleteInputError):  # replaced between planning and reading
                seen.append(read(store))
        writing.result()
    assert all(table in (TABLE, TABLE.slice(0, 100)) for table in seen)
    assert read(store) == TABLE


@pytest.mark.thorough
@pytest.mark.faults
def test_of_two_writers_at_once_one_wins_and_the_other_is_told(data, local, store):
    tables = [TABLE.slice(0, 50), TABLE.slice(50, 70)]
    write(data, store)
    for turn in range(5):
        together = threading.Barrier(2)

        def attempt(rows: pa.Table, together: threading.Barrier = together) -> bool:
            def wait(frame: nw.DataFrame, together: threading.Barrier = together) -> nw.DataFrame:
                together.wait(60)  # both have entered then
                return frame

            try:
                write(local.from_arrow(rows).map_partitions(wait, TABLE.schema), store, overwrite=True)
            except CommitConflictError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            won = list(pool.map(attempt, tables))
        assert sorted(won) == [False, True], turn
        assert read(store) == tables[won.index(True)]
    listed = {f"out/{entry['path']}" for entry in json.loads(store.read("out/_manifest.json"))["files"]}
    assert store.files().keys() == listed | {"out/_manifest.json"}


def test_an_output_in_its_own_input_is_refused(local, data, place):
    write(data, place)
    again = local.read_parquet(place.at("out"), storage_options=place.options)
    for name in ("out", "out/inner") if place.url.startswith("/") else ("out",):
        with pytest.raises(ConfigError, match="its own input"):
            write(again, place, name, overwrite=True)


def test_a_url_that_cannot_be_an_output_is_refused_before_any_work(data):
    for url in ("s3://bucket", "memory://", "zip://a::memory://b/c", "nosuch://b/c"):
        with pytest.raises(ConfigError):
            data.write(url)


@pytest.mark.services
def test_a_bucket_that_is_not_there_is_not_made(data, s3):
    missing = Place("s3://penstock-no-such-bucket/x", s3.options)
    with pytest.raises(OutputError, match="bucket does not exist") as caught:
        write(data, missing)
    assert "hunter2" not in str(caught.value)
    names = [bucket["Name"] for bucket in s3._filesystem()[0].call_s3("list_buckets")["Buckets"]]
    assert names == [BUCKET]


def test_runs_that_append_at_once_both_come_through(data, local, place):
    write(data, place, mode="append")
    together = threading.Barrier(2)

    def add(start: int) -> str:
        def wait(frame: nw.DataFrame) -> nw.DataFrame:
            together.wait(60)  # both have entered then
            return frame

        rows = local.from_arrow(TABLE.slice(start, 20)).map_partitions(wait, TABLE.schema)
        return write(rows, place, mode="append")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, (0, 100)))
    rows = read(place)
    assert rows.slice(0, 300) == TABLE
    added = rows.slice(300)["s"].to_pylist()
    assert sorted([added[:20], added[20:]]) == sorted(TABLE.slice(s, 20)["s"].to_pylist() for s in (0, 100))
    assert len([name for name in place.files() if ".penstock" in name]) == 0
