"""The time of the process that recorded: its scans, its trainings, its steps, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.runs.analysis.intervals import Intervals
from penstock.runs.run import Run


@dataclass(frozen=True)
class ProcessTime:
    """Where the time of the process that recorded went, from the start of the run to its end, in seconds.

    Attributes
    ----------
    wall : float
    scan, train, query : float
        While an engine worked for it. A moment counts once: as that of a training, else of a scan, else of a query.
    steps : mapping of str to float
        What it did by itself, by the name of the innermost step.
    outside : float
        In no span.
    """

    wall: float
    scan: float
    train: float
    query: float
    steps: Mapping[str, float]
    outside: float

    @property
    def explained(self) -> float:
        """The share of `wall` that spans cover, from 0 to 1."""
        return 1.0 - self.outside / self.wall if self.wall else 1.0


def process_time(run: Run) -> ProcessTime:
    """Return where the time of the process that recorded went.

    Examples
    --------
    >>> import tempfile, penstock as ps
    >>> from penstock.core.recording.recorder import step
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.runs.record(folder) as recording, step("plan"):
    ...         pass
    ...     list(process_time(ps.runs.Run.load(recording.path)).steps)
    ['plan']
    """
    origin = float(run.info["started"])
    layers = [("train",), ("scan", "train"), ("scan", "train", "query"), None]
    train, scan, work, every = (Intervals.of_spans(run.spans, origin, kinds) for kinds in layers)
    return ProcessTime(
        wall=run.seconds,
        scan=scan.length - train.length,
        train=train.length,
        query=work.length - scan.length,
        steps=_own_seconds(run, work),
        outside=max(0.0, run.seconds - every.length),
    )


def _own_seconds(run: Run, work: Intervals) -> dict[str, float]:
    """Return the seconds of steps, without those of scans, trainings and steps within them."""
    origin = float(run.info["started"])
    own = {place: span for place, span in enumerate(run.spans) if span.kind == "step"}
    alone = {
        place: (span.seconds or 0.0)
        - float(work.within(span.start - origin, span.start - origin + (span.seconds or 0.0)))
        for place, span in own.items()
    }
    seconds: dict[str, float] = {}
    for place, span in own.items():
        inner = sum(alone[each] for each, child in own.items() if child.parent == place)
        seconds[span.name] = seconds.get(span.name, 0.0) + max(0.0, alone[place] - inner)
    return seconds
