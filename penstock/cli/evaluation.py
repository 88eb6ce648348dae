"""The part of a job that measures a model: evaluators, slices, intervals, and the page that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from penstock.cli.requests import EvaluationRequest
from penstock.core.errors import ConfigError
from penstock.core.locations import is_url, read_location
from penstock.core.recording import step
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.io.sinks import OutputFile, output_file
from penstock.pipeline.model import PipelineModel
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.evaluation.result import Evaluation


@step("evaluate")
def evaluated(model: PipelineModel, dataset: Dataset, evaluators: Evaluators, request: EvaluationRequest) -> Evaluation:
    """Return what the evaluators say of the transformed rows, with the slices and the bootstrap asked for."""
    wanted = [evaluators] if isinstance(evaluators, Mapping) else evaluators
    return model.evaluate(dataset, *wanted, slices=request.by, bootstrap=request.bootstrap)


def seal_page(
    page: OutputFile, metrics: Evaluation, title: str, request: EvaluationRequest, model: PipelineModel, engine: Engine
) -> None:
    """Stage the page that was asked for."""
    from penstock.report import render

    page.seal(render(metrics, title=title, details=page_details(request, page.run_id, model, engine)).encode())


def page_details(request: EvaluationRequest, run_id: str, model: PipelineModel, engine: Engine) -> dict[str, str]:
    """Return what stands under the title of a page."""
    return {"Data": ", ".join(request.data), "Model digest": model.digest, "Engine": engine.name, "Run": run_id}


def told(metrics: Evaluation, request: EvaluationRequest) -> dict[str, Any]:
    """Return the fields of `Metrics`; values of slices as text where JSON has no such type."""
    tables = {
        name: [{key: str(value) if isinstance(value, date) else value for key, value in row.items()} for row in rows]
        for name, rows in ((name, table.to_pylist()) for name, table in metrics.slices.items())
    }
    return {
        "metrics": dict(metrics),
        "undefined": metrics.reasons,
        "bounds": metrics.bounds,
        "labels": metrics.labels,
        "intervals": metrics.intervals,
        "slices": tables,
        "report": None if request.report is None else str(request.report),
    }


def staged_page(request: EvaluationRequest, run_id: str) -> OutputFile | None:
    """Return the page that is asked for as an output of a run."""
    check_report(request.report)
    return None if request.report is None else output_file(request.report, run_id=run_id)


def check_report(path: str | Path | None) -> None:
    """Refuse a page that could not be written, before any work is done; one that is there is replaced."""
    if path is None:
        return
    text = read_location(path, "report")
    if is_url(text):
        return
    page = Path(text)
    if page.is_dir() or not page.resolve().parent.is_dir():
        raise ConfigError(
            f"report is {str(path)!r}, expected a file in a folder that is there", hint="Name a file: report.html."
        )


def check_evaluators(evaluators: Evaluators, request: EvaluationRequest) -> None:
    """Refuse what is asked for and made of metrics, before any work is done, where no evaluator gives one."""
    asked = [name for name in ("slices", "bootstrap", "report") if getattr(request, name)]
    if asked and not evaluators:
        raise ConfigError(
            f"{asked[0]} is given, and the pipeline has no evaluators, so there are no metrics",
            hint=f"Leave {asked[0]} out, or return evaluators from evaluators(parameters) of the pipeline.",
        )
