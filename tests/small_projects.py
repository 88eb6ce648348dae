"""Pipeline modules of projects, for tests of commands."""

MODULE = """
import narwhals as nw
import penstock as ps
from penstock import stages as st
from pydantic import BaseModel

class Parameters(BaseModel, extra="forbid"):
    {parameters}

{prepare}
def build(parameters):
    return ps.Pipeline({stages})

def evaluators(parameters):
    return {evaluators}
"""


def pipeline_module(stages: str, evaluators: str = "[]", *, parameters: str = "pass", prepare: str = "") -> str:
    """Return the source of a pipeline module; `prepare` is code before `build`."""
    return MODULE.format(stages=stages, evaluators=evaluators, parameters=parameters, prepare=prepare)
