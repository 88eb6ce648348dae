"""A store that refuses, slows down or fails in the middle: asked again, then told, and nothing visible has changed."""

import errno
from collections.abc import Callable
from types import SimpleNamespace

import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import OutputError
from penstock.io.sinks import OutputCommit, output_directory
from penstock.io.sinks.stores.store import store_at
from penstock.io.sources import stores
from tests.stores.conftest import BUCKET, Place
from tests.stores.shelf import Shelf

pytestmark = pytest.mark.xdist_group("s3")

TABLE = pa.table({"x": range(300)})


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, none of which is waited."""
    waits: list[float] = []
    monkeypatch.setattr(stores, "time", SimpleNamespace(sleep=waits.append))  # other threads sleep as they did
    return waits


@pytest.fixture
def data(local: Engine) -> Dataset:
    return local.from_arrow(TABLE, fragment_bytes=1000)


def read(place: Place) -> pa.Table:
    return ps.LocalEngine(device="cpu").read_parquet(place.at("out")).to_arrow()


def slow_down(*, until: Callable[[int, str], bool]) -> Callable[[int, str], None]:
    def fail(number: int, name: str) -> None:
        if not until(number, name):
            raise OSError(errno.EBUSY, "SlowDown: please reduce your request rate, key=hunter2-of-the-tests")

    return fail


def test_a_store_that_fails_for_a_moment_is_asked_again(data, shelf, pauses):
    Shelf.fail = slow_down(until=lambda number, _: number % 7 > 1)
    data.write(shelf.at("out"))
    Shelf.fail = None
    assert read(shelf) == TABLE
    assert set(pauses) >= {0.2, 0.8}  # threads of a server may sleep, too


def test_an_upload_that_is_cut_off_is_done_again(data, shelf):
    cut: set[int] = set()

    def fail(number: int, name: str) -> None:
        if name == "put_file" and len(cut) < 2:  # both may be of one upload, which is tried three times
            cut.add(number)
            raise ConnectionResetError(errno.ECONNRESET, "connection reset")

    Shelf.fail = fail
    data.write(shelf.at("out"))
    Shelf.fail = None
    assert cut
    assert read(shelf) == TABLE
    assert not [name for name in shelf.files() if ".penstock" in name]


def test_a_store_that_does_not_answer_any_more_is_told_in_its_own_words(data, shelf, pauses):
    data.write(shelf.at("out"))
    before, secret = shelf.read("out/_manifest.json"), "hunter2-of-the-tests"
    for first in (1, 9, 15):
        pauses.clear()
        Shelf.requests, Shelf.fail = 0, slow_down(until=lambda number, _, first=first: number < first)
        with pytest.raises(OutputError, match=r"SlowDown.* in the last of 3 attempts") as caught:
            data.select("x").write(shelf.at("out"), overwrite=True, storage_options={"secret": secret})
        Shelf.fail = None
        assert "hunter2" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
        assert pauses[:2] == [0.2, 0.8]
        assert shelf.read("out/_manifest.json") == before
        assert read(shelf) == TABLE


@pytest.mark.thorough
def test_whatever_request_a_store_fails_from_the_output_is_old_or_new_and_the_next_run_leaves_nothing(local, shelf):
    old, new = TABLE, TABLE.slice(0, 50)
    local.from_arrow(old).write(shelf.at("out"))
    outcomes = []
    for first in range(1, 400, 4):
        Shelf.requests = 0
        Shelf.fail = slow_down(until=lambda number, _, first=first: number < first)  # type: ignore[misc]
        try:
            local.from_arrow(new).write(shelf.at("out"), overwrite=True)
            failed = False
        except OutputError:
            failed = True
        done, Shelf.fail = Shelf.requests < first, None
        rows = read(shelf)
        assert rows in (old, new)
        assert failed or rows == new
        outcomes.append((failed, rows == new))
        local.from_arrow(old).write(shelf.at("out"), overwrite=True)
        assert read(shelf) == old
        if done:
            break
    assert outcomes[0] == (True, False)
    assert outcomes[-1] == (False, True)


def test_what_another_has_written_meanwhile_is_not_replaced(memory):
    store = store_at(memory.at("record"))
    assert store.replace(store.path, b"first", None)
    assert not store.replace(store.path, b"late", None)
    assert memory.read("record") == b"first"


def test_what_a_store_refuses_is_not_asked_again(data, shelf, pauses):
    def fail(number: int, name: str) -> None:
        if name == "put_file":
            raise PermissionError(errno.EACCES, "Access Denied")

    Shelf.fail = fail
    with pytest.raises(OutputError, match=r"cannot write .*part-.*: Access Denied \(EACCES\)"):
        data.write(shelf.at("out"))
    assert pauses == []
    Shelf.fail = None
    assert shelf.files() == {}


@pytest.mark.services
def test_large_parts_are_uploaded_to_s3_in_several_pieces(s3, monkeypatch):
    filesystem, _ = s3._filesystem()
    calls: list[str] = []
    call = filesystem._call_s3

    async def watch(method: str, *arguments: object, **options: object) -> object:
        calls.append(method)
        if method == "upload_part" and calls.count("upload_part") == 2:
            raise ConnectionResetError(errno.ECONNRESET, "connection reset")
        return await call(method, *arguments, **options)

    monkeypatch.setattr(filesystem, "_call_s3", watch)
    monkeypatch.setattr("s3fs.core.calculate_chunksize", lambda size, chunksize=None: 5 * 2**20)
    output = output_directory(s3.at("out"), run_id="r", storage_options=s3.options)
    content = b"x" * (12 * 2**20)

    def write(path: str) -> None:
        with open(path, "wb") as file:
            file.write(content)

    with OutputCommit(output) as joint:
        entry = output.parts.put("part-00000.bin", write, rows=1, kind="bin")
        output.seal([entry])
        joint.commit()
    assert "abort_multipart_upload" in calls
    assert calls.count("complete_multipart_upload") == 1
    assert s3.files()[f"out/{entry.path}"] == len(content)
    uploads = filesystem.call_s3("list_multipart_uploads", Bucket=BUCKET).get("Uploads", [])
    assert not [upload for upload in uploads if upload["Key"].endswith(entry.path)]
