"""Numbers sorted into buckets that hold about as many values each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import checked_by
from penstock.stages.preprocessing.binning.buckets import Buckets, BucketStage
from penstock.stages.preprocessing.per_column import check_counts, per_column
from penstock.stages.preprocessing.scaling.affine import check_quality, quality
from penstock.stages.shapes import Fields, ListOf, Number, Shape, by_column
from penstock.statistics import Distribution, Quantiles, Statistic


@dataclass(frozen=True)
class QuantileDiscretizer(BucketStage):
    """Replaces a value by the number of its bucket, as int32; buckets end at the quantiles of the data at fit.

    For n buckets the splits are the quantiles of 1/n to (n - 1)/n, and equal ones count once, so that a column with few
    distinct values has fewer buckets, as in MLlib. A bucket holds its lower end; the first and the last reach to
    infinity. Invalid are nulls alone, which take no part in the fit:

    ================== =====================================================
    ``handle_invalid`` what becomes of a null
    ================== =====================================================
    ``"error"``        DataValueError
    ``"skip"``         it stays null
    ``"keep"``         as many as there are buckets: a bucket of its own
    ================== =====================================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    num_buckets : int or sequence of int, default=2
        How many buckets, at least 2: for all columns or, as MLlib's ``numBucketsArray``, for each.
    handle_invalid : {"error", "skip", "keep"}, default="error"
        See above.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or there are not as many numbers of buckets as columns.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity. When it runs, with
        ``handle_invalid="error"``: nulls. Column, count, first file and row are named.

    Notes
    -----
    A quantile is a value of the data, as in MLlib. It is exact up to 65,536 values; beyond, its rank is wrong by at
    most about a thousandth of the rows for a billion of them, and by less for fewer, see
    :class:`~penstock.statistics.Quantiles`; there is no ``relativeError`` to set. A bucket then holds a share of the
    values that is off by at most twice that. MLlib's numbers are float64, and its ``skip`` drops the row.

    Learned are ``splits``, by column, without the infinite ends, and ``rank_error``, by column: by which share of the
    values the rank of a split may be wrong at most, 0.0 where all are exact.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, 10, 20, 3000]}))
    >>> model = ps.Pipeline(st.QuantileDiscretizer("x", num_buckets=3)).fit(data)
    >>> model.fitted[0]["splits"], model.transform(data).to_arrow()["x"].to_pylist()
    ({'x': [2.0, 10.0]}, [0, 1, 1, 2, 2, 2])
    """

    _: KW_ONLY
    num_buckets: int | Sequence[int] = field(default=2, metadata=checked_by(check_counts))

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns; there must be a number of buckets for each."""
        bound = super().bind(schema)
        per_column(bound, "num_buckets")
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for quantiles, and for what would spoil them."""
        return {**quality(self.inputs(), schema), "quantiles": Quantiles(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``splits`` and ``rank_error`` of each column."""
        check_quality(results)
        found = results["quantiles"]
        return {
            "splits": {name: _splits(found[name], count) for name, count in per_column(self, "num_buckets").items()},
            "rank_error": {name: float(found[name].rank_error) for name in self.inputs()},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        splits = by_column(self.inputs(), ListOf(Number(), ascending=True))
        return Fields({"splits": splits, "rank_error": by_column(self.inputs(), Number(least=0))})

    def buckets(self, name: str, fitted: Fitted) -> Buckets:
        """Return the buckets between the splits of a column."""
        return Buckets(tuple(fitted["splits"][name]))


def _splits(values: Distribution, count: int) -> list[float]:
    found = (values.quantile(place / count) for place in range(1, count))
    return sorted({split + 0.0 for split in found if split is not None})  # minus zero becomes zero
