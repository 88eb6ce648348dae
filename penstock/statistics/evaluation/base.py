"""What statistics of predictions share: the columns prediction and label, and the weight if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

from penstock.core.errors import ConfigError
from penstock.statistics.aggregates import device_numbers
from penstock.statistics.base import Statistic


@dataclass(frozen=True)
class PredictionStatistic(Statistic):
    """A statistic of a prediction, a label, and a weight if there is one; without it every row weighs 1.

    Raises
    ------
    ConfigError
        `columns` has not two or three names.
    """

    predicted: ClassVar[str] = "prediction"
    """What the first column holds, for errors."""

    def __post_init__(self) -> None:
        if len(self.columns) not in (2, 3):
            expected = f"({self.predicted}, label) or ({self.predicted}, label, weight)"
            raise ConfigError(f"columns are {self.columns!r}, expected {expected}")

    def arrays(self, rows: nw.DataFrame[Any]) -> tuple[Any, Any, Any]:
        """Return the prediction, label and weight of rows without nulls, float64 where they are."""
        prediction, label = (device_numbers(rows, name) for name in self.columns[:2])
        return prediction, label, self.weight(rows, label)

    def weight(self, rows: nw.DataFrame[Any], label: Any) -> Any:
        """Return the weight of each row, float64 where its label is."""
        return device_numbers(rows, self.columns[2]) if len(self.columns) == 3 else np.ones_like(label)
