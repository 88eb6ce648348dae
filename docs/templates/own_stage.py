"""A stage to start your own from: copy this file and its test, and change both; docs/own-stages.md explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.authoring import ColumnStage, Fitted, Tags, check_number
from penstock.errors import DataValueError
from penstock.statistics import Moments, Statistic


@dataclass(frozen=True)
class Surplus(ColumnStage):
    """Replaces each number by how far it is above `factor` times the mean of its column at fit, 0 where it is below.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    factor : float, default=1.0
        Of the mean, at least 0.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity.

    Notes
    -----
    A null stays null. Learned are ``mean``, numbers by column.
    """

    factor: float = 1.0

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        """Check the parameters, without any data."""
        super().__post_init__()
        check_number(self, "factor", least=0, most=1e6)

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that a column of type `kind` becomes: float64."""
        return pa.float64()

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is to be gathered from the data; leave this and `finish` out if nothing is learned."""
        return {"moments": Moments(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``mean`` by column: what is stored with the model."""
        means = {name: moment.mean for name, moment in results["moments"].items()}
        for name, mean in means.items():
            if mean is None:
                raise DataValueError(f"column {name!r} has no value", hint="Leave the column out.", column=name)
        return {"mean": means}

    def transform(self, frame: nw.DataFrame[Any], fitted: Fitted) -> nw.DataFrame[Any]:
        """Return a new frame, by expressions that look at each row for itself."""
        levels = {name: self.factor * mean for name, mean in fitted["mean"].items()}
        above = [(nw.col(name).cast(nw.Float64) - levels[name]).clip(0.0).alias(out) for name, out in self.pairs()]
        return frame.with_columns(*above)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any]:
        """Return the same for one value, equal to the bit, for `predict` of single rows; it may be left out."""
        level = self.factor * fitted["mean"][name]
        return lambda value: None if value is None else max(float(value) - level, 0.0)
