"""Whether a run is an alarm: by limits, by runs before, by what was predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

from penstock.core.several import several
from penstock.runs.alarms.alarm import Alarm
from penstock.runs.alarms.values import INFO, value_of
from penstock.runs.run import Run
from penstock.runs.run_store import RunStore
from penstock.runs.scaling.expected import LEAST, expected_time


@dataclass(frozen=True)
class AlarmResult:
    """What became of an alarm.

    Attributes
    ----------
    alarm : Alarm
    raised : bool
    measured : float or None
        The value of the run; None where it has none.
    base : float or None
        What limits are multiples of; None where they are none, or where it is not known.
    message : str
        What was found, in words.
    """

    alarm: Alarm
    raised: bool
    measured: float | None
    base: float | None
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without who is notified."""
        names = ("name", "value", "above", "below", "relative_to", "severity")
        alarm = {name: getattr(self.alarm, name) for name in names}
        return {**alarm, "raised": self.raised, "measured": self.measured, "base": self.base, "message": self.message}


def check_alarms(run: Run, alarms: Iterable[Alarm], history: Sequence[Run] = ()) -> list[AlarmResult]:
    """Return what becomes of each alarm that is about such a run; nobody is notified.

    An alarm about what the run does not have, or relative to what is not known, is not raised, and says so.

    Parameters
    ----------
    run : Run
    alarms : iterable of Alarm
    history : sequence of Run
        Runs before of the same kind and name, the newest first, see `runs_before`.

    Examples
    --------
    >>> import penstock as ps
    >>> def of(seconds):
    ...     return ps.runs.Run({"seconds": seconds}, ps.runs.TASKS.empty_table())
    >>> slow = Alarm(name="slow", value="seconds", above=1.5, relative_to="history")
    >>> for result in check_alarms(of(90.0), [slow], [of(40.0), of(50.0), of(60.0)]):
    ...     print(result.raised, result.message)
    True seconds is 90, above 75: 1.5 times 50, the median of 3 runs before
    """
    alarms, history = several(alarms, "alarms", "Iterable[Alarm]"), several(history, "history", "Sequence[Run]")
    return [_check(run, alarm, history) for alarm in alarms if _is_about(alarm, run)]


def _is_about(alarm: Alarm, run: Run) -> bool:
    return (alarm.kind is None or alarm.kind == run.kind) and (alarm.of is None or alarm.of == run.name)


def history_of(run: Run, alarms: Iterable[Alarm], store: RunStore) -> list[Run]:
    """Return as many runs before one as its alarms look back at, the newest first; see `runs_before`."""
    most = max((alarm.last for alarm in alarms if alarm.relative_to is not None), default=0)
    return list(islice(runs_before(store, run), most)) if most else []


def runs_before(store: RunStore, run: Run) -> Iterator[Run]:
    """Yield the runs of a store before one, of the same kind and name, that were done; the newest first.

    Of records that are damaged there are none; a warning names them.
    """
    alike = (run.kind, run.name, "done")
    infos = reversed(store.infos())
    return store.load_each(
        info["run_id"]
        for info in infos
        if info["run_id"] < run.id and (info["kind"], info["name"], info["status"]) == alike
    )


def _check(run: Run, alarm: Alarm, history: Sequence[Run]) -> AlarmResult:
    measured, (base, about) = value_of(run, alarm.value), _base(run, alarm, history)
    if measured is None:
        return AlarmResult(alarm, False, None, base, f"the run has no {alarm.value}")
    if alarm.relative_to is not None and base is None:
        return AlarmResult(alarm, False, measured, None, f"{alarm.value} is {measured:.6g}; {about}")
    factor = 1.0 if base is None else base
    for side, limit in (("above", alarm.above), ("below", alarm.below)):
        if limit is not None and (measured > limit * factor if side == "above" else measured < limit * factor):
            why = "" if base is None else f": {limit:g} times {base:.6g}, {about}"
            found = f"{alarm.value} is {measured:.6g}, {side} {limit * factor:.6g}{why}"
            return AlarmResult(alarm, True, measured, base, found)
    return AlarmResult(alarm, False, measured, base, f"{alarm.value} is {measured:.6g}")


def _base(run: Run, alarm: Alarm, history: Sequence[Run]) -> tuple[float | None, str]:
    """Return what the limits of an alarm are multiples of, and what that is, or why it is not known."""
    if alarm.relative_to is None:
        return None, ""
    if alarm.relative_to == "prediction":
        return _predicted(run, alarm, history[: alarm.last])
    values = [value_of(each, alarm.value) for each in history[: alarm.last]]
    known = [value for value in values if value is not None]
    if len(known) < LEAST:
        return None, f"{len(known)} runs before have it, and {LEAST} make a history"
    return median(known), f"the median of {len(known)} runs before"


def _predicted(run: Run, alarm: Alarm, history: Sequence[Run]) -> tuple[float | None, str]:
    """Return what was predicted of a value: as its record says, or of its time by the rows and times of runs before."""
    recorded = value_of(run, f"{INFO}prediction.{alarm.value}")
    if recorded is not None:
        return recorded, "as predicted"
    expected = expected_time(run, history) if alarm.value == "seconds" else None
    if expected is None:
        return None, "no prediction of it was recorded, and the runs before give none"
    return expected.seconds, f"predicted by the runs before for {expected.rows:,} rows"
