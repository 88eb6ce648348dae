"""Regular expressions written for Java, as Polars reads them; those that mean something else there are refused."""

from __future__ import annotations

import re

from penstock.frames.text import SPACES

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
