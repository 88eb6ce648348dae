"""A checkpoint is there whole or not at all, and only for the training that wrote it."""

import os
import stat
from pathlib import Path

import fsspec
import pytest

from penstock.errors import InputError, OutputError
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore

SAVED = Checkpoint(7, b"trees\n\0\xff" * 10)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The file of a saved checkpoint."""
    CheckpointStore(tmp_path, "key").save(SAVED)
    (path,) = tmp_path.iterdir()
    return path


def test_what_is_saved_is_loaded_by_another_process(stored: Path) -> None:
    assert CheckpointStore(stored.parent, "key").load() == SAVED


def test_there_is_none_before_the_first_and_after_clear(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "key")
    assert store.load() is None
    store.clear()
    store.save(SAVED)
    store.clear()
    assert store.load() is None
    assert list(tmp_path.iterdir()) == []


def test_the_last_one_counts(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "key")
    store.save(SAVED)
    store.save(Checkpoint(8, b""))
    assert store.load() == Checkpoint(8, b"")


def test_another_training_does_not_see_it(stored: Path) -> None:
    assert CheckpointStore(stored.parent, "other").load() is None


def test_a_file_cut_off_anywhere_is_no_checkpoint(stored: Path) -> None:
    content = stored.read_bytes()
    for length in range(len(content)):
        stored.write_bytes(content[:length])
        assert CheckpointStore(stored.parent, "key").load() is None


def test_a_file_with_any_byte_changed_is_no_checkpoint(stored: Path) -> None:
    content = stored.read_bytes()
    for place in range(len(content)):
        stored.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert CheckpointStore(stored.parent, "key").load() is None


def test_a_save_that_fails_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CheckpointStore(tmp_path, "key")
    store.save(SAVED)

    def fails(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OutputError, match="EIO"):
        store.save(Checkpoint(8, b"new"))
    assert store.load() == SAVED


def test_a_directory_of_its_own_is_private_and_goes_away() -> None:
    with CheckpointStore(None, "key") as store:
        root = store._own.path
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        store.save(SAVED)
    assert not root.exists()


def test_a_directory_that_is_given_stays_and_is_made_private(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path / "deep" / "ckpt", "key") as store:
        store.save(SAVED)
    assert CheckpointStore(tmp_path / "deep" / "ckpt", "key").load() == SAVED
    assert stat.S_IMODE((tmp_path / "deep" / "ckpt").stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["folder", "store"])
def test_a_sound_checkpoint_under_the_name_of_another_training_is_none(tmp_path: Path, place: str) -> None:
    directory = tmp_path if place == "folder" else f"memory://{tmp_path}"
    one, other = (CheckpointStore(directory, key) for key in ("one", "other"))
    one.save(SAVED)
    other.save(SAVED)
    filesystem, root = fsspec.core.url_to_fs(str(directory))
    first, second = sorted(filesystem.find(root))
    filesystem.copy(first, second)
    assert sorted(store.load() is None for store in (one, other)) == [False, True]


def test_a_pipe_in_the_place_of_a_checkpoint_is_not_waited_for(stored: Path) -> None:
    stored.unlink()
    os.mkfifo(stored)
    with pytest.raises(InputError, match="is no plain file"):
        CheckpointStore(stored.parent, "key").load()
