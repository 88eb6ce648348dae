"""What stages that multiply columns share."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.stages.base import Fitted, RowFunction
from penstock.stages.preprocessing._added import AddedColumns
from penstock.stages.preprocessing.columns import refuse_rows

MOST_TERMS = 10_000
"""Columns that a stage adds at most."""


@dataclass(frozen=True)
class Products(AddedColumns):
    """Adds products of columns, in float64; multiplied from left to right, so that each row has one result."""

    @property
    @abstractmethod
    def factors(self) -> int:
        """How many factors a product has at most."""

    @abstractmethod
    def terms(self) -> dict[str, tuple[str, ...]]:
        """Return the columns to be multiplied, by the name of the product."""

    def outputs(self) -> tuple[str, ...]:
        return tuple(self.terms())

    def check_terms(self, count: int) -> None:
        """Raise ConfigError for more products than are sensible."""
        if count > MOST_TERMS:
            raise ConfigError(
                f"{self.title} of {len(self.inputs())} columns would add {count:,} columns, expected at most"
                f" {MOST_TERMS:,}",
                hint="Name fewer columns.",
                stage=self.title,
            )

    @property
    def _largest(self) -> float:
        """The largest number of which a product of as many factors as there are does not overflow."""
        return float(sys.float_info.max ** (1 / self.factors) * (1 - 1e-12))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check the range of all columns in one select, then multiply in another."""
        refuse_rows(frame, dict.fromkeys(self.inputs(), self._is_too_large), self._error)
        return frame.with_columns(*[_product(map(_number, names)).alias(out) for out, names in self.terms().items()])

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Multiply the values of one row."""
        terms, largest = self.terms(), self._largest

        def call(row: dict[str, Any]) -> None:
            values = {name: None if row[name] is None else float(row[name]) for name in self.inputs()}
            for name, value in values.items():
                if value is not None and abs(value) > largest:
                    raise self._error(name, 1)
            for out, names in terms.items():
                factors = [values[name] for name in names]
                row[out] = None if None in factors else _product(factors)

        return call

    def _is_too_large(self, column: Any) -> Any:
        return column.cast(nw.Float64).abs() > self._largest

    def _error(self, name: str, count: int) -> DataValueError:
        return DataValueError(
            f"column {name!r} has {count} values beyond {self._largest:.3g}, of which float64 cannot hold a product of"
            f" {self.factors}",
            hint="Put a scaler or Clip before this step, or filter these rows.",
            column=name,
            predicate=self._is_too_large(nw.col(name)),
        )


def _number(name: str) -> nw.Expr:
    return nw.col(name).cast(nw.Float64)


def _product(factors: Iterable[Any]) -> Any:
    return reduce(mul, factors)
