"""What all drawn tables share: an engine, and folders that are written again and again."""

from pathlib import Path

import pytest

from penstock.engines.base import Engine


@pytest.fixture(scope="session")
def local(engines) -> Engine:
    return engines.get("local")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all examples of a test share."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")
