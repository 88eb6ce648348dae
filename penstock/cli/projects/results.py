"""What commands about projects give."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NewProjectResult:
    """The files of a new project, from its folder on, and what to run there."""

    folder: str
    files: Sequence[str]
    next: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ListedPipeline:
    """A module of the pipelines folder.

    Attributes
    ----------
    name : str
    kind : str
        "pipeline" where it defines ``build``, "etl" where it defines ``run``, "module" for others.
    summary : str
        The first line of its docstring, or of what is wrong with it.
    """

    name: str
    kind: str
    summary: str


@dataclass(frozen=True, kw_only=True)
class ListPipelinesResult:
    """All modules, by name."""

    folder: str
    pipelines: Sequence[ListedPipeline]
