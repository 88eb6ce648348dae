"""What a part of `gpu.py` gets and gives: the rows, the device, and work whose answer is read after the clock stops."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Answer = dict[str, Any]
SAMPLE_ROWS = 200_000


@dataclass(frozen=True)
class Rows:
    """The same clicks twice: as they are generated, and as numbers to learn from."""

    raw: Path
    prepared: Path


@dataclass(frozen=True)
class Job:
    """One part, as its process is told of it.

    Parameters
    ----------
    module, work : str
        Where the work is found: `module` has ``WORKS``, a mapping that has `work`.
    device : {"cpu", "gpu"}
        Where the work is done.
    folder : str
        Where generated data lies.
    rows : int
        How many rows there are.
    once : bool
        Whether the work is done once, without a warm-up: it makes data, or counts tests.
    deadline : float
        When the process has to have ended, in seconds since the epoch.
    reports : str
        The file that the process appends what it has found to, a line of JSON each.
    """

    module: str
    work: str
    device: str
    folder: str
    rows: int
    once: bool
    deadline: float
    reports: str

    @property
    def all(self) -> Rows:
        """All rows."""
        base = Path(self.folder)
        return Rows(base / f"clicks-{self.rows}", base / f"clicks-{self.rows}-prepared")

    @property
    def sample(self) -> Rows:
        """A few other rows of the same model, to warm up with and to compare models on."""
        base = Path(self.folder)
        return Rows(base / f"clicks-{self.rows}-sample", base / f"clicks-{self.rows}-sample-prepared")

    @property
    def preparation(self) -> Path:
        """The fitted stages that `Rows.prepared` was made by."""
        return Path(self.folder) / f"clicks-{self.rows}-preparation"

    @property
    def classifier(self) -> Path:
        """A model of the prepared sample."""
        return Path(self.folder) / f"clicks-{self.rows}-classifier"

    @property
    def out(self) -> Path:
        """A folder that the part may write to, which goes away."""
        return Path(self.reports).with_suffix(".out")

    def dumps(self) -> str:
        """Return the job as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> Job:
        """Return the job of such JSON."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Task:
    """The work of a job: `run` is timed, `answer` says afterwards what came of it, in the words all sides use."""

    run: Callable[[Rows], Any]
    answer: Callable[[Any], Answer]


Works = Mapping[str, Callable[[Job], Task]]
