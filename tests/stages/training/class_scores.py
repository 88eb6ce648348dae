"""Scores of classifiers."""

import numpy as np

from penstock.dataset import Dataset
from penstock.pipeline import PipelineModel

COLUMNS = ("rawPrediction", "probability", "prediction")


def scored(model: PipelineModel, data: Dataset) -> list[np.ndarray]:
    """Return the raw predictions, probabilities and predictions of all rows."""
    table = model.transform(data).to_arrow()
    return [np.array(table[name].to_pylist()) for name in COLUMNS]
