"""Where a run is sent when its record is written: to systems that the environment names, and to whom alarms notify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.cli.telemetry import send
from penstock.core.errors import AlarmError
from penstock.core.notices import get_logger
from penstock.core.redaction import redact
from penstock.runs.alarms import Alarm, AlarmResult, check_alarms, history_of, raise_alarms, read_alarms
from penstock.runs.run import Run
from penstock.runs.run_store import RunStore

logger = get_logger(__name__)


@dataclass
class EndedRun:
    """Tells of a run of a folder, and keeps which alarms it has raised.

    Parameters
    ----------
    folder : str
    alarms : sequence of Alarm
    """

    folder: str
    alarms: Sequence[Alarm] = ()
    raised: list[AlarmResult] = field(default_factory=list)

    def read(self, path: str | Path | None) -> None:
        """Take the alarms of a file; ConfigError for one that is none, before any work."""
        self.alarms = () if path is None else read_alarms(path)

    def tell(self, run: Run) -> None:
        """Send a run to where the environment says, and raise its alarms.

        The run is over, and its outputs are in place: what goes wrong here is a warning.
        """
        for step in (send, self._alarm):
            try:
                step(run)
            except Exception as error:
                logger.warning("the end of the run was not reported: %s", redact(f"{type(error).__name__}: {error}"))

    def _alarm(self, run: Run) -> None:
        store = RunStore(self.folder)
        results = check_alarms(run, self.alarms, history_of(run, self.alarms, store))
        self.raised = [each for each in results if each.raised]
        for problem in raise_alarms(results, run, f"{self.folder}/{run.id}"):
            logger.warning("%s", problem)

    def check(self) -> None:
        """Raise AlarmError where an alarm of severity error was raised."""
        severe = [f"{each.alarm.name}: {each.message}" for each in self.raised if each.alarm.severity == "error"]
        if severe:
            raise AlarmError(
                f"the run is done, and raises {len(severe)} alarm(s): {'; '.join(severe)}",
                hint="Outputs are in place. `penstock runs show last` says where the time went.",
            )
