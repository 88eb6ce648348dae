"""SIGKILL at every step of a commit of three outputs in a store: after the next run all are old or all are new."""

import json
import os
from collections.abc import Callable, Iterator

import pytest

from penstock.errors import CommitConflictError
from penstock.io.sinks import OutputCommit, output_directory, output_file
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.stores import recovery
from penstock.io.sinks.stores.intent import Intent, StoreChange, carry_out
from penstock.io.sinks.stores.names import StoreTarget
from penstock.io.sinks.stores.store import store_at
from tests.outputs.workers import worker
from tests.stores.conftest import Place

pytestmark = pytest.mark.xdist_group("s3")


@pytest.fixture(params=["shelf", pytest.param("s3", marks=[pytest.mark.services, pytest.mark.thorough])])
def store(request: pytest.FixtureRequest) -> Place:
    """A store that other processes see."""
    found: Place = request.getfixturevalue(request.param)
    return found


Run = Callable[[Place, str, str | None], int]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with worker("tests.stores.killed_store_writes") as write:
        yield lambda place, run_id, failpoint: write(place.url, dict(place.options), run_id, failpoint)


def state(place: Place) -> list[str | None]:
    """Return the run of each output; what manifests list has to be there, with the content of that run."""
    files, found = place.files(), []
    for name in ("rows", "model"):
        manifest = json.loads(place.read(f"{name}/_manifest.json")) if f"{name}/_manifest.json" in files else None
        found.append(manifest and manifest["run_id"])
        for entry in manifest["files"] if manifest else ():
            assert place.read(f"{name}/{entry['path']}").decode() == manifest["run_id"]
    return [*found, place.read("page.html").decode() if "page.html" in files else None]


def left_over(place: Place) -> list[str]:
    """Return what is of no output."""
    files = place.files()
    listed = {"page.html"}
    for name in ("rows", "model"):
        listed.add(f"{name}/_manifest.json")
        listed |= {f"{name}/{entry['path']}" for entry in json.loads(place.read(f"{name}/_manifest.json"))["files"]}
    return sorted(files.keys() - listed)


def enter(place: Place, name: str = "rows") -> None:
    """Do what a run on one of the outputs does first."""
    options = place.options
    if name == "page.html":
        OutputCommit(output_file(place.at(name), run_id="next", storage_options=options)).check()
    else:
        OutputCommit(output_directory(place.at(name), overwrite=True, run_id="next", storage_options=options)).check()


@pytest.mark.thorough
@pytest.mark.faults
def test_a_run_killed_at_any_step_is_all_old_or_all_new_after_the_next(run, shelf):
    seen = set()
    for step in range(1, 60):
        assert run(shelf, "old", None) == 0
        assert left_over(shelf) == [], step
        code = run(shelf, "new", str(step))
        if code == 0:
            break
        assert code == -9
        enter(shelf, "rows" if step % 2 else "page.html")
        settled = state(shelf)
        assert settled in (["old"] * 3, ["new"] * 3), step
        seen.add(settled[0])
    else:
        pytest.fail("a run has at most 60 steps")
    assert seen == {"old", "new"}
    assert step > 20


@pytest.mark.thorough
@pytest.mark.faults
@pytest.mark.parametrize(("step", "outcome"), [("sealed", None), ("target-locked", "killed"), ("decided", "killed")])
def test_a_first_run_that_is_killed_leaves_all_of_its_outputs_or_none(run, store, step, outcome):
    assert run(store, "killed", step) == -9
    enter(store)
    assert state(store) == [outcome] * 3
    assert run(store, "later", None) == 0
    assert state(store) == ["later"] * 3
    assert left_over(store) == []


@pytest.mark.thorough
@pytest.mark.faults
def test_a_run_that_dies_while_it_completes_another_leaves_that_to_the_next(run, shelf):
    assert run(shelf, "old", None) == 0
    assert run(shelf, "killed", "decided") == -9
    assert run(shelf, "helper", "head-replaced") == -9
    enter(shelf)
    assert state(shelf) == ["killed"] * 3
    assert left_over(shelf) == []


@pytest.mark.thorough
def test_what_a_run_of_another_host_left_is_reported_and_removed_when_it_is_a_day_old(run, shelf, monkeypatch, caplog):
    assert run(shelf, "old", None) == 0
    assert run(shelf, "far", "sealed") == -9
    monkeypatch.setattr(Owner, "is_here", lambda self: False)
    before = left_over(shelf)
    enter(shelf)
    assert [name for name in before if "/far." in name or "part-far" in name] == left_over(shelf)
    assert "belongs to host" in caplog.text
    monkeypatch.setattr(recovery, "_age", lambda info: recovery.ABANDONED_SECONDS + 1)
    enter(shelf)
    assert state(shelf) == ["old"] * 3
    assert left_over(shelf) == []


@pytest.mark.thorough
def test_a_commit_of_a_dead_host_is_completed_by_whoever_enters_one_of_its_targets(run, shelf, monkeypatch):
    assert run(shelf, "old", None) == 0
    assert run(shelf, "far", "target-locked") == -9
    monkeypatch.setattr(Owner, "is_here", lambda self: False)
    enter(shelf, "model")
    assert state(shelf) == ["far"] * 3


def test_a_run_that_died_takes_nothing_from_another_of_its_name(memory):
    """Its record names an output at which the other is at work."""
    store = store_at(memory.at("rows"))
    rows, model = (StoreTarget(store_at(memory.at(name)).path) for name in ("rows", "model"))
    both = [model.encode(), rows.encode()]
    store.put(rows.owner("same"), Owner(Owner.here().host, os.getpid(), -1, both).encode())
    store.put(model.owner("same"), Owner.here(both[:1]).encode())
    memory.put("model/part-same-00000-1a2b3c4d.parquet", b"")
    recovery.recover(store, rows)
    assert memory.files().keys() == {"model/.penstock/same.owner", "model/part-same-00000-1a2b3c4d.parquet"}


def test_an_intent_carried_out_twice_does_not_undo_what_came_after(memory_or_s3):
    def claim(run_id: str) -> tuple[OutputCommit, object]:
        output = output_directory(
            memory_or_s3.at("rows"), overwrite=True, run_id=run_id, storage_options=memory_or_s3.options
        )
        return OutputCommit(output), output

    first, one = claim("first")
    with first:
        one.seal([])  # type: ignore[attr-defined]
        intent = Intent("first", [StoreChange(one.place, None)])  # type: ignore[attr-defined]
        store = one.store  # type: ignore[attr-defined]
        store.put(intent.path, intent.encode())
        assert carry_out(store, intent.path) is True
        second, two = claim("second")
        with second:
            two.seal([])  # type: ignore[attr-defined]
            second.commit()
        assert carry_out(store, intent.path) is True
        assert json.loads(memory_or_s3.read("rows/_manifest.json"))["run_id"] == "second"
        with pytest.raises(CommitConflictError, match="run 'second'"):
            first.commit()
    assert json.loads(memory_or_s3.read("rows/_manifest.json"))["run_id"] == "second"


def test_a_run_that_writes_already_is_told_from_another_of_its_name(memory_or_s3):
    first = output_directory(memory_or_s3.at("rows"), run_id="same", storage_options=memory_or_s3.options)
    again = output_directory(memory_or_s3.at("rows"), run_id="same", storage_options=memory_or_s3.options)
    with OutputCommit(first), pytest.raises(CommitConflictError, match="already writes to"):
        OutputCommit(again).check()
