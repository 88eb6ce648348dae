"""Kernels on columns of strings, of which Polars does the work; from a frame on a GPU by way of the host and back.

The regular expressions of cuDF, and what it makes of capital letters that are no single letter when small, are others
than those of Polars, so that the same column would be other words there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import narwhals as nw
import polars as pl

from penstock import frames

SPACES = r"[ \t\n\x0B\f\r]"
"""What Java takes ``\\s`` for: the white space of ASCII."""
WORD = r"[^ \t\n\x0B\f\r]+"
DIGIT = "[0-9]"


def computed(frame: nw.DataFrame, reads: Sequence[str], made: Sequence[pl.Expr]) -> nw.DataFrame:
    """Return `frame` with columns that Polars makes of those that it `reads`."""
    if not frames.is_gpu(frame):
        return nw.from_native(nw.to_native(frame).with_columns(made), eager_only=True)
    host = pl.DataFrame(frames.to_arrow(frame.select(list(reads)))).select(made)
    columns = frames.from_arrow(frames.to_arrow(nw.from_native(host, eager_only=True)), "gpu")
    return frame.with_columns(*columns.iter_columns())


def split_at_spaces(frame: nw.DataFrame, columns: Mapping[str, str]) -> nw.DataFrame:
    """Return `frame` with each text in small letters, cut at every white space of ASCII, under the name it maps to.

    Words that are empty are kept, but for those at the end; of the empty text comes one empty word.

    Examples
    --------
    >>> import pyarrow as pa
    >>> split_at_spaces(frames.from_arrow(pa.table({"t": [" A  b ", "", None]})), {"t": "w"})["w"].to_list()
    [['', 'a', '', 'b'], [''], None]
    """
    exprs = []
    for name, out in columns.items():
        text = pl.col(name).str.to_lowercase().str.replace_all(SPACES, " ").str.strip_chars_end(" ")
        only_spaces = (text == "") & (pl.col(name) != "")
        exprs.append(
            pl.when(only_spaces).then(pl.lit([], pl.List(pl.String))).otherwise(text.str.split(" ")).alias(out)
        )
    return computed(frame, list(columns), exprs)


def split_by_pattern(
    frame: nw.DataFrame, columns: Mapping[str, str], pattern: str, *, gaps: bool, min_length: int, lower: bool
) -> nw.DataFrame:
    """Return `frame` with the words of each text that have `min_length` characters or more.

    Parameters
    ----------
    columns : mapping
        Columns of strings, and the names for their words.
    pattern : str
        A regular expression of Polars that matches no empty text.
    gaps : bool
        It matches what is between words, and not the words. Empty words at the end are left out.
    lower : bool
        Words in small letters.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"t": ["Ab1c22"]}))
    >>> split_by_pattern(frame, {"t": "t"}, "[0-9]", gaps=True, min_length=0, lower=True)["t"].to_list()
    [['ab', 'c']]
    """
    long = pl.element().str.len_chars() >= min_length
    before_last = (pl.element() != "").cast(pl.UInt32).cum_sum(reverse=True) > 0
    exprs = []
    for name, out in columns.items():
        text = pl.col(name).str.to_lowercase() if lower else pl.col(name)
        words = text.str.split(pattern, literal=False) if gaps else text.str.extract_all(pattern)
        if gaps and min_length == 0:
            rest = pl.when(text == "").then(words).otherwise(words.list.eval(pl.element().filter(before_last)))
        else:
            rest = words.list.eval(pl.element().filter(long))
        exprs.append(rest.alias(out))
    return computed(frame, list(columns), exprs)


def pattern_problem(pattern: str) -> str | None:
    """Return what Polars has against a regular expression, or that it matches the empty text; None where all is well.

    Examples
    --------
    >>> pattern_problem("[a-z]+"), pattern_problem("[a-z]*")
    (None, 'it matches the empty text')
    """
    probes = pl.Series(["", "ab c"])
    try:
        matches = probes.str.extract_all(pattern)
    except pl.exceptions.PolarsError as error:
        return str(error).split("error: ")[-1].strip()
    return "it matches the empty text" if matches.list.contains("").any() else None


def lowered(words: Sequence[str | None]) -> list[str | None]:
    """Return words in small letters.

    Examples
    --------
    >>> lowered(["The", None])
    ['the', None]
    """
    return pl.Series(words, dtype=pl.String).str.to_lowercase().to_list()


def measured(frame: nw.DataFrame, columns: Sequence[str], measures: Sequence[str]) -> nw.DataFrame:
    """Return `frame` with a column ``<column>_<measure>`` for each measure of each column of texts.

    Parameters
    ----------
    measures : sequence of {"characters", "words", "mean_word_length", "digits"}

    Examples
    --------
    >>> import pyarrow as pa
    >>> measured(frames.from_arrow(pa.table({"t": ["a cat", ""]})), ["t"], ["words", "mean_word_length"]).rows()
    [('a cat', 2, 2.0), ('', 0, None)]
    """
    exprs = [_measure(pl.col(name), measure).alias(f"{name}_{measure}") for name in columns for measure in measures]
    return computed(frame, columns, exprs)


def _measure(text: pl.Expr, measure: str) -> pl.Expr:
    words = text.str.count_matches(WORD).cast(pl.Int64)
    if measure == "mean_word_length":
        letters = text.str.replace_all(SPACES, "").str.len_chars()
        return pl.when(words > 0).then(letters.cast(pl.Float64) / words.cast(pl.Float64))
    counts = {"characters": text.str.len_chars(), "words": words, "digits": text.str.count_matches(DIGIT)}
    return counts[measure].cast(pl.Int64)
