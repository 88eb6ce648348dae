"""What one task did: where, when, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TaskRecord:
    """One task, of a scan, a merge or a training.

    Attributes
    ----------
    span : int
        The place of its scan or training in the run.
    kind : {"task", "merge", "rank"}
    fragment : int, optional
        The fragment that it worked on; the index of a rank.
    host : str
    pid : int
    start : float
        Seconds since 1970, by the clock of its machine.
    seconds : float
        From its start to its end.
    phases : mapping of str to float
        Seconds of each phase; their sum is `seconds`.
    counts : mapping of str to int
        ``rows_in``, ``rows_out``, ``bytes_in`` (of rows in memory), ``bytes_out`` (of files).
    cpu : tuple of float
        CPU seconds that its process had used at its start and at its end, those of other tasks in it included.
    peak_memory : int
        Bytes that its process had at most until its end.
    device : str
        ``"cpu"`` or ``"gpu"``.
    energy : mapping of str to tuple of float
        By device, its counter in joules at the start and at the end.
    attempt : int
        How many attempts were begun before this one, and were lost or are slower.
    """

    span: int
    kind: str
    fragment: int | None
    host: str
    pid: int
    start: float
    seconds: float
    phases: Mapping[str, float]
    counts: Mapping[str, int]
    cpu: tuple[float, float]
    peak_memory: int
    device: str = "cpu"
    energy: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    attempt: int = 0
