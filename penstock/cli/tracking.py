"""Jobs that train, logged to MLflow where their request names a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TypeVar

from penstock.cli.project import load_pipeline
from penstock.cli.requests import TrainRequest
from penstock.cli.results import TrainResult
from penstock.core.errors import OutputError
from penstock.core.progress import Progress

Request = TypeVar("Request", bound=TrainRequest)
Result = TypeVar("Result", bound=TrainResult)


def tracked(job: Callable[[Request, Progress | None], Result]) -> Callable[..., Result]:
    """Return a job that logs what it did to the MLflow of its request, as one run; without one it is the job itself.

    A server that cannot be reached is found out before any work; one that is lost later leaves the model where it was
    saved, and the error says so.
    """

    @wraps(job)
    def run(request: Request, progress: Progress | None = None) -> Result:
        if request.mlflow is None:
            return job(request, progress)
        from penstock.integrations.mlflow.tracking import tracked_run
        from penstock.runs.run_recording import active_run

        module = load_pipeline(request.pipeline, request.pipelines)
        with tracked_run(request.mlflow, request.mlflow_experiment or module.name) as active:
            result = job(request, progress)
            try:
                active.log(result.parameters, result.metrics, _tags(result))
                if (recording := active_run()) is not None:
                    active.log_run(recording.run())
                active.log_model(result.model, request.mlflow_model, module.stages)
            except OutputError as error:
                message = f"the model is saved as {result.model}, and not logged: {error.message}"
                raise OutputError(message, hint=error.hint) from error
        return replace(result, mlflow_run=active.run_id)

    return run


def _tags(result: TrainResult) -> dict[str, str]:
    names = ("pipeline", "digest", "preprocessing_digest", "manifest", "rows", "engine", "device")
    return {name: str(getattr(result, name)) for name in names}
