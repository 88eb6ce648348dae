"""The layout of the library, and the tools that count and draw it."""

import pytest

from tools import house, package_graph

CODE = '''"""A module."""

import os  # the system

# A comment.
NAME = """two
lines"""


def f():
    """Say what."""
    return NAME
'''


def test_code_lines_are_those_without_blanks_comments_and_docstrings():
    assert house.code_lines(CODE) == 5  # import, two of NAME, def, return


def test_a_name_that_two_public_modules_have_is_counted_and_private_ones_are_not():
    texts = {"a.py": "class Scan: pass\nclass _Own: pass", "b.py": "class Scan: pass", "_c.py": "class Scan: pass"}
    sources = {house.PACKAGE / name: text for name, text in texts.items()}
    assert house.names_that_occur_twice(sources) == ["Scan"]
    assert house.names_that_occur_twice({path: text for path, text in sources.items() if path.name != "b.py"}) == []


@pytest.mark.parametrize(("imports", "cycle"), [({"a": {"b"}, "b": {"c"}}, ()), ({"a": {"b"}, "b": {"a"}}, {"a", "b"})])
def test_packages_that_import_each_other_are_a_cycle(monkeypatch, imports, cycle):
    monkeypatch.setattr(house, "package_imports", lambda: imports)
    assert set(house.package_cycle()) == set(cycle)


def test_a_figure_over_its_limit_fails_the_check_and_is_only_printed_without(monkeypatch, capsys):
    monkeypatch.setattr(house, "LIMITS", {"entries at the root": 20})
    monkeypatch.setattr(house, "figures", lambda: {"entries at the root": (21, "a folder too many")})
    assert (house.main(check=True), house.main(check=False)) == (1, 0)
    assert "21 of at most     20 entries at the root: a folder too many <- over" in capsys.readouterr().out


def test_the_drawing_leaves_out_what_other_arrows_say():
    assert package_graph.essential({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == [("a", "b"), ("b", "c")]


def test_the_drawing_shows_the_imports_of_today():
    text = package_graph.PAGE.read_text(encoding="utf-8")
    assert package_graph.page(text) == text, "run: make docs"
