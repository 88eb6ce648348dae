"""Projects for tests of commands on runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_projects import pipeline_module


@pytest.fixture(scope="session")
def write_pipeline() -> Callable[..., None]:
    """A function that writes ``pipelines/line.py`` in a folder, of these stages."""

    def write(folder: Path, stages: str = 'st.StandardScaler("x")', evaluators: str = "") -> None:
        (folder / "pipelines").mkdir()
        (folder / "pipelines" / "line.py").write_text(pipeline_module(stages, f"[{evaluators}]"))

    return write
