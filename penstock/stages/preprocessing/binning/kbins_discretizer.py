"""Numbers sorted into buckets of equal width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import checked_by, one_of
from penstock.stages.preprocessing.binning.buckets import Buckets, BucketStage
from penstock.stages.preprocessing.per_column import check_counts, per_column
from penstock.stages.preprocessing.scaling.affine import check_quality, check_range, quality
from penstock.stages.shapes import Fields, ListOf, Number, Shape, by_column
from penstock.statistics import Extreme, Extremes, Statistic


@dataclass(frozen=True)
class KBinsDiscretizer(BucketStage):
    """Replaces a value by the number of its bin, as int32; bins cut the range of the data at fit in equal parts.

    A bin holds its lower end. Values below the smallest of the fit are in the first bin, and values above the largest
    in the last, as in scikit-learn. Invalid are nulls alone, which take no part in the fit:

    ================== =====================================================
    ``handle_invalid`` what becomes of a null
    ================== =====================================================
    ``"error"``        DataValueError
    ``"skip"``         it stays null
    ``"keep"``         as many as there are bins: a bin of its own
    ================== =====================================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    n_bins : int or sequence of int, default=5
        How many bins, at least 2: for all columns or for each.
    strategy : {"uniform"}, default="uniform"
        Bins of equal width. For bins with as many values each use :class:`QuantileDiscretizer`.
    handle_invalid : {"error", "skip", "keep"}, default="error"
        See above; scikit-learn refuses nulls.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or there are not as many numbers of bins as columns.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity, or its range overflows float64. When it
        runs, with ``handle_invalid="error"``: nulls. Column, count, first file and row are named.

    Notes
    -----
    The numbers are those of scikit-learn's ``encode="ordinal"``, which are float64 there. A column that was constant at
    fit has a single bin, 0. Learned are ``splits``, by column: where one bin ends and the next begins.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0, 1, 2, 3, 8]}))
    >>> model = ps.Pipeline(st.KBinsDiscretizer("x", n_bins=4)).fit(data)
    >>> model.fitted[0]["splits"], model.transform(data).to_arrow()["x"].to_pylist()
    ({'x': [2.0, 4.0, 6.0]}, [0, 0, 1, 1, 3])
    """

    _: KW_ONLY
    n_bins: int | Sequence[int] = field(default=5, metadata=checked_by(check_counts))
    strategy: str = field(default="uniform", metadata=one_of("uniform"))

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns; there must be a number of bins for each."""
        bound = super().bind(schema)
        per_column(bound, "n_bins")
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the extremes, and for what would spoil them."""
        return {**quality(self.inputs(), schema), "extremes": Extremes(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``splits`` of each column."""
        check_quality(results)
        ends, counts = results["extremes"], per_column(self, "n_bins")
        return {"splits": {name: _splits(name, ends[name], count) for name, count in counts.items()}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"splits": by_column(self.inputs(), ListOf(Number(), ascending=True))})

    def buckets(self, name: str, fitted: Fitted) -> Buckets:
        """Return the buckets between the splits of a column."""
        return Buckets(tuple(fitted["splits"][name]))


def _splits(name: str, ends: Extreme, count: int) -> list[float]:
    low, high = float(ends.min), float(ends.max)
    check_range(name, low, high)
    return [float(split) for split in np.linspace(low, high, count + 1)[1:-1]] if low < high else []
