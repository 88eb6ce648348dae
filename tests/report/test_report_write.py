from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
import report_samples as samples

from penstock.errors import DiskFullError, OutputError
from penstock.report import render, write_report


def test_the_file_holds_the_page(tmp_path: Path) -> None:
    path = write_report(samples.binary(), tmp_path / "new" / "report.html", title="clicks", details={"rows": 5})
    assert path == tmp_path / "new" / "report.html"
    assert path.read_text("utf-8") == render(samples.binary(), title="clicks", details={"rows": 5})
    assert os.listdir(path.parent) == ["report.html"]


def test_the_file_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = write_report(samples.regression(), tmp_path / "report.html")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_page_that_is_there_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(samples.ranking(), str(path))
    assert "Quality of the first k" in path.read_text("utf-8")


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


def test_a_folder_in_the_way_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OutputError, match=r"report\.html: EISDIR"):
        write_report(samples.binary(), tmp_path / "report.html")
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_file_in_the_way_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="taken"):
        write_report(samples.binary(), tmp_path / "taken" / "report.html")
