"""The record of one run: what it was, and a row for each of its tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from penstock.core.checks import Shape, check_shapes, is_number, is_objects, need
from penstock.core.displayed import Displayed
from penstock.core.errors import CorruptFileError, MissingInputError
from penstock.core.json_values import as_json
from penstock.core.locations import is_url, read_location
from penstock.core.plain_files import read_plain
from penstock.core.recording import PHASES, Span

FORMAT = 1
INFO, TASK_FILE = "run.json", "tasks.parquet"
TASKS = pa.schema(
    [
        ("span", pa.int32()),
        ("label", pa.string()),
        ("kind", pa.string()),
        ("fragment", pa.int32()),
        ("attempt", pa.int32()),
        ("host", pa.string()),
        ("worker", pa.string()),
        ("slot", pa.int32()),
        ("device", pa.string()),
        ("start", pa.timestamp("us", "UTC")),
        ("seconds", pa.float64()),
        *((phase, pa.float64()) for phase in PHASES),
        ("wait", pa.float64()),
        ("rows_in", pa.int64()),
        ("rows_out", pa.int64()),
        ("bytes_in", pa.int64()),
        ("bytes_out", pa.int64()),
        ("cpu_seconds", pa.float64()),
        ("peak_memory", pa.int64()),
        ("energy", pa.float64()),
    ]
)
"""Columns of ``tasks.parquet``: a row a task, merge or rank, in the order in which they started.

``span`` is the place of its scan or training among the spans of the run, and ``label`` its name. ``kind`` is task,
merge or rank; ``fragment`` the fragment of a task or the index of a rank; ``attempt`` how many attempts at it were
begun before, of which nothing else is known: Spark counts its own, a training its starts, and Dask second attempts at
stragglers, but not those after a worker is lost. ``worker`` is ``host:pid``, and ``slot`` a number from 0 on of those
of its tasks that ran at the same time. ``seconds`` is the sum of the phases; ``wait`` the seconds that its slot did
nothing before it, since the span began. ``bytes_in`` are of rows in memory, ``bytes_out`` of files. ``cpu_seconds`` and
``energy`` (joules; null where no counter can be read) are shares of what its process and its devices have used, in
equal parts among the tasks that ran. ``peak_memory`` is the most bytes that its process had until then.
"""


_LAST_TIME = 253_402_300_799
"""The end of the year 9999, behind which there is no time of Python's."""


def _is_time(value: Any) -> bool:
    return value is None or (is_number(value) and 0 <= value <= _LAST_TIME)


_SHAPES: dict[str, Shape] = {
    "format": (lambda value: value == FORMAT, f"{FORMAT}, that of this version of Penstock"),
    **dict.fromkeys(("run_id", "kind", "name", "status"), (lambda value: isinstance(value, str), "a text")),
    **dict.fromkeys(("started", "seconds"), (_is_time, "seconds")),
    **dict.fromkeys(
        ("engine", "machine", "metrics", "energy", "versions", "prediction"),
        (lambda value: value is None or isinstance(value, dict), "an object"),
    ),
    **dict.fromkeys(
        ("inputs", "outputs", "spans"), (lambda value: value is None or is_objects(value), "a list of objects")
    ),
}


def decode_info(content: bytes) -> dict[str, Any]:
    """Return what a ``run.json`` has; ValueError unless it is that of a run of this format.

    Examples
    --------
    >>> decode_info(b"[]")
    Traceback (most recent call last):
    ValueError: run.json is a list, expected an object
    """
    try:
        info = json.loads(content)
    except RecursionError:
        raise ValueError(f"{INFO} is nested too deeply") from None
    need(isinstance(info, dict), f"{INFO} is a {type(info).__name__}, expected an object")
    check_shapes(info, _SHAPES)
    return info


