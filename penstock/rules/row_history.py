"""How many rows earlier runs had: a file of JSON lines, one a run."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.core.errors import CommitConflictError, ConfigError, IncompleteInputError
from penstock.core.locations import read_location
from penstock.io.sinks import OutputCommit, new_run_id, output_file
from penstock.io.sources.files import Storage

_ATTEMPTS = 10
"""How often a line is added again where another run has added one meanwhile."""


@dataclass(frozen=True)
class RowHistory:
    """The numbers of rows of earlier runs, oldest first; a file that is not there yet has none.

    Parameters
    ----------
    path : path or URL

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = RowHistory(f"{folder}/clicks.jsonl")
    ...     before = history.last()
    ...     history.append(1000, passed=True)
    ...     history.append(3, passed=False)
    ...     before, history.last()
    (None, 1000)
    """

    path: str | Path

    def last(self) -> int | None:
        """Return the rows of the last run that passed; None where there is none.

        Raises
        ------
        ConfigError
            A line is not one of such a file.
        """
        lines = self._read().decode(errors="replace").splitlines()
        runs = [self._run(line, number) for number, line in enumerate(lines, 1) if line.strip()]
        return next((run["rows"] for run in reversed(runs) if run["passed"]), None)

    def append(self, rows: int, *, passed: bool) -> None:
        """Add a line; the file is replaced whole.

        Raises
        ------
        CommitConflictError
            Other runs replace the file again and again.
        OutputError
            It cannot be written.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"at": at, "rows": rows, "passed": passed}) + "\n"
        for _ in range(_ATTEMPTS - 1):
            with suppress(CommitConflictError):
                self._add(line.encode())
                return
        self._add(line.encode())

    def _add(self, line: bytes) -> None:
        with OutputCommit(staged := output_file(self.path, run_id=new_run_id())) as joint:
            staged.seal(self._read() + line)
            joint.commit()

    def _read(self) -> bytes:
        try:
            with Storage().open(read_location(self.path, "history")) as file:
                content: bytes = file.read()
        except IncompleteInputError:
            return b""
        return content

    def _run(self, line: str, number: int) -> Any:
        try:
            run = json.loads(line)
            if type(run["rows"]) is int and type(run["passed"]) is bool:
                return run
        except (ValueError, KeyError, TypeError):
            pass
        raise ConfigError(
            f'line {number} of the history {self.path} is {line[:60]!r}, expected {{"rows": 5, "passed": true, ...}}',
            hint="Name the file of this rule alone; repair it, or move it away to begin anew.",
            path=str(self.path),
        )
