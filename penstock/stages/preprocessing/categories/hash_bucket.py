"""Categories replaced by numbers without a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.frames.hashing import bucket, murmur3_text
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.parameter_checks import checked_by, wrong_parameter
from penstock.stages.preprocessing.categories._hashed import buckets, known_text, known_texts
from penstock.stages.preprocessing.per_column import check_counts, per_column


@dataclass(frozen=True)
class HashBucket(ColumnStage):
    """Replaces each value by its hash modulo a number of buckets, from 0 to ``num_buckets - 1``, as int32.

    Nothing is learned, so that a value which comes tomorrow has a number already; two values may have the same one.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings, integers or booleans. The last two are hashed by their text (``"-7"``, ``"true"``), so that
        a column may be widened.
    num_buckets : int or sequence of int
        How many numbers there are, from 2 to 2**31 - 1: for all columns, or one for each.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        ``num_buckets`` is out of its range, or not one for each column.
    SchemaError
        Before reading: a column is missing or of another type.

    Notes
    -----
    The hash is MurmurHash3_x86_32 of the UTF-8 bytes with seed 42, read as a signed number; the remainder is never
    negative. That is the rule of MLlib's ``HashingTF``: ``indexOf`` gives the same numbers. NVTabular's ``HashBucket``
    hashes otherwise. Null is a value of its own, hashed as the text U+001E, so that nothing that comes out is null.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"c": ["a", "b", None, "a"]}))
    >>> ps.Pipeline(st.HashBucket("c", num_buckets=1000)).fit(data).transform(data).to_arrow()["c"].to_pylist()
    [467, 165, 974, 467]
    """

    num_buckets: int | tuple[int, ...] = field(metadata=checked_by(check_counts))

    made_type: ClassVar[pa.DataType | None] = pa.int32()
    tags: ClassVar[Tags] = Tags(accepts="categorical", hashes=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = self.num_buckets if isinstance(self.num_buckets, tuple) else (self.num_buckets,)
        if max(counts) >= 2**31:
            raise wrong_parameter(self, "num_buckets", "at most 2**31 - 1")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Hash column by column."""
        texts, counts = frame.select(known_texts(frame, self.inputs())), per_column(self, "num_buckets")
        return frame.with_columns(*[buckets(texts[name], counts[name]).alias(out) for name, out in self.pairs()])

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Hash one value."""
        count = per_column(self, "num_buckets")[name]
        return lambda value: bucket(murmur3_text(known_text(value)), count)