@dataclass(frozen=True, eq=False, repr=False)
class Run(Displayed):
    """What a run was, and what its tasks did.

    Attributes
    ----------
    info : mapping
        What ``run.json`` has, see `penstock.runs.record`.
    tasks : pyarrow.Table
        Of the columns `TASKS`.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.runs.record(folder, kind="count") as recording:
    ...         rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2]})).to_arrow()
    ...     run = ps.runs.Run.load(recording.path)
    >>> run.kind, run.status, run.tasks["rows_in"].to_pylist()
    ('count', 'done', [2])
    """

    info: Mapping[str, Any]
    tasks: pa.Table
    _display = "penstock.report.notebook.runs:run_html"

    def __repr__(self) -> str:
        named = f"{self.kind} {self.name}".rstrip()
        return f"Run({self.id}, {named}: {self.status}, {self.seconds:.2f} s, {self.tasks.num_rows:,} tasks)"

    @property
    def id(self) -> str:
        """Sorts as runs began."""
        return str(self.info["run_id"])

    @property
    def kind(self) -> str:
        """What ran: the command, such as ``"fit"``, or what `record` was given."""
        return str(self.info["kind"])

    @property
    def name(self) -> str:
        """The pipeline or the model that it was about; may be empty."""
        return str(self.info["name"])

    @property
    def status(self) -> str:
        """``"done"`` or ``"failed"``."""
        return str(self.info["status"])

    @property
    def started(self) -> datetime:
        """When it began, in UTC."""
        return datetime.fromtimestamp(self.info["started"], UTC)

    @property
    def seconds(self) -> float:
        """From its start to its end."""
        return float(self.info["seconds"])

    @cached_property
    def spans(self) -> list[Span]:
        """Scans, trainings and steps, in the order in which they began."""
        return [Span(**span) for span in self.info["spans"]]

    @classmethod
    def load(cls, path: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> Run:
        """Return the run of a directory or URL.

        Raises
        ------
        MissingInputError
            There is no run.
        CorruptFileError
            Its files are not those of a run, or of a newer version.
        """
        location = read_location(path, "path").rstrip("/")
        filesystem, root = fsspec.core.url_to_fs(location, **dict(storage_options or {}))
        try:
            read = read_plain if isinstance(filesystem, LocalFileSystem) else filesystem.cat_file
            info = decode_info(read(f"{root}/{INFO}"))
            data = pa.BufferReader(read(f"{root}/{TASK_FILE}"))
            # Not by pq.read_table: of a process that ends at once, its threads abort one in ten.
            tasks = pq.ParquetFile(data).read(use_threads=False)
        except FileNotFoundError as error:
            hint = "A run is a directory with run.json and tasks.parquet: `penstock runs list` shows them."
            raise MissingInputError(f"{location} has no record of a run", hint=hint, path=location) from error
        except (ValueError, pa.ArrowException) as error:
            raise CorruptFileError(f"{location} is no record of a run: {error}", path=location) from error
        missing = sorted(set(TASKS.names) - set(tasks.schema.names))
        if missing:
            problem = f"{location}/{TASK_FILE} lacks the columns {', '.join(missing)}"
            raise CorruptFileError(problem, hint="Read it with the version of Penstock that wrote it.", path=location)
        return cls(info, tasks.select(TASKS.names))

    def save(self, path: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> None:
        """Write the two files to a directory or URL, ``run.json`` last: a run without it is none.

        JSON has no infinity: a metric that is one is the text ``"inf"`` there.
        """
        location = read_location(path, "path").rstrip("/")
        filesystem, root = fsspec.core.url_to_fs(location, **dict(storage_options or {}))
        if not is_url(location):
            filesystem.makedirs(root, exist_ok=True)
        sink = pa.BufferOutputStream()
        pq.write_table(self.tasks, sink, compression="zstd")
        filesystem.pipe_file(f"{root}/{TASK_FILE}", sink.getvalue().to_pybytes())
        filesystem.pipe_file(f"{root}/{INFO}", json.dumps(as_json(self.info), indent=1, allow_nan=False).encode())

    def to_html(self, *, title: str | None = None, details: Mapping[str, Any] | None = None) -> str:
        """Return one HTML page: a timeline of workers, phases, scans, slow tasks, memory, lineage, cost.

        It needs nothing but itself, as that of an evaluation. `details` stand under the title.
        """
        return import_module("penstock.report.runs").render_run(self, title, details or {})

    def write_report(
        self, path: str | os.PathLike[str], *, title: str | None = None, details: Mapping[str, Any] | None = None
    ) -> Path | str:
        """Write the page, whole or not at all; a page that is there is replaced.

        Errors are those of :func:`penstock.report.write_report`.
        """
        page = self.to_html(title=title, details=details)
        return import_module("penstock.report.page").write_page(page, path)
