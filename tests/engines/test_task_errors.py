"""Whatever a task raises, it leaves every engine as an error of Penstock's own: nothing hangs, retries or goes bare."""

from typing import Any

import pyarrow as pa
import pytest
from error_bodies import Panics, Raises, cause_is_strange, own_is_strange, rank_raises

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import DataValueError, ExecutionError, UserCodeError
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.base import Reader
from penstock.spmd import SpmdOptions

FRAGMENTS = [Fragment(index, 10 * index, (Piece(f"{index}.parquet", 0, 10),)) for index in range(3)]


@pytest.fixture
def unreadable(engine: Engine) -> Dataset:
    return Dataset(engine, Reader(Panics(pa.schema({"x": pa.int64()}))), tuple(FRAGMENTS[1:2]))


def test_whatever_a_task_raises_is_an_execution_error_with_the_file(engine):
    hard_to_send = {
        "nested": "Nested: of a function",
        "exit": "SystemExit: 0",
        "generator": "GeneratorExit: left",
        "mangled": "Mangled: seven",
        "speechless": r"Speechless: \(it has no text\)",
    }
    others = {
        "bare": "Bare: of a library",
        "lines": r"ZeroDivisionError: seven by\\nnothing \(path",
        "long": r"ValueError: x+\.\.\. \(50\d+ characters\)",
    }
    for kind, words in (hard_to_send | (others if engine.name == "local" else {})).items():
        with pytest.raises(ExecutionError, match=f"^a task raised {words}") as caught:
            list(engine.map(Raises(kind), FRAGMENTS[:2]))
        assert type(caught.value) is ExecutionError
        assert (caught.value.path, caught.value.partition) == ("1.parquet", 1)


def test_a_module_that_workers_lack_is_named_with_the_ways_to_send_it(engine):
    def imports(item: Any) -> Any:
        import helpers_of_nobody

        return helpers_of_nobody.same(item)

    mapped = engine.from_arrow(pa.table({"x": [1]})).map_partitions(imports, {"x": "int64"})
    for attempt in (lambda: list(engine.map(imports, [1])), mapped.to_arrow):
        with pytest.raises(ExecutionError, match="No module named 'helpers_of_nobody'") as caught:
            attempt()
        assert caught.value.hint is not None
        assert "--py-files on Spark" in caught.value.hint


def test_no_part_of_a_reduction_lets_a_bare_error_out(engine):
    for at in ("call", "merge", "prune"):
        work = Raises("bare", at)
        with pytest.raises(ExecutionError, match=r"^a task raised Bare: of a library"):
            engine.reduce_partitioned(work, FRAGMENTS[:2])
        if at == "merge":
            with pytest.raises(ExecutionError, match=r"^a task raised Bare: of a library"):
                engine.reduce(work, work.merge, FRAGMENTS[:2])


def test_collecting_writing_and_queries_let_no_bare_error_out_and_name_the_file(engine, unreadable, tmp_path):
    for attempt in (
        unreadable.to_arrow,
        lambda: unreadable.write_parquet(tmp_path / "out"),
        lambda: engine.query(lambda frame: frame, unreadable),  # type: ignore[attr-defined]
    ):
        with pytest.raises(ExecutionError, match="raised Nested: of a function") as caught:
            attempt()
        assert caught.value.path == "1.parquet"
    assert list(tmp_path.iterdir()) == []


def test_a_bare_error_of_a_rank_is_told_and_not_tried_again(engine):
    data = {"train": engine.from_arrow(pa.table({"x": [1, 2]}))}
    with pytest.raises(UserCodeError, match="raised Nested: of a function"):
        engine.spmd(rank_raises, data, SpmdOptions(world_size=1, timeout=20))


def test_an_error_whose_cause_does_not_pickle_keeps_its_class_and_shows_the_traceback(engine):
    with pytest.raises(DataValueError, match="label is 7") as caught:
        list(engine.map(cause_is_strange, [0]))
    assert (caught.value.hint, caught.value.row) == ("Look.", 12)
    assert "Nested: of a function" in str(caught.value.__cause__)


def test_an_error_that_does_not_pickle_becomes_one_of_the_nearest_class(engine):
    with pytest.raises(DataValueError, match="2 is more than 1") as caught:
        list(engine.map(own_is_strange, [0]))
    assert type(caught.value) is DataValueError
    assert (caught.value.hint, caught.value.column) == ("Swap them.", "x")
