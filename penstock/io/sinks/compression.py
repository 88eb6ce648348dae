"""Compression of parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, check_one_of

SUFFIXES = {None: "", "gzip": ".gz", "zstd": ".zst"}
"""How the names of compressed text files end, as readers know them."""
_LEVELS = {"zstd": range(1, 23), "gzip": range(10)}


def check_level(compression: str, level: int | None) -> None:
    """Raise ConfigError for a level that a compression does not have."""
    levels = _LEVELS.get(compression, range(0))
    if level is None or (type(level) is int and level in levels):
        return
    known = f"expected {levels[0]} to {levels[-1]}" if levels else f"and {compression!r} has no levels"
    raise ConfigError(f"compression_level is {level!r}, {known}")


def check_text_compression(compression: str | None) -> None:
    """Raise ConfigError for a compression that readers of text files do not know."""
    if compression is not None:
        check_one_of("compression", compression, ("gzip", "zstd"))


@contextmanager
def open_new(path: str, compression: str | None) -> Iterator[Any]:
    """Open a file that is not there yet, to write bytes that are compressed on the way."""
    with open(path, "xb") as file:
        if compression is None:
            yield file
            return
        with pa.CompressedOutputStream(file, compression) as sink:
            yield sink
