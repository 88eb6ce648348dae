"""Globs over outputs of Penstock: what their manifests list is compared, here and in a store."""

import os
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

import penstock as ps
from penstock.dataset import Dataset
from penstock.errors import CorruptFileError, IncompleteInputError
from penstock.io.sinks import file_entry
from tests.outputs.alone import StagedDirectory

TABLE = pa.table({"x": range(4000)})
PARTS = [f"part-0000{index}.parquet" for index in range(4)]


class Output:
    """An output of four parts in a folder or in a store, and what can happen to it."""

    def __init__(self, folder: Path, root: str) -> None:
        self.folder, self.root = folder, root

    def read(self, *patterns: str, **options: bool) -> Dataset:
        self._publish()
        paths = [f"{self.root}/{pattern}" for pattern in patterns]
        return ps.LocalEngine(device="cpu").read_parquet(paths, **options)

    def _publish(self) -> None:
        if "://" in self.root:
            store = fsspec.filesystem("memory")
            if store.exists("/selections"):
                store.rm("/selections", recursive=True)
            store.put(f"{self.folder}/", "/selections/", recursive=True)

    def flip(self, name: str) -> None:
        path = self.folder / "o" / name
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)


@pytest.fixture(params=["local", "store"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Output]:
    data = ps.LocalEngine(device="cpu").from_arrow(TABLE, fragment_bytes=8000)
    data.write_parquet(tmp_path / "o")
    assert sorted(os.listdir(tmp_path / "o")) == ["_manifest.json", *PARTS]
    yield Output(tmp_path, str(tmp_path) if request.param == "local" else "memory://selections")
    if request.param == "store":
        fsspec.filesystem("memory").rm("/selections", recursive=True)


def test_a_whole_output_is_read_by_a_glob_and_each_part_compared(output, subtests):
    patterns = ("o/*.parquet", "*/*.parquet", "**/*.parquet", "o/part-*", "o")
    for pattern in patterns:
        assert output.read(pattern).to_arrow() == TABLE
    output.flip(PARTS[2])
    for pattern in patterns:
        with subtests.test(pattern=pattern), pytest.raises(CorruptFileError, match=r"part-00002.parquet: sha256 is"):
            output.read(pattern).to_arrow()


def test_a_damaged_part_is_found_in_a_list_of_local_files(output):
    output.flip(PARTS[2])
    damaged = output.read(*(f"o/{name}" for name in PARTS))
    if "://" in output.root:  # beside files that are named nothing is asked for
        assert damaged.count() == 4000
        return
    with pytest.raises(CorruptFileError, match="sha256"):
        damaged.to_arrow()


def test_globs_that_select_an_output_together_and_files_by_their_names_are_read_without_a_warning(output):
    assert output.read("o/part-0000[01]*", "o/part-0000[23]*").to_arrow() == TABLE
    assert output.read(f"o/{PARTS[1]}").count() == 1000


def test_a_part_that_no_manifest_lists_is_refused(output):
    (output.folder / "o" / "part-zombie.parquet").write_bytes((output.folder / "o" / PARTS[0]).read_bytes())
    for pattern in ("o/*.parquet", "**/part*"):
        with pytest.raises(IncompleteInputError, match=r"part-zombie.parquet is not in the manifest beside it"):
            output.read(pattern)


def test_a_part_that_is_gone_is_told_where_the_glob_would_match_it_and_a_part_of_an_output_with_a_warning(output):
    (output.folder / "o" / PARTS[3]).unlink()
    with pytest.raises(IncompleteInputError, match=r"o/part-00003.parquet is gone \(run '.*' wrote 4 file"):
        output.read("o/*.parquet")
    with pytest.warns(UserWarning, match=r"2 of the 4 files of .*/o are read.*not part-00002.parquet, part-00003"):
        assert output.read("o/part-0000[01]*").count() == 2000


def test_a_part_of_another_size_is_refused(output):
    with open(output.folder / "o" / PARTS[1], "ab") as file:
        file.write(b"x")
    with pytest.raises(IncompleteInputError, match=r"part-00001.parquet has \d+ bytes, and \d+ in its manifest"):
        output.read("o/*.parquet")


def test_outputs_in_a_directory_without_a_marker_are_compared(output):
    assert output.read("", allow_unmanifested=True).to_arrow() == TABLE
    (output.folder / "o" / PARTS[3]).rename(output.folder / "o" / "part-00009.parquet")
    with pytest.raises(IncompleteInputError, match=r"part-00009.parquet is not in the manifest"):
        output.read("", allow_unmanifested=True)


def test_a_manifest_above_folders_of_keys_is_found(output):
    parts = [(output.folder / "o" / name).read_bytes() for name in PARTS]
    with StagedDirectory(output.folder / "o", overwrite=True, run_id="r") as staged:
        entries = []
        for day, part in enumerate(parts):
            path = staged.path / f"day={day}" / "hour=1" / "part.parquet"
            path.parent.mkdir(parents=True)
            path.write_bytes(part)
            entries.append(file_entry(path, staged.path, rows=1000))
        staged.commit(entries)
    assert output.read("o/*/*/*.parquet").count() == 4000
    with pytest.warns(UserWarning, match="1 of the 4 files"):
        assert output.read("o/day=1/hour=1/*.parquet").count() == 1000


def test_damage_behind_a_time_that_was_put_back_is_seen_in_the_same_process(output):
    assert output.read("o/*.parquet").to_arrow() == TABLE
    path = output.folder / "o" / PARTS[0]
    before = os.stat(path)
    output.flip(PARTS[0])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(CorruptFileError, match="sha256"):
        output.read("o/*.parquet").to_arrow()


def test_whole_files_are_compared_too(output):
    output.flip(PARTS[0])
    output._publish()
    with pytest.raises(CorruptFileError, match="sha256"):
        ps.LocalEngine(device="cpu").read_files(f"{output.root}/o/part*").to_arrow()
