"""What `persist` holds, what it saves, and that no result depends on it."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset.steps import RowLog
from penstock.errors import BadRowsError, ConfigError, IncompleteInputError
from penstock.io.formats.csv import CsvSource
from penstock.io.persisted import row_store
from penstock.io.persisted.row_store import SpillFolder
from penstock.io.sources.parquet import ParquetSource

ROWS = 60


def table(rows: int = ROWS) -> pa.Table:
    numbers = np.random.default_rng(7).normal(size=rows) * 10.0 ** (np.arange(rows) % 9)
    return pa.table({
        "x": pa.array(numbers, mask=np.arange(rows) % 7 == 3),
        "n": pa.array(range(rows)),
        "s": [None if row % 11 == 5 else f"text {row % 4} that is longer than a view" for row in range(rows)],
        "l": [[row, None] for row in range(rows)],
        "d": pa.array(range(rows), pa.int32()).cast(pa.date32()),
        "b": [row % 3 == 0 for row in range(rows)],
    })  # fmt: skip


@pytest.fixture
def data(local, tmp_path):
    """Three files of two row groups each, a fragment for every row group."""
    for file in range(3):
        rows = table().slice(20 * file, 20)
        pa.parquet.write_table(rows, tmp_path / f"{file}.parquet", row_group_size=10)
    made = local.read_parquet(f"{tmp_path}/*.parquet", fragment_bytes=900)
    assert [fragment.rows for fragment in made.fragments] == [10] * 6
    return made


@pytest.fixture
def reads(monkeypatch):
    """The row at which each piece that is read of a file begins, with the columns."""
    calls: list[tuple[str, int, tuple[str, ...]]] = []
    for kind in (ParquetSource, CsvSource):
        read = kind.read

        def spy(self, piece, columns, device, read=read):
            calls.append((Path(piece.path).name, piece.first, tuple(columns)))
            return read(self, piece, columns, device)

        monkeypatch.setattr(kind, "read", spy)
    return calls


def usage(dataset):
    return dataset.engine.usage(dataset.reader.persistence.name)


def test_a_second_scan_reads_nothing(data, reads):
    persisted = data.persist()
    assert not reads
    first = persisted.to_arrow()
    assert len(reads) == 6
    assert persisted.to_arrow() == first == data.to_arrow()
    assert len(reads) == 6 + 6  # those of the last one alone


def test_a_scan_reads_the_columns_that_are_not_held(data, reads):
    persisted = data.persist()
    persisted.select("x", "n").to_arrow()
    reads.clear()
    assert persisted.select("s", "n").to_arrow() == data.select("s", "n").to_arrow()
    assert {columns for *_, columns in reads[:6]} == {("s",)}


def test_row_numbers_are_those_of_the_file(data, reads):
    persisted = data.persist()
    persisted.select("n").to_arrow()
    reads.clear()
    fragment = persisted.fragments[4]
    frame = persisted.reader.read_accounted(fragment, ["n", "__row__"], "cpu", RowLog())
    assert frame["__row__"].to_list() == list(range(40, 50))
    assert not reads


def test_a_part_of_a_fragment_is_taken_from_the_whole(data, reads):
    persisted = data.persist()
    persisted.select("x", "s").to_arrow()
    reads.clear()
    (part,) = [fragment for run in ps.io.fragments.deal(persisted.fragments, 60)[33:34] for fragment in run]
    frame = persisted.reader.read_accounted(part, ["s", "x"], "cpu", RowLog())
    assert frame.rows() == [tuple(row.values()) for row in table().select(["s", "x"]).slice(33, 1).to_pylist()]
    assert not reads


@pytest.mark.thorough
def test_a_fit_a_transform_and_a_write_read_each_column_once(data, reads, tmp_path):
    persisted = data.persist()
    pipeline = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"), st.StringIndexer("s"))
    model = pipeline.fit(persisted)
    model.transform(persisted).write_parquet(tmp_path / "out")
    seen = [(name, first, column) for name, first, columns in reads for column in columns]
    assert len(seen) == len(set(seen)) == 6 * len(data.columns)
    assert model.digest == pipeline.fit(data).digest


@pytest.mark.thorough
def test_no_result_depends_on_it(data, subtests):
    made = {
        "none": data,
        "filter": data.filter(nw.col("n") % 4 != 1),
        "select": data.select("s", "x", "n"),
        "function": data.map_partitions(lambda frame: frame.head(7), data.schema),
    }
    for steps, plain in made.items():
        with subtests.test(steps=steps):
            persisted = plain.persist()
            parts = persisted.split([0.7, 0.3], seed=5)
            for dataset in (persisted, persisted.filter(nw.col("n") > 5), persisted.select("n"), *parts):
                again = dataset.unpersist() if dataset is not persisted else plain
                assert dataset.schema == again.schema
                for _ in range(2):
                    assert dataset.count() == again.count()
                    assert dataset.to_arrow() == again.to_arrow()


@pytest.mark.thorough
def test_a_split_is_persisted_as_the_part_that_it_is(data, reads):
    part = data.split([0.5, 0.5], seed=5)[0]
    persisted = part.persist()
    assert persisted.to_arrow() == part.to_arrow()
    assert usage(persisted).memory < usage(full := data.persist()).memory + len(full.to_arrow()) * 1000
    reads.clear()
    assert persisted.to_arrow().num_rows == part.count()
    assert not reads


@pytest.mark.thorough
def test_folds_learn_the_same_persisted_before_or_after(data):
    pipeline = ps.Pipeline(st.Imputer("x"), st.StandardScaler("x"))
    plain = data.folds(3, seed=2)[1].train
    expected = pipeline.fit(plain).digest
    for fold in (data.persist().folds(3, seed=2)[1].train, plain.persist()):
        for _ in range(2):
            assert pipeline.fit(fold).digest == expected


@pytest.mark.thorough
def test_rows_that_are_set_aside_are_so_each_time(data, tmp_path):
    model = ps.Pipeline(
        st.Expect("n < 50", action="quarantine"), st.Expect("x is not None", action="drop"), st.StandardScaler("x")
    ).fit(data)
    plain, persisted = model.transform(data), model.transform(data).persist()
    for number, (dataset, again) in enumerate(
        [(plain, persisted), (plain, persisted), (plain.select("n"), persisted.select("n")), (plain, persisted)]
    ):
        for name, each in (("plain", dataset), ("persisted", again)):
            result = each.write_parquet(tmp_path / f"{name}{number}")
            assert (result.read, result.rows, result.quarantined) == (60, 43, {"n < 50": 10})
            assert result.dropped == {"x is not None": 7}
        aside = [pl.read_parquet(tmp_path / f"{name}{number}.quarantine/*.parquet") for name in ("plain", "persisted")]
        assert aside[0].equals(aside[1])


@pytest.mark.thorough
def test_records_that_cannot_be_parsed_are_set_aside_each_time(local, reads, tmp_path):
    (tmp_path / "a.csv").write_text("n,s\n1,a\nx\n2,b\n3,c\n")
    data = local.read_csv(tmp_path / "a.csv", max_bad_records=1)
    persisted = data.persist()
    filtered = data.filter(nw.col("n") > 1).persist()
    for number in range(3):
        results = [
            dataset.write_parquet(tmp_path / f"{name}{number}")
            for name, dataset in (("plain", data), ("persisted", persisted), ("filtered", filtered))
        ]
        assert [(result.read, result.rows) for result in results] == [(4, 3), (4, 3), (4, 2)]
        assert len({str(result.quarantined) for result in results}) == 1
        aside = pl.read_parquet(tmp_path / f"filtered{number}.quarantine/*.parquet")
        assert aside["_corrupt_record"].to_list() == ["x"]
    assert len(reads) == 3 + 1 + 1


def test_an_error_names_file_and_row(data, subtests):
    strict = ps.Pipeline(st.Expect("n != 37"), st.StandardScaler("n"))
    for where, dataset in {
        "not persisted": data,
        "as stored": data.persist(),
        "prepared": data.filter(nw.col("n") > 3).persist(),
        "after": data.select("s", "n").persist(),
    }.items():
        with subtests.test(where=where):
            for _ in range(2):
                with pytest.raises(BadRowsError) as error:
                    strict.fit(dataset.select("s", "n"))
                assert (Path(error.value.path).name, error.value.row) == ("1.parquet", 17)


def test_a_file_that_changed_meanwhile_is_told(data, tmp_path):
    rows = [data, data.filter(nw.col("n") > 3)]
    persisted = [each.persist() for each in rows]
    for each in persisted:
        each.to_arrow()
    pa.parquet.write_table(table(21), tmp_path / "1.parquet")
    for each, again in zip(persisted, rows, strict=True):
        with pytest.raises(IncompleteInputError) as error:
            each.to_arrow()
        with pytest.raises(IncompleteInputError) as plain:
            again.to_arrow()
        assert str(error.value) == str(plain.value)


def test_a_function_with_random_numbers_gives_one_set_of_rows(data):
    numbers = iter(range(10**6))
    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})

    def draw(frame):
        drawn = [next(numbers) for _ in range(4)]
        return pl.DataFrame({"a": drawn, "b": drawn})

    persisted = data.map_partitions(draw, schema).persist()
    first = persisted.select("a").to_arrow()["a"]
    both = persisted.to_arrow()
    assert both["a"] == both["b"]
    assert both["a"] != first  # made anew, with b
    assert persisted.select("a").to_arrow()["a"] == both["a"]


class TestBudget:
    def test_without_room_everything_is_read_every_time(self, data, reads):
        persisted = data.persist(memory="0 B")
        assert persisted.to_arrow() == persisted.to_arrow()
        assert len(reads) == 12
        assert usage(persisted) == (0, 0, 0)

    def test_of_rows_that_do_not_fit_the_same_are_held_from_scan_to_scan(self, data, reads):
        persisted = data.select("n").persist(memory="250 B")
        persisted.to_arrow()
        assert usage(persisted) == (3, 240, 0)
        again = []
        for _ in range(4):
            reads.clear()
            persisted.to_arrow()
            again.append(sorted(reads))
        assert len(again[0]) == 3
        assert all(each == again[0] for each in again)

    def test_what_was_not_used_for_two_scans_gives_way(self, data):
        persisted = data.persist(memory="480 B")
        persisted.select("n").to_arrow()
        assert usage(persisted) == (6, 480, 0)
        for _ in range(3):
            assert persisted.select("x").to_arrow() == table().select(["x"])
        assert usage(persisted).columns == 5
        assert {name for _, name in row_store._stores[persisted.reader.persistence.name]._recent.values()} == {"x"}

    def test_what_does_not_fit_goes_to_disk(self, data, reads, tmp_path):
        spill = tmp_path / "spill"
        spill.mkdir()
        persisted = data.persist(memory="1 KiB", disk="1MiB", spill_dir=spill)
        first = persisted.to_arrow()
        reads.clear()
        assert persisted.to_arrow() == first == table()
        assert not reads
        columns, memory, disk = usage(persisted)
        assert columns == 36
        assert memory <= 1024 < disk
        (folder,) = [path for path in spill.iterdir() if path.is_dir()]
        assert folder.stat().st_mode & 0o777 == 0o700
        assert sum(path.stat().st_size for path in folder.iterdir()) == disk
        persisted.unpersist()
        assert list(spill.iterdir()) == []

    def test_what_gives_way_goes_to_disk(self, data, reads):
        persisted = data.persist(memory="480 B", disk="1MiB")
        persisted.select("n").to_arrow()
        for _ in range(3):
            persisted.select("x").to_arrow()
        reads.clear()
        assert persisted.select("n", "x").to_arrow() == table().select(["n", "x"])
        assert not reads

    def test_the_budget_of_the_disk_holds(self, data, reads):
        persisted = data.persist(memory="0 B", disk="4 KiB")
        persisted.to_arrow()
        assert 0 < usage(persisted).disk <= 4096
        reads.clear()
        assert persisted.to_arrow() == table()
        assert reads

    def test_a_folder_that_cannot_be_written_is_logged_and_nothing_fails(self, data, caplog, tmp_path):
        persisted = data.persist(memory="0 B", disk="1MiB", spill_dir=tmp_path / "none")
        assert persisted.to_arrow() == persisted.to_arrow() == table()
        assert caplog.text.count("no more rows are put on disk") == 1

    def test_a_full_disk_is_logged_once_by_threads_that_find_it_at_the_same_time(self, monkeypatch, caplog, tmp_path):
        folder, together = SpillFolder(str(tmp_path), 1_000_000), threading.Barrier(2)

        def fail(column, path):
            together.wait(30)
            raise OSError("no space left")

        monkeypatch.setattr(row_store, "write_ipc", fail)
        column = nw.from_native(pl.Series("x", [1]), series_only=True)
        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(folder.write, [column] * 2, [8] * 2)) == [None, None]
        assert caplog.text.count("no more rows are put on disk") == 1
        assert folder.used == 0

    def test_a_file_that_somebody_removed_costs_a_read(self, data, reads, tmp_path):
        spill = tmp_path / "spill"
        spill.mkdir()
        persisted = data.select("n").persist(memory="0 B", disk="1MiB", spill_dir=spill)
        persisted.to_arrow()
        for path in next(path for path in spill.iterdir() if path.is_dir()).iterdir():
            path.unlink()
        reads.clear()
        assert persisted.to_arrow()["n"] == table()["n"]
        assert len(reads) == 6

    def test_sums_are_the_same_to_the_bit_as_chunks_are_kept(self, local, tmp_path):
        numbers = np.random.default_rng(1).normal(size=50_000) * 1e9
        pa.parquet.write_table(pa.table({"x": numbers}), tmp_path / "a.parquet", row_group_size=7_001)
        data = local.read_parquet(tmp_path / "a.parquet")

        def column(dataset):
            return dataset.reader.read_accounted(dataset.fragments[0], ["x"], "cpu", RowLog()).to_native()["x"]

        plain = column(data)
        assert plain.n_chunks() == 8
        for memory in ("64MiB", "0 B"):
            persisted = data.persist(memory=memory, disk="64MiB")
            for _ in range(3):
                held = column(persisted)
                assert held.sum() == plain.sum()
                assert [len(chunk) for chunk in held.get_chunks()] == [len(chunk) for chunk in plain.get_chunks()]

    def test_a_quarter_of_free_memory_is_the_budget_unless_given(self, data, monkeypatch):
        monkeypatch.setattr("penstock.devices.free_memory", lambda kind: 4 * 250)
        persisted = data.select("n").persist()
        persisted.to_arrow()
        assert usage(persisted) == (3, 240, 0)


class TestLettingGo:
    @pytest.mark.thorough
    def test_unpersist_gives_the_dataset_as_it_was(self, data, reads):
        for plain in (data, data.filter(nw.col("n") > 3)):
            persisted = plain.persist()
            later = persisted.select("n")
            later.to_arrow()
            assert usage(persisted).columns == 6
            again = later.unpersist()
            assert again == plain.select("n")
            assert usage(persisted) == (0, 0, 0)
            reads.clear()
            for _ in range(2):
                assert later.to_arrow() == again.to_arrow()
            assert len(reads) == 24
            assert usage(persisted) == (0, 0, 0)

    def test_of_rows_that_are_persisted_twice_the_last_are_let_go_and_of_others_none(self, data):
        assert data.unpersist() is data
        stored = data.persist()
        prepared = stored.filter(nw.col("n") > 3).persist()
        prepared.to_arrow()
        assert prepared.unpersist().reader == stored.reader
        assert (usage(prepared).columns, usage(stored).columns) == (0, 36)

    def test_close_lets_go(self, data, tmp_path):
        with ps.LocalEngine(device="cpu") as engine:
            persisted = engine.read_parquet(f"{tmp_path}/*.parquet").persist()
            persisted.to_arrow()
            assert usage(persisted).columns
            other = data.persist()
            other.to_arrow()
        assert usage(persisted) == (0, 0, 0)
        assert usage(other).columns == 36

    @pytest.mark.thorough
    def test_the_last_dataset_lets_go(self, data):
        persisted = data.persist()
        persisted.to_arrow()
        name, derived = persisted.reader.persistence.name, persisted.select("n")
        del persisted
        gc.collect()
        assert data.engine.usage(name).columns == 36
        del derived
        gc.collect()
        assert data.engine.usage(name) == (0, 0, 0)


class TestOfAFit:
    def test_columns_that_are_read_again_are_read_once(self, data, reads):
        pipeline = ps.Pipeline(st.Imputer("x"), st.RobustScaler("x"), st.StringIndexer("s"))
        pipeline.fit(data)
        seen = [(name, first, column) for name, first, columns in reads for column in columns]
        assert len(seen) == len(set(seen)) == 12

    @pytest.mark.thorough
    def test_nothing_is_held_afterwards_or_when_it_fails(self, data, monkeypatch):
        before = dict(row_store._stores)  # of earlier tests; the collector may close them at any time
        held, close = [], row_store.RowStore.close

        def closing(store):
            if store not in before.values():
                held.append(store.held)
            close(store)

        monkeypatch.setattr(row_store.RowStore, "close", closing)
        ps.Pipeline(st.Imputer("x"), st.RobustScaler("x"), st.StringIndexer("s")).fit(data)
        assert held == [6]  # of s, which is read once, nothing
        with pytest.raises(BadRowsError):
            ps.Pipeline(st.Imputer("x"), st.RobustScaler("x"), st.Expect("x < 1"), st.MaxAbsScaler("x")).fit(data)
        assert len(held) == 2
        assert row_store._stores.keys() <= before.keys()

    def test_what_is_read_once_or_lies_in_memory_is_not_held(self, data, local):
        assert "holds" not in ps.Pipeline(st.StandardScaler("x")).explain(data)
        again = ps.Pipeline(st.Imputer("x"), st.RobustScaler("x"), st.StringIndexer("s"))
        assert "holds 1 column(s) from pass to pass, as there is room: x" in again.explain(data)
        assert "holds" not in again.explain(local.from_arrow(table()))

    @pytest.mark.thorough
    def test_a_training_reads_what_the_scan_has_read(self, data, reads):
        rows = data.map_partitions(lambda frame: frame.with_columns(nw.col("n") % 2), data.schema).select("n", "x", "b")
        pipeline = ps.Pipeline(st.Imputer("x"), st.LogisticRegression("n", features=["x"], max_iter=3))
        pipeline.fit(rows)
        assert len(reads) == 6


def test_explain_says_what_is_held(data):
    pipeline, persisted = ps.Pipeline(st.StandardScaler("x")), data.persist(memory="2GiB", disk="20GiB")
    persisted.select("n").to_arrow()
    line = pipeline.explain(persisted).splitlines()[1]
    assert line == (
        "rows are persisted, by each process at most 2.0 GiB of memory and 20.0 GiB of disk;"
        " now 6 column(s) of fragments, 480 B of memory, 0 B of disk"
    )
    assert "a quarter of its free memory" in pipeline.explain(data.persist())


@pytest.mark.thorough
def test_many_threads_get_the_same_rows(data):
    persisted = data.persist(memory="2 KiB", disk="8 KiB")
    expected, wrong = table(), []

    def read(seed):
        for columns in np.random.default_rng(seed).permuted([["x", "n", "s", "l", "d", "b"]] * 8, axis=1)[:, :3]:
            names = [str(name) for name in columns]
            if persisted.select(*names).to_arrow() != expected.select(names):
                wrong.append(names)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    held, memory, disk = usage(persisted)
    assert held > 0
    assert 0 <= memory <= 2048
    assert 0 <= disk <= 8192


def test_what_is_no_budget_and_a_second_one_are_refused(data):
    persisted = data.persist(memory="1MiB")
    assert persisted.persist() is persisted
    for dataset, options, problem in [
        (data, {"memory": "2 GB"}, "'2 GB' is no size"),
        (data, {"disk": "much"}, "'much' is no size"),
        (data, {"memory": 2}, "memory is 2, expected a size"),
        (data, {"spill_dir": "/tmp"}, "spill_dir is given, and disk is not"),
        (persisted, {"memory": "2MiB"}, "is persisted already"),
    ]:
        with pytest.raises(ConfigError, match=problem):
            dataset.persist(**options)


@pytest.mark.thorough
def test_texts_are_coded_once_as_long_as_they_are_held(data, monkeypatch):
    from penstock.frames import coded

    times = []
    monkeypatch.setattr(coded.Coded, "of", lambda column, of=coded.Coded.of: times.append(len(column)) or of(column))
    persisted = data.persist()
    pipeline = ps.Pipeline(st.StringIndexer("s"))
    model = pipeline.fit(persisted)
    assert pipeline.fit(persisted).digest == model.digest
    assert len(times) == 6
    assert model.transform(persisted).to_arrow() == model.transform(data).to_arrow()
    assert len(times) == 6
    texts = [
        persisted.reader.read_accounted(fragment, ["s"], "cpu", RowLog()).to_native()["s"]
        for fragment in persisted.fragments
    ]
    assert all(coded.codes(column) is not None for column in texts)
    persisted.unpersist()
    assert all(coded.codes(column) is None for column in texts)
