"""Texts made alike that people would take for the same."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import narwhals as nw
import polars as pl

from penstock.core.errors import ConfigError
from penstock.frames import text as frames_text
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.parameter_checks import one_of, wrong_parameter


@dataclass(frozen=True)
class CleanText(ColumnStage):
    """Cleans texts: one form of Unicode, patterns replaced, white space and capitals made alike, in this order.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings.
    normalize : {"NFC", "NFKC", "NFD", "NFKD"}, optional, default="NFKC"
        The form of Unicode: in NFKC full-width letters, ligatures and no-break spaces become plain ones. None leaves
        texts as they are.
    replace : sequence of (pattern, replacement), default=()
        Regular expressions as Polars (Rust's regex) has them, each replaced wherever it is found; ``$1`` is a group.
    collapse_whitespace : bool, default=True
        A single space in place of every run of white space of Unicode.
    strip : bool, default=True
        Leave out white space at both ends.
    case : {"lower", "upper"}, optional
        Small or capital letters; as they are unless given.
    empty_to_null : bool, default=False
        Take a text of which nothing is left for missing.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or a pattern is none.
    SchemaError
        Before reading: a column is missing or not of strings.

    Notes
    -----
    Null stays null. Nothing is learned. A frame on a GPU is cleaned on the host.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"city": ["  New   York ", "NEW YORK", " ", None]}))
    >>> stage = st.CleanText("city", case="lower", empty_to_null=True)
    >>> ps.Pipeline(stage).fit(data).transform(data).to_arrow()["city"].to_pylist()
    ['new york', 'new york', None, None]
    """

    _: KW_ONLY
    normalize: str | None = field(default="NFKC", metadata=one_of("NFC", "NFKC", "NFD", "NFKD"))
    replace: tuple[tuple[str, str], ...] = ()
    collapse_whitespace: bool = True
    strip: bool = True
    case: str | None = field(default=None, metadata=one_of("lower", "upper"))
    empty_to_null: bool = False

    tags: ClassVar[Tags] = Tags(accepts="string")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_patterns()

    def _check_patterns(self) -> None:
        pairs = [tuple(pair) if isinstance(pair, list | tuple) else (pair,) for pair in self.replace]
        if not all(len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs):
            raise wrong_parameter(self, "replace", 'pairs of texts: [("[0-9]+", "#")]')
        object.__setattr__(self, "replace", tuple(pairs))
        for pattern, replacement in pairs:
            try:
                pl.Series([""]).str.replace_all(pattern, replacement)
            except (pl.exceptions.ComputeError, pl.exceptions.PanicException) as error:
                raise ConfigError(
                    f"pattern {pattern!r} of {self.title} cannot be read: {str(error).splitlines()[0]}",
                    hint="Look-around and references to groups are not in Rust's regular expressions.",
                    stage=self.title,
                ) from error

    def _cleaned(self, text: pl.Expr) -> pl.Expr:
        if self.normalize is not None:
            text = text.str.normalize(self.normalize)  # type: ignore[arg-type]
        for pattern, replacement in self.replace:
            text = text.str.replace_all(pattern, replacement)
        text = text.str.replace_all(r"\s+", " ") if self.collapse_whitespace else text
        text = text.str.strip_chars() if self.strip else text
        if self.case is not None:
            text = text.str.to_lowercase() if self.case == "lower" else text.str.to_uppercase()
        return pl.when(text != "").then(text) if self.empty_to_null else text

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Clean all columns in one call."""
        return frames_text.computed(frame, self.inputs(), [self._cleaned(pl.col(n)).alias(o) for n, o in self.pairs()])
