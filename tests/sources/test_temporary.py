"""Temporary folders: whom they outlive, and whom not."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import OutputError
from penstock.sources.temporary import TemporaryFolder


def test_a_folder_is_removed_with_what_is_in_it_when_nothing_refers_to_it(tmp_path):
    folder = TemporaryFolder(tmp_path)
    (folder.path / "rows").mkdir()
    (folder.path / "rows" / "part").write_text("x")
    del folder
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_was_sent_away_removes_nothing(tmp_path):
    folder = TemporaryFolder(tmp_path)
    sent = pickle.loads(pickle.dumps(folder))
    assert sent == str(folder.path)
    del sent
    gc.collect()
    assert folder.path.is_dir()


def test_a_copy_here_is_the_folder_itself(tmp_path):
    folder = TemporaryFolder(tmp_path)
    assert copy.deepcopy([folder])[0] is folder


def test_removing_it_twice_is_no_error(tmp_path):
    with TemporaryFolder(tmp_path) as folder:
        folder.remove()
    assert not folder.path.exists()


def test_the_end_of_a_process_removes_it(tmp_path):
    code = """
import sys
from penstock.sources.temporary import TemporaryFolder
kept = TemporaryFolder(sys.argv[1])
print(kept.path)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_it_cannot_be_is_named(tmp_path):
    with pytest.raises(OutputError, match="absent"):
        TemporaryFolder(tmp_path / "absent")


def test_a_relative_place_is_told_from_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stage").mkdir()
    assert TemporaryFolder("stage").path.parent == tmp_path / "stage"
