"""Stores that fail for a moment or for good, when asked about a file, when opening it, and in the middle of it."""

import errno
import io
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import IncompleteInputError, InputError
from penstock.io.sources import parquet, stores


class Flaky(MemoryFileSystem):
    """A store that fails as often as a test says: when asked about a file, when opening it, or in the middle of it."""

    protocol = "flaky"
    cachable = False
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    failures: ClassVar[dict[str, list[Exception]]] = {}

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("flaky://").strip("/")

    def unstrip_protocol(self, name: str) -> str:
        return f"flaky:/{name}"

    @classmethod
    def fail(cls, when: str) -> None:
        if cls.failures.get(when):
            raise cls.failures[when].pop()

    def info(self, path: str, **options: Any) -> Any:
        self.fail("info")
        return super().info(path, **options)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        self.fail("open")
        content: bytes = super().cat_file(path, start, end, **options)
        self.fail("read")
        return content

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode != "rb":
            return super()._open(path, mode, **options)
        self.fail("open")
        return FlakyFile(self.store[path].getvalue())


class FlakyFile(io.BytesIO):
    """Moves on as if it had given what it was asked for, and fails."""

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        Flaky.fail("read")
        return content


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Flaky]]:
    monkeypatch.setattr(stores, "_PAUSE", 0.0)
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    pq.write_table(pa.table({"x": range(10)}), tmp_path / "a.parquet")
    Flaky().pipe_file("/d/a.parquet", (tmp_path / "a.parquet").read_bytes())
    Flaky().pipe_file("/d/a.csv", b"x\n" + b"".join(b"%d\n" % row for row in range(10)))
    yield Flaky
    Flaky.failures = {}
    Flaky.store.clear()


WHEN = ("info", "open", "read")


def _read(local: Engine, name: str) -> Dataset:
    parquet._known.clear()  # the ends of files that were read before
    return local.read_csv(name) if name.endswith("csv") else local.read_parquet(name)


def test_a_store_that_fails_twice_is_asked_again(local, store, subtests):
    for name, when in product(("flaky://d/a.parquet", "flaky://d/*.parquet", "flaky://d/a.csv"), WHEN):
        with subtests.test(name=name, when=when):
            store.failures = {when: [OSError(503, "Slow Down"), TimeoutError("no answer")]}
            data = _read(local, name)
            assert not store.failures[when]
            store.failures = {when: [OSError(503, "Slow Down"), TimeoutError("no answer")]}
            assert data.to_arrow()["x"].to_pylist() == list(range(10))
            assert not store.failures[when]


def test_a_store_that_goes_on_failing_is_told_with_its_words_and_the_attempts(local, store, subtests):
    for name, when, planned in product(("flaky://d/a.parquet", "flaky://d/a.csv"), WHEN, (False, True)):
        with subtests.test(name=name, when=when, planned=planned):
            store.failures = {}
            data = _read(local, name) if planned else None
            store.failures = {when: [OSError(503, "Slow Down")] * 99}
            with pytest.raises(InputError, match=r"Slow Down \(503\), in the last of 3 attempts") as caught:
                _read(local, name) if data is None else data.to_arrow()
            assert type(caught.value) is InputError  # neither missing nor damaged
            assert (caught.value.path, caught.value.attempt) == (name, 3)
            assert isinstance(caught.value.__cause__, OSError)


def test_a_permission_that_is_not_given_is_told_at_once(local, store):
    store.failures = {"info": [PermissionError(errno.EACCES, "Forbidden")] * 9}
    with pytest.raises(InputError, match=r"cannot read flaky://d/a\.parquet: Forbidden \(EACCES\)") as caught:
        local.read_parquet("flaky://d/a.parquet")
    assert type(caught.value) is InputError
    assert len(store.failures["info"]) == 8


def test_text_in_a_store_that_changed_is_told(local):
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/faults/a.csv", b"x\n1\n")
    data = local.read_csv("memory://faults/a.csv")
    memory.pipe_file("/faults/a.csv", b"x\n2\n")
    with pytest.raises(IncompleteInputError, match="changed while it was being read"):
        data.to_arrow()
    memory.rm("/faults", recursive=True)
