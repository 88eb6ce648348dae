"""Sending a run that has ended to wherever the environment says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from penstock.core.errors import PenstockError
from penstock.core.notices import get_logger
from penstock.core.redaction import redact
from penstock.runs.run import Run

logger = get_logger(__name__)

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
