"""What is told to whoever lacks an optional package."""

import re
from configparser import ConfigParser
from pathlib import Path

import penstock
from penstock.core.extras import how_to_install

PACKAGE = Path(penstock.__file__).parent


def test_the_command_names_the_checkout_in_any_folder_or_the_extra_of_an_installed_package(tmp_path):
    assert how_to_install("spark") == f"pip install --editable '{PACKAGE.parent}[spark]'"
    assert how_to_install("spark", tmp_path / "penstock") == "pip install 'penstock[spark]'"
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "setup.cfg").touch()
    assert how_to_install("gpu", tmp_path / "a b" / "penstock") == f"pip install --editable '{tmp_path / 'a b'}[gpu]'"


def test_no_module_words_the_command_itself():
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "extras.py"}
    assert [path for path, text in texts.items() if "penstock[" in text] == []


def test_every_extra_that_is_advised_exists():
    config = ConfigParser()
    config.read(PACKAGE.parent / "setup.cfg")
    sources = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    advised = set(re.findall(r"how_to_install\(['\"](\w+)", sources))
    assert "torch" in advised
    assert advised <= set(config["options.extras_require"])
