"""What a staged directory promises while nothing goes wrong outside it."""

import errno
import os
import stat
from contextlib import nullcontext
from pathlib import Path

import pytest

from penstock.errors import CommitConflictError, ConfigError, OutputError, OutputExistsError
from penstock.io.sinks import MANIFEST_NAME, FileEntry, read_manifest
from tests.outputs.alone import StagedDirectory, save, snapshot, verified, write


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_committed_output_is_whole_and_nothing_is_beside_it(tmp_path):
    target = tmp_path / "a" / "b" / "out"  # missing parents are made
    with StagedDirectory(target, run_id="r1") as staged:
        entries = [write(staged, "a"), write(staged, "b", "day=1/part-1.csv")]
        assert not target.exists()
        assert staged.path.parent == target.parent
        returned = staged.commit(entries, metadata={"engine": "local"})
    manifest = verified(target)
    assert manifest == returned
    assert (manifest.run_id, manifest.metadata, manifest.rows) == ("r1", {"engine": "local"}, 2)
    assert os.listdir(target.parent) == ["out"]


@pytest.mark.parametrize("there", ["nothing", "an empty directory", "a damaged manifest"])
def test_overwriting_makes_a_new_output_where_there_was_no_whole_one(tmp_path, there):
    target = tmp_path / "out"
    if there != "nothing":
        target.mkdir()
    if there == "a damaged manifest":
        (target / MANIFEST_NAME).write_text("{")
    save(target, "r2")
    assert (target / "part-0.csv").read_text() == "r2"


def test_existing_output_is_refused_with_its_run_and_date_before_any_work(tmp_path):
    target = tmp_path / "out"
    save(target, "r1")
    old, manifest = snapshot(target), verified(target)
    with pytest.raises(OutputExistsError) as caught, StagedDirectory(target, run_id="r2"):
        pytest.fail("the block was entered")
    for text in (str(target), "'r1'", manifest.created_utc, "overwrite=True"):
        assert text in str(caught.value)
    assert (snapshot(target), os.listdir(tmp_path)) == (old, ["out"])


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_what_this_library_did_not_write_is_never_overwritten(tmp_path, kind):
    target = tmp_path / "out"
    file = target / "thesis.txt" if kind == "directory" else target
    file.parent.mkdir(exist_ok=True)
    file.write_text("years of work")
    with pytest.raises(OutputExistsError, match="replaces only what has a manifest"):
        save(target, "r1")
    assert file.read_text() == "years of work"


def test_error_inside_and_leaving_without_a_commit_keep_the_old_output_byte_identical(tmp_path):
    target = tmp_path / "out"
    save(target, "r1")
    old = snapshot(target)
    for error in (ValueError, KeyboardInterrupt, None):
        leaving = pytest.raises(error) if error else nullcontext()
        with leaving, StagedDirectory(target, overwrite=True, run_id="r2") as staged:
            write(staged, "new")
            if error:
                raise error
        assert (snapshot(target), os.listdir(tmp_path)) == (old, ["out"])


def test_staging_is_for_this_user_alone_and_the_output_follows_the_umask_or_the_old_one(tmp_path):
    target = tmp_path / "out"
    before = os.umask(0o027)
    try:
        with StagedDirectory(target, run_id="r1") as staged:
            assert mode(staged.path) == 0o700
            staged.commit([write(staged, "a")])
    finally:
        os.umask(before)
    assert mode(target) == 0o750
    target.chmod(0o705)
    save(target, "r2")
    assert mode(target) == 0o705


def test_parent_that_is_a_file_or_cannot_be_written_is_an_output_error_with_its_errno(tmp_path, monkeypatch):
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"EEXIST|ENOTDIR"):
        save(tmp_path / "file" / "out", "r1")
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(OutputError, match=r"\.out\.staging-r1: EACCES"):
        save(tmp_path / "out", "r1")
    assert os.listdir(tmp_path) == ["file"]


def test_symbolic_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    save(tmp_path / "v1", "r1")
    (tmp_path / "current").symlink_to("v1")
    save(tmp_path / "current", "r2")
    assert os.readlink(tmp_path / "current") == "v1"
    assert (tmp_path / "v1" / "part-0.csv").read_text() == "r2"


def test_files_of_abandoned_attempts_are_not_committed_nor_what_they_write_later(tmp_path):
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        entry = write(staged, "a")
        (staged.path / MANIFEST_NAME).write_text("{}")
        with (staged.path / "part-0-attempt-2.csv").open("x") as zombie:
            staged.commit([entry])
            old = snapshot(target)
            verified(target)
            zombie.write("late")
        with pytest.raises(FileNotFoundError):
            (staged.path / "part-0-attempt-3.csv").open("x")
    assert (snapshot(target), os.listdir(tmp_path)) == (old, ["out"])


def test_part_that_is_put_after_the_commit_is_refused_and_leaves_no_folder(tmp_path):
    with StagedDirectory(tmp_path / "out", run_id="r1") as staged:
        staged.commit([write(staged, "a")])
        for name in ("part-0.csv", "day=1/part-1.csv"):
            with pytest.raises(OutputError, match=r"part-[01]\.csv"):
                staged.parts.put(name, lambda path: Path(path).write_text("late"), rows=1, kind="csv")
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("damage", ["gone", "grown"])
def test_file_that_is_not_as_listed_stops_the_commit(tmp_path, damage):
    target = tmp_path / "out"
    with (
        pytest.raises(OutputError, match=r"part-0\.csv is not in the staging directory as it was listed"),
        StagedDirectory(target, run_id="r1") as staged,
    ):
        entry = write(staged, "a")
        path = staged.path / "part-0.csv"
        path.unlink() if damage == "gone" else path.write_text("aa")
        staged.commit([entry])
    assert os.listdir(tmp_path) == []


