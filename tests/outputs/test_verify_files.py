"""An output on disk is checked against its manifest before it is parsed."""

import os
from pathlib import Path

import pytest

from penstock.errors import IncompleteInputError, InputError
from penstock.io.sinks import DATASET, Manifest, file_entry, verify_files


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    entries = []
    for part in range(3):
        path = tmp_path / f"day={part}" / "part.csv"
        path.parent.mkdir()
        path.write_text("a\n" + "1\n" * part)
        entries.append(file_entry(path, tmp_path, rows=part, kind="csv"))
    return Manifest.create(DATASET, run_id="r1", files=entries)


def test_missing_file_is_named_with_rows_expected_and_present(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "day=2" / "part.csv").unlink()
    with pytest.raises(IncompleteInputError, match=r"lacks 1 of the 3 .*day=2/part\.csv; rows expected 3, present 1"):
        verify_files(tmp_path, manifest)


def test_extra_file_is_named_with_its_date(tmp_path: Path, manifest: Manifest) -> None:
    extra = tmp_path / "day=1" / "part-copy.csv"
    extra.write_text("a\n1\n")
    os.utime(extra, (86_400, 86_400))
    with pytest.raises(IncompleteInputError, match=r"day=1/part-copy\.csv \(modified 1970-01-02T00:00:00Z\)"):
        verify_files(tmp_path, manifest)


def test_long_list_of_names_is_cut(tmp_path: Path, manifest: Manifest) -> None:
    for number in range(8):
        (tmp_path / f"extra-{number}.csv").write_text("")
    with pytest.raises(IncompleteInputError, match=r"holds 8 files .*extra-4\.csv \S+ \S+ and 3 more"):
        verify_files(tmp_path, manifest)


def test_changed_size_is_named_with_both_sizes(tmp_path: Path, manifest: Manifest) -> None:
    with (tmp_path / "day=1" / "part.csv").open("a") as file:
        file.write("9\n")
    with pytest.raises(IncompleteInputError, match=r"day=1/part\.csv is 6 bytes, expected 4 bytes"):
        verify_files(tmp_path, manifest)


def test_symbolic_link_in_the_place_of_a_file_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    path = tmp_path / "day=1" / "part.csv"
    path.rename(path.with_name("real"))
    path.symlink_to("real")  # the link's own size is that of the file, 4 bytes
    (path.parent / "real").rename(tmp_path.with_name(f"{tmp_path.name}-real"))
    with pytest.raises(IncompleteInputError, match="no regular file"):
        verify_files(tmp_path, manifest)


def test_directory_that_is_gone_is_an_input_error(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(InputError, match="ENOENT"):
        verify_files(tmp_path / "gone", manifest)
