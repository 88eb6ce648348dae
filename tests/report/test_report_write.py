import os
import stat
from pathlib import Path

import pytest
import report_samples as samples

from penstock.errors import DiskFullError, OutputError
from penstock.report import render, write_report


def test_the_file_holds_the_page_in_place_of_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    for evaluation in (samples.ranking(), samples.binary()):
        assert write_report(evaluation, str(path), title="clicks", details={"rows": 5}) == path
        assert path.read_text("utf-8") == render(evaluation, title="clicks", details={"rows": 5})
    assert os.listdir(path.parent) == ["report.html"]


def test_the_file_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = write_report(samples.regression(), tmp_path / "report.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_full_disk_leaves_the_old_page_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError, match=r"report\.html"):
        write_report(samples.binary(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_what_is_in_the_way_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OutputError, match=r"report\.html: EISDIR"):
        write_report(samples.binary(), tmp_path / "report.html")
    assert os.listdir(tmp_path) == ["report.html"]
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="taken"):
        write_report(samples.binary(), tmp_path / "taken" / "report.html")
