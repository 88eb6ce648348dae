"""Checkpoints in a store: the old one or the new one, whatever is cut off; a fit goes on from there."""

import errno

import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import OutputError
from penstock.spmd import SpmdOptions
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore
from tests.stores.conftest import Place
from tests.stores.shelf import Shelf

pytestmark = pytest.mark.xdist_group("s3")


def kept(place: Place, key: str = "key") -> CheckpointStore:
    return CheckpointStore(place.url, key, place.options)


def test_the_last_one_counts_for_another_process_and_another_training_does_not_see_it(store):
    assert kept(store).load() is None
    with kept(store) as checkpoints:
        for rounds in (3, 6, 9, 12):
            checkpoints.save(Checkpoint(rounds, b"trees" * rounds))
            assert kept(store).load() == Checkpoint(rounds, b"trees" * rounds)
    resumed = kept(store)
    assert resumed.load() == Checkpoint(12, b"trees" * 12)
    resumed.save(Checkpoint(15, b""))
    assert kept(store).load() == Checkpoint(15, b"")
    assert kept(store, "other").load() is None
    assert len(store.files()) == 2
    resumed.clear()
    assert kept(store).load() is None
    assert store.files() == {}


def test_a_save_that_is_cut_off_anywhere_keeps_the_one_before(memory):
    checkpoints = kept(memory)
    checkpoints.save(Checkpoint(3, b"old"))
    (old,) = memory.files()
    checkpoints.save(Checkpoint(6, b"new"))
    (name,) = memory.files().keys() - {old}
    content = memory.read(name)
    for length in range(len(content)):
        memory.put(name, content[:length])
        assert kept(memory).load() == Checkpoint(3, b"old")


def test_a_store_that_refuses_a_save_is_told_and_keeps_the_one_before(shelf, monkeypatch):
    checkpoints = kept(shelf)
    checkpoints.save(Checkpoint(3, b"old"))

    def refuse(number: int, name: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Shelf, "fail", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        checkpoints.save(Checkpoint(6, b"new"))
    monkeypatch.undo()
    assert kept(shelf).load() == Checkpoint(3, b"old")


class Stopped(Exception):
    pass


def test_a_fit_goes_on_from_a_store_to_the_same_model(memory_or_s3, monkeypatch):
    data = ps.LocalEngine(device="cpu").from_arrow(
        pa.table({"x": [float(i % 17) for i in range(200)], "y": [i % 2 for i in range(200)]})
    )
    pipeline = ps.Pipeline(st.XGBoostClassifier("y", num_boost_round=12))
    expected = pipeline.fit(data)
    options = SpmdOptions(checkpoint_dir=memory_or_s3.url, storage_options=memory_or_s3.options, checkpoint_interval=4)
    save = CheckpointStore.save

    def stop(self: CheckpointStore, checkpoint: Checkpoint) -> None:
        save(self, checkpoint)
        if checkpoint.rounds == 8:
            raise Stopped

    with monkeypatch.context() as patch, pytest.raises(Exception, match="Stopped"):
        patch.setattr(CheckpointStore, "save", stop)
        pipeline.fit(data, options=options)
    assert len(memory_or_s3.files()) == 2
    loaded: list[int] = []
    load = CheckpointStore.load

    def note(self: CheckpointStore) -> Checkpoint | None:
        found = load(self)
        loaded.append(0 if found is None else found.rounds)
        return found

    monkeypatch.setattr(CheckpointStore, "load", note)
    resumed = pipeline.fit(data, options=options)
    assert loaded == [8]
    assert resumed.digest == expected.digest
    assert memory_or_s3.files() == {}
