"""What commands about projects are given."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NewProjectRequest:
    """A folder that is not there yet, or is empty.

    Parameters
    ----------
    folder : str
        Where the project goes; its last part is its name and that of its first pipeline.

    Examples
    --------
    >>> NewProjectRequest(folder="work/demo").folder
    'work/demo'
    """

    folder: str


@dataclass(frozen=True, kw_only=True)
class ListPipelinesRequest:
    """The pipelines of a project.

    Parameters
    ----------
    pipelines : str
        Folder of the modules.
    """

    pipelines: str = "pipelines"
