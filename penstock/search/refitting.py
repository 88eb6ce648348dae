"""A pipeline fitted to all rows, once it has been fitted on folds."""

from __future__ import annotations

from penstock.dataset.dataset import Dataset
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.search.trials import Watchers
from penstock.spmd import SpmdOptions


def refit(pipeline: Pipeline, watchers: Watchers, dataset: Dataset, options: SpmdOptions | None) -> PipelineModel:
    """Return the model of all rows; trainers that watched rows on folds train as long as they did there on average."""
    stages = {
        pipeline.names[position]: pipeline.stages[position].without_validation(fitted)  # type: ignore[attr-defined]
        for position, fitted in watchers.items()
    }
    return pipeline.with_params(stages).fit(dataset, options=options)
