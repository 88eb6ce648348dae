"""A folder of runs, on a disk or in a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from penstock.core.errors import InputError, MissingInputError
from penstock.core.locations import read_location
from penstock.core.notices import get_logger
from penstock.core.plain_files import read_plain
from penstock.core.redaction import redact
from penstock.core.several import several
from penstock.runs.run import INFO, Run, decode_info

logger = get_logger(__name__)


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
        if isinstance(filesystem, LocalFileSystem):  # whose own search asks for the status of every file
            return sorted(path.parent.name for path in Path(root).glob(f"*/{INFO}"))
        found = filesystem.find(root, maxdepth=2)  # not glob, to which [ in a name means something else
        return sorted(path.split("/")[-2] for path in found if path.endswith(f"/{INFO}"))

    def infos(self) -> list[dict[str, Any]]:
        """Return what ``run.json`` of each run has, the oldest first; of one that is damaged, its id and the problem.

        Tasks are not read.
        """
        ids = self.ids()
        return [_parse(run_id, content) for run_id, content in zip(ids, self._contents(ids), strict=True)]

    def _contents(self, run_ids: Sequence[str]) -> Iterable[bytes | Exception]:
        filesystem, root = fsspec.core.url_to_fs(self.location, **self._options)
        if isinstance(filesystem, LocalFileSystem):
            return (_read(Path(root, each, INFO)) for each in run_ids)
        paths = [f"{root}/{each}/{INFO}" for each in run_ids]
        return filesystem.cat_ranges(paths, None, None, on_error="return")

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
        """Yield all runs, the oldest first; one that is damaged is left out, and a warning names it."""
        return self.load_each(self.ids())

    def load_each(self, run_ids: str | Iterable[str]) -> Iterator[Run]:
        """Yield the runs of these ids; one that is damaged is left out, and a warning names it."""
        for run_id in several(run_ids, "run_ids", "str | Iterable[str]"):
            try:
                yield Run.load(f"{self.location}/{run_id}", storage_options=self._options)
            except InputError as error:
                logger.warning("a record of a run is left out: %s", redact(str(error)))


def _read(path: Path) -> bytes | Exception:
    try:
        return read_plain(path)
    except (OSError, InputError) as error:
        return error


def _parse(run_id: str, content: bytes | Exception) -> dict[str, Any]:
    """Return the fields of a record, under the id of its folder, by which alone it can be asked for."""
    try:
        if isinstance(content, Exception):
            raise ValueError(content)
        return {**decode_info(content), "run_id": run_id}
    except ValueError as error:
        return {"run_id": run_id, "kind": "", "name": "", "status": "unreadable", "error": redact(str(error))}
