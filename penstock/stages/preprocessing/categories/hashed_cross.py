"""One number for a combination of categories."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames.hashing import bucket, murmur3_text
from penstock.stages.base import Fitted, RowFunction, Tags
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing._added import AddedColumns
from penstock.stages.preprocessing.categories._hashed import buckets, known_text, known_texts

_BETWEEN = "\x1f"


@dataclass(frozen=True)
class HashedCross(AddedColumns):
    """Adds one number for the combination of values that a row has in several columns, as int32.

    It is the hash of the combination modulo ``num_buckets``, from 0 on. A linear model learns from it what the columns
    say together; nothing is learned here, and two combinations may have the same number.

    Parameters
    ----------
    columns : sequence of str, or Selector
        Two or more columns of strings, integers or booleans; their order counts. They stay.
    num_buckets : int
        How many numbers there are, from 2 to 2**31 - 1.
    output_column : str
        Name for the result.

    Raises
    ------
    ConfigError
        Before reading: ``num_buckets`` is out of its range, there is one column only, or the new one is there already.
    SchemaError
        Before reading: a column is missing or of another type.

    Notes
    -----
    The texts of the values, as :class:`HashBucket` has them, are joined by U+001F and hashed as one text by its rule;
    null is a value of its own there. NVTabular's ``HashedCross`` joins hashes by exclusive or, which makes one number
    of ``("a", "b")`` and ``("b", "a")``, and 0 of two equal values. MLlib has no such stage.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"a": ["x", "y", None], "b": [1, 1, 1]}))
    >>> cross = st.HashedCross(["a", "b"], num_buckets=1000, output_column="a_b")
    >>> ps.Pipeline(cross).fit(data).transform(data).to_arrow()["a_b"].to_pylist()
    [302, 854, 517]
    """

    _: KW_ONLY
    num_buckets: int = field(metadata=in_range(least=2, most=2**31 - 1, whole=True))
    output_column: str

    made_type: ClassVar[pa.DataType | None] = pa.int32()
    tags: ClassVar[Tags] = Tags(accepts="categorical", hashes=True)

    def check_count(self) -> None:
        """Raise ConfigError for a single column."""
        if len(self.inputs()) < 2:
            raise ConfigError(
                f"columns of HashedCross are {self.inputs()!r}, expected two or more",
                hint="HashBucket hashes the values of one column.",
                stage=self.title,
            )

    def outputs(self) -> tuple[str, ...]:
        return (self.output_column,)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Join the texts, and hash what they make."""
        joined = nw.concat_str(known_texts(frame, self.inputs()), separator=_BETWEEN).alias(self.output_column)
        return frame.with_columns(buckets(frame.select(joined)[self.output_column], self.num_buckets))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Join the texts of one row, and hash what they make."""

        def call(row: dict[str, Any]) -> None:
            joined = _BETWEEN.join(known_text(row[name]) for name in self.inputs())
            row[self.output_column] = bucket(murmur3_text(joined), self.num_buckets)

        return call
