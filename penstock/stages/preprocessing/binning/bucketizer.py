"""Numbers sorted into buckets whose ends are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.base import Fitted
from penstock.stages.preprocessing.binning.buckets import Buckets, BucketStage
from penstock.stages.preprocessing.per_column import per_column

_INFINITIES = {"-inf": -math.inf, "inf": math.inf}


@dataclass(frozen=True)
class Bucketizer(BucketStage):
    """Replaces a value by the number of the bucket that holds it, as int32: 0 for the first.

    With splits ``s[0]`` to ``s[n]`` there are n buckets; bucket i holds ``s[i] <= x < s[i + 1]``, and the last one its
    upper end too. Invalid are nulls and values outside the splits:

    ================== ================================
    ``handle_invalid`` what becomes of an invalid value
    ================== ================================
    ``"error"``        DataValueError
    ``"skip"``         null
    ``"keep"``         n, a bucket of its own
    ================== ================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    splits : sequence of float, or sequence of such sequences
        At least three numbers, strictly ascending; the first and the last may be infinite (also ``"-inf"``, ``"inf"``,
        as JSON has them). One for all columns or, as MLlib's ``splitsArray``, one for each.
    handle_invalid : {"error", "skip", "keep"}, default="error"
        See above.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        Splits are too few, do not ascend or are no numbers, or there are not as many as columns.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs, with ``handle_invalid="error"``: nulls, or values outside; column, count, first file and row are
        named.

    Notes
    -----
    Where MLlib differs: its numbers are float64; ``skip`` drops the row; values outside are an error whatever
    `handle_invalid` says, and so only NaN, here null, is kept. Values are compared in float64, where integers beyond
    2**53 are rounded. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"age": [3, 18, 70, None]}))
    >>> stage = st.Bucketizer("age", splits=[0, 18, 65, float("inf")], handle_invalid="keep")
    >>> ps.Pipeline(stage).fit(data).transform(data).to_arrow()["age"].to_pylist()
    [0, 1, 2, 3]
    """

    _: KW_ONLY
    splits: Sequence[float | str] | Sequence[Sequence[float | str]]

    def __post_init__(self) -> None:
        super().__post_init__()
        nested = _is_list(self.splits) and any(map(_is_list, self.splits))
        found = tuple(_ends(each) for each in (self.splits if nested else [self.splits]))
        if None in found:
            raise ConfigError(
                f"splits of Bucketizer are {self.splits!r}, expected at least three numbers that ascend strictly,"
                " for all columns or for each",
                hint='The first and the last may be "-inf" and "inf".',
                stage=self.title,
            )
        object.__setattr__(self, "splits", found if nested else found[0])

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns; there must be splits for each."""
        bound = super().bind(schema)
        bound._splits()
        return bound

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as JSON values; an infinity is a string."""
        return {**super().parameters(), "splits": _told(self.splits)}

    def _splits(self) -> dict[str, Any]:
        nested = isinstance(self.splits[0], tuple)
        return per_column(self, "splits") if nested else dict.fromkeys(self.inputs(), self.splits)

    def buckets(self, name: str, fitted: Fitted) -> Buckets:
        """Return the buckets between the splits of a column."""
        low, *inner, high = self._splits()[name]
        return Buckets(tuple(inner), low, high)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _ends(values: Any) -> tuple[float, ...] | None:
    """Return splits as floats; None unless they are at least three numbers that ascend."""
    numbers = [_number(each) for each in values] if _is_list(values) else []
    ascend = all(left < right for left, right in itertools.pairwise(numbers))
    return tuple(numbers) if ascend and len(numbers) >= 3 else None


def _number(value: Any) -> float:
    """Return a split as a float, NaN for what is none."""
    if isinstance(value, str):
        return _INFINITIES.get(value, math.nan)
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:  # an integer beyond float64
        return math.nan


def _told(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_told(each) for each in value]
    return value if math.isfinite(value) else str(value)
