"""What stages that hash categories share: the text of a value, null among them, and the bucket of a text."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from penstock.frames.hashing import bucket, murmur3
from penstock.stages.preprocessing.categories.vocabulary import spelt, text

MISSING = "\x1e"
"""The text that stands for null: the record separator of ASCII, which is no text of its own."""


def known_texts(frame: nw.DataFrame, columns: tuple[str, ...]) -> list[nw.Expr]:
    r"""Return columns as strings, and null as the text that stands for it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penstock import frames
    >>> frame = frames.from_arrow(pa.table({"c": [True, None]}))
    >>> frame.select(known_texts(frame, ("c",)))["c"].to_list()
    ['true', '\x1e']
    """
    return [text(name, frame.schema[name]).fill_null(MISSING) for name in columns]


def known_text(value: Any) -> str:
    r"""Return what :func:`known_texts` makes of one value.

    Examples
    --------
    >>> known_text(True), known_text(None)
    ('true', '\x1e')
    """
    return MISSING if value is None else spelt(value)


def buckets(texts: nw.Series, num_buckets: int) -> nw.Series:
    """Return the bucket of each text, int32.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penstock import frames
    >>> buckets(frames.from_arrow(pa.table({"c": ["a", "b"]}))["c"], 1000).to_list()
    [467, 165]
    """
    hashed: nw.Series = bucket(murmur3(texts).cast(nw.Int64), num_buckets)
    return hashed.cast(nw.Int32)
