"""Labels and numbers as a reader wants them: clean, short, and of a known width."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from penstock.core.redaction import redact

MINUS = "\u2212"
_ELLIPSIS = "\u2026"
_JOINERS = "\u200c\u200d"
_NARROW = frozenset("ijltfrI.,:;'|!()[] ")
_BROAD = frozenset(f"mwMW@%&{_ELLIPSIS}")


def show_label(value: Any, ems: float = 24) -> str:
    """Return any value as text of at most `ems` times the size of its font; null and empty text are named.

    Secrets in it are hidden.

    Examples
    --------
    >>> show_label(None), show_label(""), show_label(2.0), show_label(True)
    ('(null)', '(empty)', '2', 'true')
    """
    if value is None:
        return "(null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    text = clean(redact(str(value)))
    if text.strip():
        return shorten(text, ems)
    return "(blank)" if text else "(empty)"


def clean(text: str) -> str:
    r"""Return the text with one mark in place of each character that has no shape or turns others around.

    Control characters, lone surrogates and the marks of writing direction are such; tabs and line ends become spaces.

    Examples
    --------
    >>> clean("a\tb"), clean("a\u202eb") == "a\ufffdb"
    ('a b', True)
    """
    spaced = "".join(" " if character in "\t\n\r" else character for character in text)
    return "".join("\ufffd" if _is_shapeless(character) else character for character in spaced)


def shorten(text: str, ems: float) -> str:
    """Return the text, cut with an ellipsis where it would be wider than `ems`.

    Examples
    --------
    >>> shorten("Chromosome", 20), len(shorten("Chromosome" * 9, 6))
    ('Chromosome', 8)
    """
    if measure(text) <= ems and len(text) <= 4 * ems:
        return text
    room, kept = ems - 1, ""
    for character in text[: int(4 * ems)]:
        room -= measure(character)
        if room < 0:
            break
        kept += character
    return kept.rstrip() + _ELLIPSIS


def measure(text: str) -> float:
    r"""Return how wide the text is, in times the size of its font, for a sans-serif on the wide side.

    Examples
    --------
    >>> measure("il") < measure("ab") < measure("MW") <= measure("\u6771\u4eac")
    True
    """
    return sum(_width(character) for character in text)


def show_number(value: float | None, digits: int = 4) -> str:
    """Return a number with thousands separators, and `digits` decimals where it is below ten.

    Larger numbers have fewer decimals, whole ones of a thousand or more none; what is too small or too large for
    that is written with an exponent.

    Examples
    --------
    >>> show_number(0.73421), show_number(1234.5), show_number(1e-7)
    ('0.7342', '1,234.5', '1.00e-07')
    """
    if value is None or math.isnan(value):
        return "undefined"
    size = abs(value)
    if math.isinf(value):
        shown = "\u221e" if value > 0 else "-\u221e"
    elif size >= 1e15 or 0 < size < 10.0**-digits * 10:
        shown = f"{value:.2e}"
    else:
        whole = size >= 1000 and value == round(value)
        shown = f"{value:,.{0 if whole else max(digits - _tens(size), 1 if size < 1e6 else 0)}f}"
    return MINUS + shown[1:] if shown.startswith("-") else shown


def show_count(value: float) -> str:
    """Return a count or a sum of weights: whole numbers without decimals.

    Examples
    --------
    >>> show_count(200000), show_count(12.25)
    ('200,000', '12.250')
    """
    if not math.isfinite(value) or value != round(value) or abs(value) >= 1e15:
        return show_number(value)
    return f"{value:,.0f}".replace("-", MINUS)


def show_compact(value: float) -> str:
    """Return a number of at most about six characters.

    Examples
    --------
    >>> [show_compact(value) for value in (950, 9999, 12345, 2.5e6, 0.5)]
    ['950', '9,999', '12.3k', '2.5M', '0.5']
    """
    if abs(value) < 1e4:
        return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"
    for size, mark in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size and abs(value) < 1e15:
            return f"{value / size:.3g}{mark}" if abs(value) < 999.5 * size else f"{value / size:.0f}{mark}"
    return f"{value:.1e}"


def show_share(value: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> show_share(0.1234), show_share(0.1)
    ('12.3%', '10%')
    """
    return f"{value:.1%}".replace(".0%", "%")


def _is_shapeless(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in _JOINERS


def _width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or character in _BROAD:
        return 1.0
    if character in _NARROW:
        return 0.4
    return 0.75 if character.isupper() else 0.64


def _tens(size: float) -> int:
    return math.floor(math.log10(size)) if size >= 10 else 0
