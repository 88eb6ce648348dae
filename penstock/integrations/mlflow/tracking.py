"""A job as a run of MLflow: its parameters, metrics and model, what it took, and whether it failed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlflow
from mlflow.entities import Metric, RunStatus, RunTag
from mlflow.exceptions import MlflowException

from penstock.core.environment import default_environment
from penstock.core.errors import ConfigError, OutputError
from penstock.core.json_values import as_json
from penstock.core.notices import get_logger
from penstock.core.redaction import redact, redact_error, secrets_in_url
from penstock.integrations.mlflow.flavor import log_model
from penstock.runs.run import INFO, Run
from penstock.runs.totals import run_totals
from penstock.stages.base import Stage

logger = get_logger(__name__)

_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""A server that does not answer is given up after two minutes, where MLflow waits for many; stdout is for the result of
the job alone. Variables that are set already win."""


@dataclass(frozen=True, kw_only=True)
class TrackedRun:
    """A run of MLflow that is under way.

    Parameters
    ----------
    run_id : str
    tracking_uri : str
    """

    run_id: str
    tracking_uri: str

    def log(self, params: Mapping[str, Any], metrics: Mapping[str, float | None], tags: Mapping[str, str]) -> None:
        """Log values; nested parameters by dotted names, and no metric that is undefined.

        Raises
        ------
        OutputError
            The server does not answer, or refuses.
        """
        client = mlflow.MlflowClient(self.tracking_uri)
        with _errors(self.tracking_uri):
            for name, value in _leaves(params):
                client.log_param(self.run_id, _name(name), str(value))
            for name, value in metrics.items():
                if value is not None:
                    client.log_metric(self.run_id, _name(name), value)
            for name, value in tags.items():
                client.set_tag(self.run_id, f"penstock.{name}", value)

    def log_run(self, run: Run) -> None:
        """Log what a run took as metrics (``run.seconds``, ``run.read_seconds``, ...), and its ``run.json``.

        Parameters
        ----------
        run : Run
            See `penstock.runs.totals.run_totals` for the metrics.

        Raises
        ------
        OutputError
            The server does not answer, or refuses.
        """
        client = mlflow.MlflowClient(self.tracking_uri)
        now = round(time.time() * 1000)
        metrics = [Metric(f"run.{name}", value, now, 0) for name, value in run_totals(run).items()]
        with _errors(self.tracking_uri):
            client.log_batch(self.run_id, metrics=metrics, tags=[RunTag("penstock.run_id", run.id)])
            client.log_dict(self.run_id, as_json(run.info), INFO)

    def log_model(self, path: str, registered_model_name: str | None, stages: Mapping[str, type[Stage]]) -> str:
        """Log a saved model, byte for byte, register it if there is a name, and return its URI.

        Raises
        ------
        OutputError
            The server does not answer, or refuses.
        """
        with _errors(self.tracking_uri):
            info = log_model(path, registered_model_name=registered_model_name, run_id=self.run_id, stages=stages)
        return str(info.model_uri)


@contextmanager
def tracked_run(tracking_uri: str, experiment: str) -> Iterator[TrackedRun]:
    """Start a run of an experiment, which is made where it is not there; it ends as FAILED if the block raises.

    Parameters
    ----------
    tracking_uri : str
        Of a server, or of a folder.
    experiment : str

    Raises
    ------
    ConfigError
        The experiment is deleted.
    OutputError
        The server does not answer, or refuses. What the block raises goes first: that the run stays open is logged.
    """
    with _tracking(tracking_uri), default_environment(_DEFAULTS):
        with _errors(tracking_uri):
            client = mlflow.MlflowClient(tracking_uri)
            run_id = client.create_run(_experiment_id(client, experiment)).info.run_id
        try:
            yield TrackedRun(run_id=run_id, tracking_uri=tracking_uri)
        except BaseException:
            try:
                _end(client, run_id, RunStatus.FAILED)
            except OutputError as error:
                logger.warning("the run %s stays open: %s", run_id, error.message)
            raise
        _end(client, run_id, RunStatus.FINISHED)


def _end(client: mlflow.MlflowClient, run_id: str, status: int) -> None:
    with _errors(client.tracking_uri):
        client.set_terminated(run_id, RunStatus.to_string(status))


def _experiment_id(client: mlflow.MlflowClient, name: str) -> str:
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return str(client.create_experiment(name))
    if experiment.lifecycle_stage != "active":
        problem = f"the experiment {name!r} of {redact(client.tracking_uri)} is deleted"
        raise ConfigError(problem, hint="Restore it: mlflow experiments restore; or name another.")
    return str(experiment.experiment_id)


@contextmanager
def _tracking(uri: str) -> Iterator[None]:
    """Make MLflow log where `uri` says; its models know no other way."""
    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    mlflow.set_tracking_uri(uri)
    try:
        yield
    finally:
        mlflow.set_tracking_uri(before)


@contextmanager
def _errors(uri: str) -> Iterator[None]:
    """Raise OutputError for what MLflow and its connection raise."""
    try:
        yield
    except (MlflowException, OSError) as error:
        redact_error(error, secrets_in_url(uri))
        problem = f"MLflow at {redact(uri)}: {error!s:.500}"
        variables = "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
        raise OutputError(problem, hint=f"See that the server runs, and lets you in by {variables}.") from error


def _leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _name(text: str) -> str:
    """Return a name with what MLflow refuses in one replaced."""
    return re.sub(r"[^\w\-. /:]", "_", text)
