"""States of fragments that are kept: what is read again, and that no result depends on it."""

import hashlib
import json
import logging
import os
from pathlib import Path

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.cli.commands import main
from penstock.core.errors import ConfigError
from penstock.dataset.state_cache import StateCache

ROWS = 400
PIPELINE = ps.Pipeline(
    st.Imputer("x"), st.StandardScaler("x"), st.RobustScaler("y"), st.StringIndexer("s"), st.LinearRegression("y")
)


def write_day(folder: Path, day: int) -> Path:
    drawn = np.random.default_rng(day)
    table = pa.table(
        {
            "x": pa.array(drawn.normal(size=ROWS), mask=drawn.uniform(size=ROWS) < 0.1),
            "y": drawn.normal(size=ROWS),
            "s": drawn.choice(["a", "b", f"only-{day}"], ROWS),
        }
    )
    path = folder / f"day-{day}.parquet"
    pq.write_table(table, path)
    return path


@pytest.fixture
def days(tmp_path) -> Path:
    folder = tmp_path / "days"
    folder.mkdir()
    for day in range(3):
        write_day(folder, day)
    return folder


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The name of each file that is read, once for each time."""
    names: list[str] = []
    read = frames.read_parquet

    def counted(paths, *others):
        names.extend(Path(path).name for path in paths)
        return read(paths, *others)

    monkeypatch.setattr(frames, "read_parquet", counted)
    return names


def read_days(engine, days: Path):
    """Return the days, each a fragment."""
    return engine.read_parquet(str(days / "*.parquet"), fragment_bytes=ROWS * 44)


@pytest.mark.thorough
def test_a_directory_that_has_grown_is_read_where_it_has(local, days, tmp_path, reads):
    pipeline = ps.Pipeline(st.StandardScaler("y"), st.StringIndexer("s"))
    pipeline.fit(read_days(local, days).cache_states(tmp_path / "states"))
    assert sorted(reads) == ["day-0.parquet", "day-1.parquet", "day-2.parquet"]
    reads.clear()
    write_day(days, 3)
    grown = pipeline.fit(read_days(local, days).cache_states(tmp_path / "states"))
    assert reads == ["day-3.parquet"]
    assert (grown.report.rows.read, grown.report.rows.cached) == (4 * ROWS, 3 * ROWS)
    assert grown.digest == pipeline.fit(read_days(local, days)).digest


@pytest.mark.thorough
def test_a_file_that_has_changed_is_read_again(local, days, tmp_path, reads):
    pipeline = ps.Pipeline(st.MinMaxScaler("y"))
    unchanged = pipeline.fit(read_days(local, days).cache_states(tmp_path / "states"))
    before = os.stat(days / "day-1.parquet")
    changed = pq.read_table(days / "day-1.parquet")
    pq.write_table(changed.set_column(1, "y", pa.array(np.full(ROWS, 99.0))), days / "day-1.parquet")
    os.utime(days / "day-1.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
    reads.clear()
    model = pipeline.fit(read_days(local, days).cache_states(tmp_path / "states"))
    assert reads == ["day-1.parquet"]
    assert unchanged.digest != model.digest == pipeline.fit(read_days(local, days)).digest


@pytest.mark.thorough
def test_engines_share_what_is_kept_and_learn_the_same(engine, local, days, tmp_path):
    plain = PIPELINE.fit(read_days(engine, days)).digest
    cached = [PIPELINE.fit(read_days(each, days).cache_states(tmp_path / "states")) for each in (local, engine)]
    assert [fit.report.rows.cached for fit in cached] == [0, 3 * ROWS]
    assert [fit.digest for fit in cached] == [plain, plain]


def test_statistics_that_are_new_alone_are_gathered(local, days, tmp_path, monkeypatch):
    data = read_days(local, days).cache_states(tmp_path / "states")
    ps.Pipeline(st.StandardScaler("y")).fit(data)
    columns, read = [], frames.read_parquet

    def noted(paths, first, rows, names, kind):
        columns.append(tuple(names))
        return read(paths, first, rows, names, kind)

    monkeypatch.setattr(frames, "read_parquet", noted)
    ps.Pipeline(st.StandardScaler("y"), st.StringIndexer("s")).fit(data)
    assert columns == [("s",)] * 3


@pytest.mark.thorough
def test_rows_that_went_through_other_steps_are_others(local, days, tmp_path):
    data = read_days(local, days)
    for place, (kept, others) in enumerate([
        (data.filter(nw.col("y") > 0.0), [data.filter(nw.col("y") > 0.5), data.filter(nw.col("y") > 0.25)]),
        (data.with_columns(y=nw.col("y") + 1), [data.with_columns(y=nw.col("y") * each) for each in (2, 3)]),
        (data.sample(0.5, seed=0), [data.sample(0.5, seed=1), data.sample(0.5, seed=2)]),
    ]):  # fmt: skip
        for each in (data, kept):
            each.cache_states(tmp_path / f"{place}").describe()
        for other in others:
            assert other.cache_states(tmp_path / f"{place}").describe().to_dict() == other.describe().to_dict()


def test_rows_are_counted_as_if_they_were_read(local, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\nbad\n3\n-1\n")

    def read():
        return local.read_csv(str(path), schema={"x": "int64"}, max_bad_records=1).filter(nw.col("x") > 0)

    logs = [ps.Pipeline(st.StandardScaler("x")).fit(data).report.rows
            for data in (read(), *(read().cache_states(tmp_path / "states") for _ in range(2)))]  # fmt: skip
    assert logs[0] == logs[1] == logs[2]
    assert logs[0].dropped
    assert logs[0].quarantined
    assert [log.cached for log in logs] == [0, 0, 4]


@pytest.mark.thorough
def test_a_damaged_state_is_computed_again_and_said(local, days, tmp_path, caplog):
    data = read_days(local, days).cache_states(tmp_path / "states")
    wanted = PIPELINE.fit(data).digest
    for place, path in enumerate(sorted((tmp_path / "states").rglob("*.state"))):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content if place % 2 else content[: len(content) // 2])
    with caplog.at_level(logging.WARNING):
        assert PIPELINE.fit(data).digest == wanted
    assert "is computed again" in caplog.text
    assert PIPELINE.fit(data).report.rows.cached == 3 * ROWS


@pytest.mark.thorough
def test_what_is_kept_is_bounded(local, days, tmp_path):
    whole = read_days(local, days).cache_states(tmp_path / "whole")
    PIPELINE.fit(whole)
    size = sum(path.stat().st_size for path in (tmp_path / "whole").rglob("*.state"))
    bounded = read_days(local, days).cache_states(tmp_path / "bounded", max_bytes=size // 2)
    assert PIPELINE.fit(bounded).digest == PIPELINE.fit(whole).digest
    assert 0 < sum(path.stat().st_size for path in (tmp_path / "bounded").rglob("*.state")) <= size // 2


def test_what_was_used_longest_ago_goes_first(tmp_path):
    cache = StateCache(tmp_path, max_bytes=600)
    for place, key in enumerate(["aa", "bb", "cc"]):
        cache.put(key, "x" * 200)
        os.utime(next(tmp_path.rglob(f"{key}.state")), (place, place))
    assert cache.get("aa")
    cache.prune()
    assert [cache.get(key) is not None for key in ("aa", "bb", "cc")] == [True, False, True]


def test_functions_cannot_be_compared_and_are_run(local, days, tmp_path, reads, caplog):
    data = read_days(local, days).cache_states(tmp_path / "states")
    mapped = data.map_partitions(lambda frame: frame, data.schema)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            ps.Pipeline(st.StandardScaler("y")).fit(mapped)
    assert len(reads) == 6
    assert "cannot be compared" in caplog.text


def test_rows_in_memory_and_a_negative_size_are_refused(local, days, tmp_path):
    with pytest.raises(ConfigError, match="these rows are in none"):
        local.from_arrow(pa.table({"x": [1]})).cache_states("anywhere")
    with pytest.raises(ConfigError, match="max_bytes is -1"):
        read_days(local, days).cache_states(tmp_path / "states", max_bytes=-1)


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_costs_the_next_run_alone(local, days, tmp_path, monkeypatch, caplog):
    data = read_days(local, days).cache_states(tmp_path / "states")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with caplog.at_level(logging.WARNING):
        digest = PIPELINE.fit(data).digest
    assert digest == PIPELINE.fit(read_days(local, days)).digest
    assert "a state is not kept" in caplog.text


@pytest.mark.thorough
def test_states_are_kept_in_a_store(local, days):
    data = read_days(local, days).cache_states("memory://bucket/states-of-days")
    digests = [PIPELINE.fit(data) for _ in range(2)]
    assert digests[1].report.rows.cached == 3 * ROWS
    assert digests[0].digest == digests[1].digest == PIPELINE.fit(read_days(local, days)).digest


@pytest.mark.thorough
def test_a_store_is_bounded_too(local, days):
    data = read_days(local, days).cache_states("memory://bucket/few-states", max_bytes=0)
    assert [PIPELINE.fit(data).report.rows.cached for _ in range(2)] == [0, 0]


@pytest.mark.thorough
def test_the_command_line_keeps_states_as_python_does(days, tmp_path, monkeypatch, reads, capsys):
    monkeypatch.chdir(tmp_path)
    told = []
    for _ in range(2):
        reads.clear()
        assert main(["describe", "days/*.parquet", "--state-cache", "states", "--device", "cpu", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out.splitlines()[-1])["columns"])
    assert told[0] == told[1]
    assert reads == []


def test_what_is_no_state_is_computed_again_whatever_its_hash(tmp_path, caplog):
    cache = StateCache(tmp_path)
    (tmp_path / "aa").mkdir()
    for body in (b"", b"x", b"\3\0\0\0\0\0\0\0{{{", b"\2\0\0\0\0\0\0\0{}", b"\xff" * 12):
        (tmp_path / "aa" / "aa.state").write_bytes(
            b"PENSTOCK-STATE-2\n" + hashlib.sha256(b"aa\n" + body).digest() + body
        )
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert cache.get("aa") is None
        assert "it is no state" in caplog.text, body


@pytest.mark.thorough
def test_rows_that_are_sampled_are_others_where_their_file_begins_elsewhere(local, days, tmp_path):
    def described(cached: bool):
        data = read_days(local, days).sample(0.5, seed=3)
        return (data.cache_states(tmp_path / "states") if cached else data).describe().to_dict()

    assert described(cached=True) == described(cached=False)
    pq.write_table(
        pq.read_table(days / "day-2.parquet").slice(0, ROWS - 1), days / "day--.parquet"
    )  # before the others
    assert described(cached=True) == described(cached=False)


def test_what_others_put_in_the_place_of_a_state_is_computed_again(local, days, tmp_path, subtests, caplog):
    data = read_days(local, days).cache_states(tmp_path / "states")
    wanted = PIPELINE.fit(data).digest

    def copy(path: Path, others: list[Path]) -> None:
        path.write_bytes(others[0].read_bytes())

    def fifo(path: Path, others: list[Path]) -> None:
        path.unlink()
        os.mkfifo(path)

    for put in (copy, fifo):
        paths = sorted((tmp_path / "states").rglob("*.state"))
        for place, path in enumerate(paths[1:]):
            if place % 2:
                put(path, paths)
        with subtests.test(put.__name__), caplog.at_level(logging.WARNING):
            caplog.clear()
            assert PIPELINE.fit(data).digest == wanted
            assert "is computed again" in caplog.text
