"""A folder of runs, on a disk or in a store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fsspec

from penstock.core.errors import MissingInputError
from penstock.core.locations import read_location
from penstock.runs.run import INFO, Run


class RunStore:
    """The runs of a folder.

    Parameters
    ----------
    location : path or URL
        A folder whose folders are runs, as `record` writes them; it need not be there yet.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Examples
    --------
    >>> RunStore("memory://no-such-runs").ids()
    []
    """

    def __init__(self, location: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> None:
        self.location = read_location(location, "location").rstrip("/")
        self._options = dict(storage_options or {})

    def __repr__(self) -> str:
        return f"RunStore({self.location!r})"

    def ids(self) -> list[str]:
        """Return the ids of all runs, the oldest first."""
        filesystem, root = fsspec.core.url_to_fs(self.location, **self._options)
        return sorted(path.split("/")[-2] for path in filesystem.glob(f"{root}/*/{INFO}"))

    def infos(self) -> list[dict[str, Any]]:
        """Return what ``run.json`` of each run has, the oldest first; of one that is damaged, its id and the problem.

        Tasks are not read.
        """
        filesystem, root = fsspec.core.url_to_fs(self.location, **self._options)
        paths = {f"{root}/{run_id}/{INFO}": run_id for run_id in self.ids()}
        contents = filesystem.cat(list(paths)) if paths else {}
        return [_parse(run_id, contents.get(path, b"")) for path, run_id in paths.items()]

    def get(self, run_id: str) -> Run:
        """Return the run of an id, or of the beginning of one; ``"last"`` is the newest.

        Raises
        ------
        MissingInputError
            There is none, or there are several.
        """
        ids = self.ids()
        found = ids[-1:] if run_id == "last" else [each for each in ids if each.startswith(run_id)]
        if len(found) != 1:
            problem = f"{self.location} has {len(found)} runs whose id begins with {run_id!r}"
            hint = f"The newest are {', '.join(ids[-3:])}." if ids else "It has no runs at all."
            raise MissingInputError(problem, hint=hint, path=self.location)
        return Run.load(f"{self.location}/{found[0]}", storage_options=self._options)

    def __iter__(self) -> Iterator[Run]:
        """Yield all runs, the oldest first."""
        return (Run.load(f"{self.location}/{each}", storage_options=self._options) for each in self.ids())


def _parse(run_id: str, content: bytes) -> dict[str, Any]:
    try:
        info: dict[str, Any] = json.loads(content)
    except ValueError as error:
        return {"run_id": run_id, "kind": "", "name": "", "status": "unreadable", "error": str(error)}
    return info
