"""Pipelines and models in notebooks: the stages one below the other, each with its parameters and what it learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.report.notebook.pieces import render, show_facts, show_value
from penstock.stages.base import Stage
from penstock.stages.trainer import Trainer


class Box(NamedTuple):
    """A stage as it is drawn."""

    name: str
    kind: str
    columns: str
    trains: bool
    parameters: Mapping[str, str]
    learned: Mapping[str, str]


def pipeline_html(pipeline: Pipeline) -> str:
    """Return the display of a pipeline that is not fitted."""
    return render("pipeline", title="Pipeline", facts={}, boxes=_boxes(pipeline.names, pipeline.stages))


def model_html(model: PipelineModel) -> str:
    """Return the display of a fitted pipeline."""
    facts: dict[str, Any] = {"needs": f"{len(model.input_columns)} of {len(model.schema)} columns"}
    if (report := model.report) is not None:
        facts |= {
            "fitted on": f"{report.engine}, {report.device}",
            "rows": report.rows.read or None,
            "scans": report.scans,
            "seconds": f"{sum(report.seconds.values()):.2f}",
        }
    boxes = _boxes(model.names, model.stages, model.fitted)
    return render("pipeline", title="PipelineModel", facts=show_facts(facts), boxes=boxes)


def _boxes(names: Sequence[str], stages: Sequence[Stage], fitted: Sequence[Mapping[str, Any]] = ()) -> list[Box]:
    learned = fitted or [{}] * len(stages)
    return [_box(name, stage, state) for name, stage, state in zip(names, stages, learned, strict=True)]


def _box(name: str, stage: Stage, fitted: Mapping[str, Any]) -> Box:
    parameters = [each for each in fields(stage) if each.init]  # type: ignore[arg-type]
    given = {each.name: getattr(stage, each.name) for each in parameters}
    columns = given.pop("columns", None)
    if given.get("output_columns") == columns:
        given.pop("output_columns", None)
    changed = {each.name: given[each.name] for each in parameters if each.name in given and _is_changed(each, given)}
    return Box(
        name,
        type(stage).__name__,
        "" if columns is None else show_value(columns),
        isinstance(stage, Trainer),
        {key: show_value(value, exact=True) for key, value in changed.items()},
        {key: show_value(value) for key, value in fitted.items()},
    )


def _is_changed(parameter: Field[Any], given: Mapping[str, Any]) -> bool:
    default = parameter.default if parameter.default_factory is MISSING else parameter.default_factory()
    return default is MISSING or bool(given[parameter.name] != default)
