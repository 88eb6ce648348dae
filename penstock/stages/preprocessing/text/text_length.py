"""How long texts are."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, check_one_of
from penstock.frames import text as frames_text
from penstock.stages.base import Fitted, RowFunction, SelectedColumns, Tags, normalise_columns, with_fields
from penstock.stages.preprocessing.categories.vocabulary import check_new

_WORD, _DIGIT = re.compile(frames_text.WORD), re.compile(frames_text.DIGIT)
_TYPES = {"characters": pa.int64(), "words": pa.int64(), "mean_word_length": pa.float64(), "digits": pa.int64()}


@dataclass(frozen=True)
class TextLength(SelectedColumns):
    """Adds a column ``<column>_<measure>`` for each measure of each column of texts; the columns themselves stay.

    ================ ======= =====================================================
    measure          type    value
    ================ ======= =====================================================
    characters       int64   code points of Unicode, spaces among them
    words            int64   parts between white space of ASCII that are not empty
    mean_word_length float64 characters in words by words, null without any
    digits           int64   0 to 9
    ================ ======= =====================================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings.
    measures : sequence of str, default=("characters", "words", "mean_word_length")
        Some of the above.

    Raises
    ------
    ConfigError
        No measure, one that is not known, or a column of that name is there.
    SchemaError
        Before reading: a column is missing or not of strings.

    Notes
    -----
    Every measure of a null is null. Nothing is learned. A frame on a GPU is measured on the host.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"t": ["The cat", None]}))
    >>> ps.Pipeline(st.TextLength("t")).fit(data).transform(data).to_polars().rows()
    [('The cat', 7, 2, 3.0), (None, None, None, None)]
    """

    _: KW_ONLY
    measures: tuple[str, ...] = ("characters", "words", "mean_word_length")

    tags: ClassVar[Tags] = Tags(accepts="string")

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "measures")
        if not self.measures:
            raise ConfigError(
                f"measures of {self.title} is empty, expected some of {', '.join(_TYPES)}", stage=self.title
            )
        for measure in self.measures:
            check_one_of(f"measure of {self.title}", measure, _TYPES, stage=self.title)

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check the names of what is made."""
        bound = super().bind(schema)
        check_new(bound, schema)
        return bound

    def outputs(self) -> tuple[str, ...]:
        """Return the columns made, those of the first column first."""
        return tuple(f"{name}_{measure}" for name in self.inputs() for measure in self.measures)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns made at the end."""
        kinds = [_TYPES[measure] for _ in self.inputs() for measure in self.measures]
        return with_fields(schema, dict(zip(self.outputs(), kinds, strict=True)))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Take all measures of all columns in one call."""
        return frames_text.measured(frame, self.inputs(), self.measures)

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Measure the texts of one row."""

        def call(row: dict[str, Any]) -> None:
            for name in self.inputs():
                found = dict.fromkeys(_TYPES) if row[name] is None else _measured(row[name])
                row.update({f"{name}_{measure}": found[measure] for measure in self.measures})

        return call


def _measured(text: str) -> dict[str, Any]:
    words = _WORD.findall(text)
    mean = sum(map(len, words)) / len(words) if words else None
    return {
        "characters": len(text), "words": len(words), "mean_word_length": mean, "digits": len(_DIGIT.findall(text)),
    }  # fmt: skip
