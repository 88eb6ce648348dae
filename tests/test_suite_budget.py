"""Budget of the suite: seconds by folder, warning and error above it."""

import json

import pytest

from tools import suite


def test_seconds_add_up_by_folder_and_files_beside_folders_are_the_root():
    seconds = {
        "tests/sql/test_a.py::test_x[1/2]": 1.0,
        "tests/sql/deep/test_b.py::test": 2.0,
        "tests/test_c.py::t": 4.0,
    }
    assert suite.by_area(seconds) == {"root": (4.0, 1), "sql": (3.0, 2)}


@pytest.mark.parametrize(("seconds", "word", "code"), [(10, "", 0), (14, "over", 0), (16, "far over", 1)])
def test_an_area_is_named_over_its_budget_and_refused_over_one_and_a_half_times(
    tmp_path, monkeypatch, capsys, seconds, word, code
):
    (tmp_path / "budget.toml").write_text("lines = 1\n[seconds]\nsql = 10\n")
    (tmp_path / "test.json").write_text(json.dumps({"tests/sql/test_a.py::test": seconds}))
    monkeypatch.setattr(suite, "TESTS", tmp_path)
    assert suite.main(["--check", str(tmp_path / "test.json")]) == code
    [line] = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.rstrip().endswith(f"sql <- {word}" if word else "sql")
    ]
    assert "of    10 s" in line


def test_lines_over_the_limit_are_refused(tmp_path, monkeypatch):
    (tmp_path / "budget.toml").write_text("lines = 1\n[seconds]\n")
    (tmp_path / "test_a.py").write_text("\n\n")
    monkeypatch.setattr(suite, "TESTS", tmp_path)
    assert (suite.main([]), suite.main(["--check"])) == (0, 1)
