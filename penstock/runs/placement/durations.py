"""Lengths of time as people write and read them."""

from __future__ import annotations

import math
import re

from penstock.core.errors import ConfigError

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
_PART = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})\s*")


def parse_duration(text: str) -> float:
    """Return the seconds of a duration: numbers, each with a unit.

    Raises
    ------
    ConfigError
        It is not made of numbers with one of s, min, h and d.

    Examples
    --------
    >>> parse_duration("1h"), parse_duration("1.5 h"), parse_duration("1h 30min"), parse_duration("90s")
    (3600.0, 5400.0, 5400.0, 90.0)
    """
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        hint = 'Write "1h", "90min" or "1h 30min".'
        raise ConfigError(f"{text!r} is no duration, expected numbers with one of {', '.join(_UNITS)}", hint=hint)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def show_duration(seconds: float) -> str:
    """Return a duration in its two largest units, or with a decimal below a minute; what is left over is rounded up.

    Examples
    --------
    >>> show_duration(5042), show_duration(61), show_duration(7.25), show_duration(200_000)
    ('1 h 25 min', '1 min 1 s', '7.3 s', '2 d 8 h')
    """
    if seconds < _UNITS["min"]:
        return f"{math.ceil(seconds * 10) / 10:.1f} s"
    units = [(unit, size) for unit, size in reversed(_UNITS.items()) if seconds >= size]
    (large, size), *smaller = units
    small, step = smaller[0] if smaller else ("s", 1)
    steps = -int(-seconds // step)
    count, left = divmod(steps * step, size)
    return f"{count} {large}" + (f" {left // step} {small}" if left else "")
