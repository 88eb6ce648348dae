"""Texts cut into words."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames import text
from penstock.frames.text import SPACES
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.parameter_checks import in_range


@dataclass(frozen=True)
class Tokenizer(ColumnStage):
    r"""Puts each text in small letters and cuts it at every white space of ASCII, into a list of strings.

    Two spaces in a row have an empty word between them, and so has a space at the beginning before it; empty words at
    the end are left out, and the empty text is one empty word. That is what MLlib's ``Tokenizer`` gives, and what Java
    calls ``split("\\s")``; :class:`RegexTokenizer` gives no empty words.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings.
    output_columns : sequence of str, optional
        Names for the lists, one a column; without it the columns are replaced.

    Raises
    ------
    SchemaError
        Before reading: a column is missing or not of strings.

    Notes
    -----
    A null stays null. Small letters are those of Unicode whatever the language, also where one letter becomes two.
    Nothing is learned. A frame on a GPU is tokenised on the host.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"text": ["The cat  sat ", None]}))
    >>> model = ps.Pipeline(st.Tokenizer("text", output_columns=["words"])).fit(data)
    >>> model.transform(data).to_arrow()["words"].to_pylist()
    [['the', 'cat', '', 'sat'], None]
    """

    made_type: ClassVar[pa.DataType | None] = pa.list_(pa.string())
    tags: ClassVar[Tags] = Tags(accepts="string")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Cut all columns in one call."""
        return text.split_at_spaces(frame, dict(self.pairs()))


@dataclass(frozen=True)
class RegexTokenizer(ColumnStage):
    r"""Cuts each text into a list of words, by a regular expression that matches what is between them, or themselves.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of strings.
    pattern : str, default="\\s+"
        A regular expression as Java has them, and MLlib: ``\s``, ``\d``, ``\w`` and ``\b`` are those of ASCII, and a
        dot is any character that ends no line. Not known are looking ahead and behind, references to groups, possessive
        quantifiers, flags, ``$`` (``\z`` is the end), classes by name but for general categories (``\p{Lu}``), and
        ``\Q``. It may not match the empty text.
    gaps : bool, default=True
        The pattern matches what is between the words; False: the words.
    min_token_length : int, default=1
        Words of fewer characters are left out. Java counts a character beyond U+FFFF as two, which matters from 2 on.
    to_lowercase : bool, default=True
        Put texts in small letters first, as :class:`Tokenizer` does.
    output_columns : sequence of str, optional
        Names for the lists, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        The pattern is none, has something that is not known, or matches the empty text.
    SchemaError
        Before reading: a column is missing or not of strings.

    Notes
    -----
    A null stays null. With ``min_token_length=0`` empty words are kept that are not at the end, as in MLlib. Nothing is
    learned. A frame on a GPU is tokenised on the host.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"text": ["It's 10 o'clock.", None]}))
    >>> words = st.RegexTokenizer("text", pattern=r"[^\w']+", min_token_length=3)
    >>> ps.Pipeline(words).fit(data).transform(data).to_arrow()["text"].to_pylist()
    [["it's", "o'clock"], None]
    """

    _: KW_ONLY
    pattern: str = r"\s+"
    gaps: bool = True
    min_token_length: int = field(default=1, metadata=in_range(least=0, whole=True))
    to_lowercase: bool = True

    made_type: ClassVar[pa.DataType | None] = pa.list_(pa.string())
    tags: ClassVar[Tags] = Tags(accepts="string")

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            problem = text.pattern_problem(translated(self.pattern))
        except ValueError as error:
            problem = f"{error} in it is not known"
        if problem is not None:
            raise ConfigError(
                f"pattern of {self.title} is {self.pattern!r}: {problem}",
                hint="Say it with classes, groups, quantifiers and alternatives; see the docstring for what is known.",
                stage=self.title,
            )

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Cut all columns in one call."""
        return text.split_by_pattern(
            frame, dict(self.pairs()), translated(self.pattern),
            gaps=self.gaps, min_length=self.min_token_length, lower=self.to_lowercase,
        )  # fmt: skip


_ASCII = {
    "s": SPACES, "S": SPACES.replace("[", "[^", 1), "d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]",
    "W": "[^A-Za-z0-9_]", "b": r"(?-u:\b)",
}  # fmt: skip
_LINE = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_TOKEN = re.compile(
    r"""
    \\(?P<escape>[sSdDwWb])
    | (?P<same>\\[tnrfaAz] | \\x[0-9A-Fa-f]{2} | \\u[0-9A-Fa-f]{4} | \\[pP]\{[LMNPSZC][a-z]?\} | \\[pP][LMNPSZC]
             | \\[^A-Za-z0-9<>] | \(\?: | \(\?<[A-Za-z][A-Za-z0-9]*>)
    | (?P<refused>\\. | \(\?<?. | [*+?}]\+ | \$ | --| ~~ | \[: )
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLASSES = (r"\$", r"[*+?}]\+", r"\(\?<?.")
"""What is refused outside of brackets, and stands for its characters inside."""


def translated(pattern: str) -> str:
    r"""Return a pattern of Java's for Polars: classes such as ``\s`` and ``\w`` are those of ASCII.

    Raises
    ------
    ValueError
        It has something that Polars lacks or takes for something else; the message is that part.

    Examples
    --------
    >>> translated(r"\d+[\s,]")
    '[0-9]+[[ \\t\\n\\x0B\\f\\r],]'
    >>> translated("a(?=b)")
    Traceback (most recent call last):
    ValueError: (?=
    """
    made, depth, at = [], 0, 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        assert found is not None
        text = found[0]
        if found["refused"]:
            if not depth or not any(re.fullmatch(each, text, re.DOTALL) for each in _CLASSES):
                raise ValueError(text)
            text = text[0]  # a character of a class
        made.append(_ASCII[found["escape"]] if found["escape"] else _LINE if text == "." and not depth else text)
        depth += (text == "[") - (text == "]" and depth > 0) if found["other"] else 0
        at += len(text)
    return "".join(made)
