"""Where a run is sent when its record is written: to systems that the environment names, and to whom alarms notify."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from penstock.core.errors import AlarmError, PenstockError
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


_PLACES = {
    "OTEL_EXPORTER_OTLP_": ("ENDPOINT", "TRACES_ENDPOINT", "METRICS_ENDPOINT"),
    "OPENLINEAGE_": ("URL", "CONFIG", "_TRANSPORT__TYPE"),
}


def send(run: Run) -> None:
    """Send a run to a collector of OpenTelemetry and a consumer of OpenLineage, where the environment names them.

    A variable that names one counts only where the extra is installed: others may have set it for other programs. What
    cannot be sent is a warning in the log, as the run has ended as it has; it can be sent again.

    Parameters
    ----------
    run : Run
    """
    if _is_named(os.environ, "OTEL_EXPORTER_OTLP_") and _is_there("opentelemetry.exporter.otlp.proto.http"):
        from penstock.integrations.opentelemetry import export

        _try(export, run)
    if _is_named(os.environ, "OPENLINEAGE_") and _is_there("openlineage.client"):
        from penstock.integrations.openlineage import emit

        _try(emit, run)


def _is_named(environ: Mapping[str, str], prefix: str) -> bool:
    """Return whether a variable says where to send to."""
    return any(environ.get(prefix + name) for name in _PLACES[prefix])


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _try(send_to: Callable[[Run], None], run: Run) -> None:
    try:
        send_to(run)
    except Exception as error:
        message = error.message if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
        logger.warning("run %s is not sent: %s", run.id, redact(message))
