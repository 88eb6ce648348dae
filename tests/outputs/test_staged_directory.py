"""What a staged directory promises while nothing goes wrong outside it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from penstock.errors import CommitConflictError, ConfigError, OutputError, OutputExistsError
from penstock.io.sinks import MANIFEST_NAME, FileEntry, file_entry, read_manifest
from tests.outputs.alone import StagedDirectory, verify_content


def write(staged: StagedDirectory, text: str, name: str = "part-0.csv") -> FileEntry:
    path = staged.path / name
    path.parent.mkdir(exist_ok=True)
    with path.open("x") as file:
        file.write(text)
    return file_entry(path, staged.path, rows=1, kind="csv")


def save(target: Path, run_id: str, *, overwrite: bool = False) -> None:
    with StagedDirectory(target, overwrite=overwrite, run_id=run_id) as staged:
        staged.commit([write(staged, run_id)])


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_committed_output_is_whole_and_nothing_is_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        entries = [write(staged, "a"), write(staged, "b", "day=1/part-1.csv")]
        returned = staged.commit(entries, metadata={"engine": "local"})
    manifest = read_manifest(target)
    assert manifest == returned
    assert (manifest.run_id, manifest.metadata, manifest.rows) == ("r1", {"engine": "local"}, 2)
    verify_content(target, manifest)
    assert os.listdir(tmp_path) == ["out"]


def test_target_does_not_exist_before_the_commit(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        write(staged, "a")
        assert not target.exists()
        assert staged.path.parent == tmp_path


def test_overwriting_replaces_every_file(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        staged.commit([write(staged, "a"), write(staged, "b", "part-1.csv")])
    save(target, "r2", overwrite=True)
    assert snapshot(target).keys() == {MANIFEST_NAME, "part-0.csv"}
    assert (target / "part-0.csv").read_text() == "r2"
    assert os.listdir(tmp_path) == ["out"]


def test_overwriting_nothing_makes_a_new_output(tmp_path: Path) -> None:
    save(tmp_path / "out", "r1", overwrite=True)
    assert (tmp_path / "out" / "part-0.csv").read_text() == "r1"


def test_existing_output_is_refused_with_its_run_and_date_before_any_work(tmp_path: Path) -> None:
    target = tmp_path / "out"
    save(target, "r1")
    old, manifest = snapshot(target), read_manifest(target)
    assert manifest is not None
    with pytest.raises(OutputExistsError) as caught, StagedDirectory(target, run_id="r2"):
        pytest.fail("the block was entered")
    for text in (str(target), "'r1'", manifest.created_utc, "overwrite=True"):
        assert text in str(caught.value)
    assert (snapshot(target), os.listdir(tmp_path)) == (old, ["out"])


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_what_this_library_did_not_write_is_never_overwritten(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    file = target / "thesis.txt" if kind == "directory" else target
    file.parent.mkdir(exist_ok=True)
    file.write_text("years of work")
    with pytest.raises(OutputExistsError, match="replaces only what has a manifest"):
        save(target, "r1", overwrite=True)
    assert file.read_text() == "years of work"


def test_empty_directory_may_be_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    save(tmp_path / "out", "r1", overwrite=True)
    assert (tmp_path / "out" / "part-0.csv").read_text() == "r1"


def test_output_with_a_damaged_manifest_may_be_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    save(target, "r1")
    (target / MANIFEST_NAME).write_text("{")
    save(target, "r2", overwrite=True)
    assert (target / "part-0.csv").read_text() == "r2"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_inside_leaves_the_old_output_byte_identical(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out"
    save(target, "r1")
    old = snapshot(target)
    with pytest.raises(error), StagedDirectory(target, overwrite=True, run_id="r2") as staged:
        write(staged, "new")
        raise error
    assert (snapshot(target), os.listdir(tmp_path)) == (old, ["out"])


def test_leaving_without_a_commit_writes_nothing(tmp_path: Path) -> None:
    with StagedDirectory(tmp_path / "out", run_id="r1") as staged:
        write(staged, "a")
    assert os.listdir(tmp_path) == []


def test_staging_is_for_this_user_alone_and_the_output_follows_the_umask(tmp_path: Path) -> None:
    target = tmp_path / "out"
    before = os.umask(0o027)
    try:
        with StagedDirectory(target, run_id="r1") as staged:
            assert mode(staged.path) == 0o700
            staged.commit([write(staged, "a")])
    finally:
        os.umask(before)
    assert mode(target) == 0o750


def test_overwriting_keeps_the_permissions_of_the_directory(tmp_path: Path) -> None:
    target = tmp_path / "out"
    save(target, "r1")
    target.chmod(0o705)
    save(target, "r2", overwrite=True)
    assert mode(target) == 0o705


def test_missing_parents_are_made(tmp_path: Path) -> None:
    save(tmp_path / "a" / "b" / "out", "r1")
    assert (tmp_path / "a" / "b" / "out" / "part-0.csv").read_text() == "r1"


def test_parent_that_is_a_file_is_an_output_error_with_its_errno(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"EEXIST|ENOTDIR"):
        save(tmp_path / "file" / "out", "r1")


def test_parent_that_cannot_be_written_is_an_output_error_with_its_errno(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(OutputError, match=r"\.out\.staging-r1: EACCES"):
        save(tmp_path / "out", "r1")
    assert os.listdir(tmp_path) == []


def test_symbolic_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    save(tmp_path / "v1", "r1")
    (tmp_path / "current").symlink_to("v1")
    save(tmp_path / "current", "r2", overwrite=True)
    assert os.readlink(tmp_path / "current") == "v1"
    assert (tmp_path / "v1" / "part-0.csv").read_text() == "r2"


def test_files_of_abandoned_attempts_are_not_committed(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        entry = write(staged, "a")
        write(staged, "a", "part-0-attempt-2.csv")
        (staged.path / MANIFEST_NAME).write_text("{}")
        staged.commit([entry])
    manifest = read_manifest(target)
    assert manifest is not None
    verify_content(target, manifest)


def test_attempt_that_wakes_after_the_commit_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        entry = write(staged, "a")
        with (staged.path / "part-0-attempt-2.csv").open("x") as zombie:
            staged.commit([entry])
            old = snapshot(target)
            zombie.write("late")
        with pytest.raises(FileNotFoundError):
            (staged.path / "part-0-attempt-3.csv").open("x")
    assert (snapshot(target), os.listdir(tmp_path)) == (old, ["out"])


def test_part_that_is_put_after_the_commit_is_refused_and_leaves_no_folder(tmp_path: Path) -> None:
    with StagedDirectory(tmp_path / "out", run_id="r1") as staged:
        staged.commit([write(staged, "a")])
        for name in ("part-0.csv", "day=1/part-1.csv"):
            with pytest.raises(OutputError, match=r"part-[01]\.csv"):
                staged.parts.put(name, lambda path: Path(path).write_text("late"), rows=1, kind="csv")
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("damage", ["gone", "grown"])
def test_file_that_is_not_as_listed_stops_the_commit(tmp_path: Path, damage: str) -> None:
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


def test_metadata_that_is_not_json_stops_the_commit(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nan"), StagedDirectory(tmp_path / "out", run_id="r1") as staged:
        staged.commit([], metadata={"mean": float("nan")})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("run_id", ["", "a/b", "../r", "a.b", "x" * 65])
def test_run_id_that_is_no_file_name_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(ConfigError, match="run_id is"):
        StagedDirectory(tmp_path / "out", run_id=run_id)


@pytest.mark.parametrize("target", ["", "/", "s3://bucket/out"])
def test_target_that_is_no_local_directory_is_refused(target: str) -> None:
    with pytest.raises(ConfigError, match=r"expected (a|the) path"):
        StagedDirectory(target, run_id="r1")


def test_same_run_cannot_write_one_target_twice_at_a_time(tmp_path: Path) -> None:
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


def test_kept_files_are_those_of_the_old_output_beside_the_new_ones(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with StagedDirectory(target, run_id="r1") as staged:
        staged.commit([write(staged, "a"), write(staged, "b", "day=1/part-1.csv")])
    inode = (target / "day=1" / "part-1.csv").stat().st_ino
    with StagedDirectory(target, overwrite=True, run_id="r2") as staged:
        extend(staged, write(staged, "c", "part-r2.csv"))
    manifest = read_manifest(target)
    assert manifest is not None
    verify_content(target, manifest)
    assert [entry.path for entry in manifest.files] == ["part-0.csv", "day=1/part-1.csv", "part-r2.csv"]
    assert (target / "day=1" / "part-1.csv").stat().st_ino == inode
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("reason", [errno.EPERM, errno.EXDEV, errno.EMLINK, errno.EOPNOTSUPP])
def test_kept_files_are_copied_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(source: Path, *_: object, **__: object) -> None:
        raise OSError(reason, os.strerror(reason), str(source))

    target = tmp_path / "out"
    save(target, "r1")
    monkeypatch.setattr(os, "link", refuse)
    with StagedDirectory(target, overwrite=True, run_id="r2") as staged:
        extend(staged, write(staged, "r2", "part-r2.csv"))
    assert {name: text for name, text in snapshot(target).items() if name != MANIFEST_NAME} == {
        "part-0.csv": b"r1", "part-r2.csv": b"r2",
    }  # fmt: skip


def test_files_that_are_not_kept_are_gone_with_their_folders(tmp_path: Path) -> None:
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
def test_kept_file_that_is_not_as_the_manifest_has_it_stops_the_commit(tmp_path: Path, damage: str) -> None:
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
def test_run_that_rebases_goes_on_from_what_another_has_put_there_meanwhile(tmp_path: Path, existing: bool) -> None:
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
    manifest = read_manifest(target)
    assert manifest is not None
    verify_content(target, manifest)
    assert [entry.path for entry in manifest.files] == ["part-r1.csv", "part-r2.csv"]
    assert os.listdir(tmp_path) == ["out"]
