"""What tests of commands on runs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PIPELINE = """
import penstock as ps
from penstock import stages as st
from pydantic import BaseModel

class Parameters(BaseModel, extra="forbid"):
    pass

def build(parameters):
    return ps.Pipeline({stages})

def evaluators(parameters):
    return [{evaluators}]
"""


@pytest.fixture(scope="session")
def write_pipeline() -> Callable[..., None]:
    """A function that writes ``pipelines/line.py`` in a folder, of these stages."""

    def write(folder: Path, stages: str = 'st.StandardScaler("x")', evaluators: str = "") -> None:
        (folder / "pipelines").mkdir()
        (folder / "pipelines" / "line.py").write_text(PIPELINE.format(stages=stages, evaluators=evaluators))

    return write