def test_metadata_that_is_not_json_stops_the_commit(tmp_path):
    with pytest.raises(ConfigError, match="nan"), StagedDirectory(tmp_path / "out", run_id="r1") as staged:
        staged.commit([], metadata={"mean": float("nan")})
    assert os.listdir(tmp_path) == []


def test_run_id_that_is_no_file_name_and_target_that_is_no_local_directory_are_refused(tmp_path):
    for run_id in ("", "a/b", "../r", "a.b", "x" * 65):
        with pytest.raises(ConfigError, match="run_id is"):
            StagedDirectory(tmp_path / "out", run_id=run_id)
    for target in ("", "/", "s3://bucket/out"):
        with pytest.raises(ConfigError, match=r"expected (a|the) path"):
            StagedDirectory(target, run_id="r1")


def test_same_run_cannot_write_one_target_twice_at_a_time(tmp_path):
    with StagedDirectory(tmp_path / "out", run_id="r1") as first:
        with (
            pytest.raises(CommitConflictError, match="'r1' already writes"),
            StagedDirectory(tmp_path / "out", run_id="r1"),
        ):
            pytest.fail("the block was entered")
        assert first.path.is_dir()


def extend(staged: StagedDirectory, *entries: FileEntry) -> None:
    """Commit what was there and more."""
    before = staged.previous()
    assert before is not None
    staged.commit([*before.files, *entries], keep=before.files)


def test_kept_files_are_those_of_the_old_output_beside_the_new_ones(tmp_path):
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        staged.commit([write(staged, "a"), write(staged, "b", "day=1/part-1.csv")])
    inode = (target / "day=1" / "part-1.csv").stat().st_ino
    with StagedDirectory(target, overwrite=True, run_id="r2") as staged:
        extend(staged, write(staged, "c", "part-r2.csv"))
    manifest = verified(target)
    assert [entry.path for entry in manifest.files] == ["part-0.csv", "day=1/part-1.csv", "part-r2.csv"]
    assert (target / "day=1" / "part-1.csv").stat().st_ino == inode
    assert os.listdir(tmp_path) == ["out"]


def test_kept_files_are_copied_and_flushed_where_there_are_no_links(tmp_path, monkeypatch):
    flushed, flush = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.fstat(file).st_ino) or flush(file))
    for reason in (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP):

        def refuse(source: Path, *_: object, reason: int = reason, **__: object) -> None:
            raise OSError(reason, os.strerror(reason), str(source))

        target = tmp_path / str(reason)
        save(target, "r1")
        monkeypatch.setattr(os, "link", refuse)
        with StagedDirectory(target, overwrite=True, run_id="r2") as staged:
            extend(staged, write(staged, "r2", "part-r2.csv"))
        kept = {name: text for name, text in snapshot(target).items() if name != MANIFEST_NAME}
        assert kept == {"part-0.csv": b"r1", "part-r2.csv": b"r2"}
        assert (target / "part-0.csv").stat().st_ino in flushed


def test_files_that_are_not_kept_are_gone_with_their_folders(tmp_path):
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        staged.commit([write(staged, "a"), write(staged, "b", "day=1/part-1.csv")])
    with StagedDirectory(target, overwrite=True, run_id="r2") as staged:
        before = staged.previous()
        assert before is not None
        write(staged, "x", "day=2/part-2.csv")
        staged.commit(before.files[:1], keep=before.files[:1])
    assert sorted(os.listdir(target)) == [MANIFEST_NAME, "part-0.csv"]


@pytest.mark.parametrize("damage", ["gone", "grown"])
def test_kept_file_that_is_not_as_the_manifest_has_it_stops_the_commit(tmp_path, damage):
    target = tmp_path / "out"
    save(target, "r1")
    path = target / "part-0.csv"
    path.unlink() if damage == "gone" else path.write_text("r1r1")
    with (
        pytest.raises(OutputError, match=r"part-0\.csv"),
        StagedDirectory(target, overwrite=True, run_id="r2") as staged,
    ):
        extend(staged, write(staged, "r2", "part-r2.csv"))
    manifest = read_manifest(target)
    assert (manifest and manifest.run_id, os.listdir(tmp_path)) == ("r1", ["out"])


@pytest.mark.parametrize("existing", [False, True])
def test_run_that_rebases_goes_on_from_what_another_has_put_there_meanwhile(tmp_path, existing):
    target = tmp_path / "out"
    if existing:
        save(target, "r0")
    with StagedDirectory(target, overwrite=True, run_id="r2") as staged:
        before = staged.previous()
        kept = before.files if before else ()
        entry = write(staged, "r2", "part-r2.csv")
        with StagedDirectory(target, overwrite=True, run_id="r1") as other:
            other.commit([write(other, "r1", "part-r1.csv")])
        with pytest.raises(CommitConflictError):  # on sealing, where a file to keep is gone by then
            staged.commit([*kept, entry], keep=kept)
        staged.rebase()
        extend(staged, entry)
    manifest = verified(target)
    assert [entry.path for entry in manifest.files] == ["part-r1.csv", "part-r2.csv"]
    assert os.listdir(tmp_path) == ["out"]
