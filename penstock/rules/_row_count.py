"""How many rows there are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import CommitConflictError, ConfigError, IncompleteInputError
from penstock.core.locations import read_location
from penstock.io.sinks import OutputCommit, new_run_id, output_file
from penstock.io.sources.files import Storage
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.limits import check_limits, check_number, is_within, show_limits
from penstock.statistics import counts
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class RowCount(DatasetRule):
    """There are at least, or at most, so many rows, or about as many as last time; those that are dropped do not count.

    Parameters
    ----------
    least, most : int, optional
        One may be left out, or both where there is `change`.
    change : float, optional
        By which share of the rows of the last run that kept the rule there may be more, or fewer: 0.2 is 20 %.
    history : path or URL, optional
        Where `change` finds that number: a file of JSON lines, of this rule alone, to which each judgement adds one.
        The first run has nothing to be compared with, and keeps the rule.

    Notes
    -----
    A number that breaks the rule is kept, too, and is not compared with later. Where a change is to stay, move the file
    away.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, None]}))
    >>> print(data.check(ps.rules.RowCount(least=1000)).outcomes[0].message)
    there are 2 rows
    """

    _: KW_ONLY
    least: int | None = None
    most: int | None = None
    change: float | None = None
    history: str | Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("least", self.least), ("most", self.most)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ConfigError(f"{name} of RowCount is {value!r}, expected a number of rows")
        if (self.change is None) != (self.history is None):
            problem = f"change of RowCount is {self.change!r}, and history {self.history!r}, expected both or none"
            raise ConfigError(problem, hint='Write RowCount(change=0.2, history="state/clicks.jsonl").')
        check_number("RowCount", "change", self.change)
        if self.change is not None and not self.change >= 0:
            raise ConfigError(f"change of RowCount is {self.change!r}, expected a share of 0 or more")
        if self.change is None or (self.least, self.most) != (None, None):
            check_limits("RowCount", self.least, self.most)

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def expected(self) -> str:
        limited = (self.least, self.most) != (None, None)
        limits = [f"{show_limits(self.least, self.most)} rows"] if limited else []
        return " and ".join([*limits, *([] if self.change is None else [f"a change of at most {self.change:.6g}"])])

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the count of rows."""
        return {"rows": counts.RowCount()}

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return how many rows the last run had that kept the rule."""
        return {"last": None if self.history is None else RowHistory(self.history).last()}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Compare the count."""
        rows, last = results["rows"], results["last"]
        passed = is_within(rows, self.least, self.most)
        if self.change is None:
            return RuleVerdict(passed, rows, f"there are {rows:,} rows")
        if last is None:
            return RuleVerdict(passed, rows, f"there are {rows:,} rows, and no earlier run to compare with")
        near = abs(Fraction(rows - last)) <= Fraction(self.change) * last
        return RuleVerdict(passed and near, rows, f"there are {rows:,} rows, and {last:,} last time")

    def recorded(self, verdict: RuleVerdict) -> RuleVerdict:
        """Add the number to the history."""
        if self.history is not None:
            RowHistory(self.history).append(verdict.observed, passed=verdict.passed)
        return verdict


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
