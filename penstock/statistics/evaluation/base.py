"""What statistics of predictions share: the columns prediction and label, and the weight if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

from penstock.core.errors import ConfigError
from penstock.frames.blocks import block, fits_block
from penstock.statistics.aggregates import device_numbers
from penstock.statistics.base import Statistic
from penstock.statistics.labels import class_codes
from penstock.statistics.rules import ColumnRules, Rule


@dataclass(frozen=True)
class PredictionStatistic(Statistic):
    """A statistic of a prediction, a label, and a weight if there is one; without it every row weighs 1.

    Parameters
    ----------
    columns : tuple of str
    classes : tuple, optional
        The classes that scores are of, in their order: labels are then their values, and not places among them.

    Raises
    ------
    ConfigError
        `columns` has not two or three names.
    """

    classes: tuple[Any, ...] | None = field(default=None, kw_only=True, repr=False)
    predicted: ClassVar[str] = "prediction"
    """What the first column holds, for errors."""

    def __post_init__(self) -> None:
        if len(self.columns) not in (2, 3):
            expected = f"({self.predicted}, label) or ({self.predicted}, label, weight)"
            raise ConfigError(f"columns are {self.columns!r}, expected {expected}")

    def arrays(self, rows: nw.DataFrame[Any]) -> tuple[Any, Any, Any]:
        """Return the prediction, label and weight of rows without nulls, float64 where they are."""
        prediction, label, *weight = self.numbers(rows)
        return prediction, label, weight[0] if weight else np.ones_like(label)

    def numbers(self, rows: nw.DataFrame[Any]) -> list[Any]:
        """Return the prediction, label and any weight of rows without nulls, as `arrays` does."""
        if self.classes is None and fits_block(rows, self.columns, exact=False):
            return list(block(rows, self.columns).values)
        weight = (device_numbers(rows, name) for name in self.columns[2:])
        return [device_numbers(rows, self.columns[0]), self.label(rows), *weight]

    def label(self, rows: nw.DataFrame[Any]) -> Any:
        """Return the labels of rows without nulls as float64 where they are, as places where classes are known."""
        name = self.columns[1]
        return device_numbers(rows, name) if self.classes is None else class_codes(rows, name, self.classes)

    def of_two(self, label: str) -> ColumnRules:
        """Return the rules that labels of two classes keep."""
        known = Rule("not_binary") if self.classes is None else Rule("not_a_class", self.classes)
        return [(label, Rule("null")), (label, known)]

    def weight(self, rows: nw.DataFrame[Any], label: Any) -> Any:
        """Return the weight of each row, float64 where its label is."""
        return device_numbers(rows, self.columns[2]) if len(self.columns) == 3 else np.ones_like(label)
