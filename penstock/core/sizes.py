"""Numbers of bytes as people write and read them."""

from __future__ import annotations

import re

from penstock.core.errors import ConfigError

_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def parse_bytes(text: str) -> int:
    """Return a number of bytes that is written with a unit.

    Raises
    ------
    ConfigError
        It is not a number with one of B, KiB, MiB, GiB and TiB.

    Examples
    --------
    >>> parse_bytes("1.5 GiB"), parse_bytes("64MiB"), parse_bytes("4096")
    (1610612736, 67108864, 4096)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if match is None or (match[2] or "B") not in _UNITS:
        raise ConfigError(f"{text!r} is no size, expected a number and one of {', '.join(_UNITS)}")
    return int(float(match[1]) * _UNITS[match[2] or "B"])


def show_bytes(count: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> show_bytes(1610612736), show_bytes(700), show_bytes(64 * 2**20)
    ('1.5 GiB', '700 B', '64.0 MiB')
    """
    unit, size = next((each for each in reversed(_UNITS.items()) if count >= each[1]), ("B", 1))
    return f"{count:.0f} B" if size == 1 else f"{count / size:,.1f} {unit}"
