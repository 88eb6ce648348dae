"""Overflow errors, parsed from the messages of query engines."""

from __future__ import annotations

import re

_CAST = re.compile(
    r"conversion from `(?:[iuf]\d+|decimal\[[\d,]+\])` to `([iu]\d+|decimal\[[\d,]+\])`"
    r" failed in column '(.*?)' for \d.*?: \[(.*?)[,\]]", re.S,
)  # fmt: skip
_DECIMALS = re.compile(
    r"(?:overflow in decimal \w+|division by zero Decimal)(?:: result doesn't fit Decimal\((.*?)\))?"
)
"""No divisor is zero where decimals are divided: Polars says so of sums, too, that it cannot hold."""
_EXPRESSION = re.compile(r"following expression:\s+(.*?)(?:\n|$)")
_WORDS = re.compile(
    r"(?:^|Error: |\] )([^\n]* is beyond the (?:values of (?:u?int\d+|decimal128\(.*?\))|38 digits of a decimal))", re.M
)
_SUM = re.compile(r"__penstock_(sum of .*?)_\d+__", re.S)
ANONYMOUS = "a value"
"""What has no name any more, where an engine has taken an expression apart."""
_INTERNAL = "_POLARS_"
HINT = "Cast to a wider type before, or to float64 where digits may be lost; filter leaves such rows out."


def overflow(text: str) -> str | None:
    """Return what is beyond the values of its type, by what an engine said; None where it said something else.

    Examples
    --------
    >>> overflow("conversion from `i128` to `i64` failed in column 'x' for 1 out of 2 values: [9223372036854775808]")
    "a value (column 'x') is 9223372036854775808, which is beyond the values of int64"
    """
    if known := _WORDS.search(text):  # as a worker said it
        return known[1].rpartition("Error: ")[2]
    made = _shown(text)
    if cast := _CAST.search(text):
        added = _SUM.fullmatch(cast[2])
        what = f"the {added[1].replace('·', '.')}" if added else f"{made or 'a value'} (column {cast[2]!r})"
        what = ANONYMOUS if _INTERNAL in what else what
        return f"{what} is {cast[3]}, which is beyond the values of {_kind(cast[1])}"
    if decimal := _DECIMALS.search(text):
        made = made if made and "__" not in made else "a sum of decimals" if decimal[1] is None else ANONYMOUS
        return (
            f"{made} is beyond the {f'values of decimal128({decimal[1]})' if decimal[1] else '38 digits of a decimal'}"
        )
    return None


def _shown(text: str) -> str | None:
    """Return the expression of which an engine speaks, without what was put there to check it."""
    if (found := _EXPRESSION.search(text)) is None:
        return None
    plain = re.sub(r"\.(?:strict_)?cast\((?:[^()]|\([^()]*\))*\)", "", found[1])
    plain = re.sub(r'col\("(.*?)"\)', r"\1", plain)
    plain = re.sub(r"\.when\(.*?\)\.then\((.*?)\)\.otherwise\(null\)", r"\1", plain)
    while plain != (bare := re.sub(r"\((-?\w+)\)|^\[(.*)\]$", r"\1\2", plain)):
        plain = bare
    return plain


def _kind(name: str) -> str:
    if name.startswith("decimal"):
        return name.replace("decimal[", "decimal128(").replace(",", ", ").replace("]", ")")
    return name.replace("i", "int").replace("u", "uint")
