"""What statistics of classes share: a label, numbers, perhaps a weight, and which rows count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.core.errors import ConfigError
from penstock.statistics.base import Statistic
from penstock.statistics.rules import ColumnRules, valid_rows


@dataclass(frozen=True)
class OfClasses(Statistic):
    """A statistic of the rows of each class; `columns` are the label, the features, and the weight if there is one."""

    weighted: bool = False

    def __post_init__(self) -> None:
        if len(self.columns) < 2 + self.weighted:
            expected = "(label, feature, ..., weight)" if self.weighted else "(label, feature, ...)"
            raise ConfigError(f"columns are {self.columns!r}, expected {expected}")

    @property
    def label(self) -> str:
        """The column of classes."""
        return self.columns[0]

    def _counting_rows(self, frame: nw.DataFrame[Any]) -> tuple[nw.DataFrame[Any], Sequence[int]]:
        """Return the valid rows of a weight above 0, and how many break which rule."""
        rows, invalid = valid_rows(frame, self._checks(frame.schema[self.label].is_float()))
        return (rows.filter(nw.col(self.columns[-1]) > 0) if self.weighted else rows), invalid

    @abstractmethod
    def _checks(self, floating: bool) -> ColumnRules:
        """Return what is demanded of the columns; `floating` says whether the label is."""
