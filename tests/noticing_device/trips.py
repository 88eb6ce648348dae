"""A trip between the host and the device, and the line of Penstock that makes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import penstock

_PACKAGE = Path(penstock.__file__).parent
_DOOR = "frames/"
_BY_THE_DOOR = ("to_host", "to_device", "from_arrow", "to_arrow")
"""Functions of `penstock.frames` that exist to cross: asked for, and named by whoever reads the line."""


class UnexpectedTripError(AssertionError):
    """Something crosses between the host and the device that is not allowed to."""


@dataclass(frozen=True)
class Trip:
    """Some numbers that cross.

    Parameters
    ----------
    place : str
        The file, below the package, and the function: ``stages/trainer.py:Trainer.train``.
    line : int
    way : str
        The function of `penstock.frames` that was asked, or what moved the numbers unasked: ``__bool__``, ``item``.
    numbers : int
    """

    place: str
    line: int
    way: str
    numbers: int

    def __str__(self) -> str:
        path, function = self.place.split(":")
        return f"penstock/{path}:{self.line}, in {function}: {self.numbers:,} numbers by {self.way}"

    @classmethod
    def here(cls, way: str, numbers: int) -> Trip:
        """Return the trip that the caller of this function is about to make."""
        place, line = "tests:unknown", 0
        for frame in _frames(sys._getframe(1)):
            path = _path(frame.f_code)
            if path is None:
                continue
            place, line = f"{path}:{frame.f_code.co_qualname}", frame.f_lineno
            if not path.startswith(_DOOR):
                break
            way = frame.f_code.co_name if frame.f_code.co_name in _BY_THE_DOOR else way
        return cls(place, line, way, numbers)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _path(code: CodeType) -> str | None:
    path = Path(code.co_filename)
    return path.relative_to(_PACKAGE).as_posix() if path.is_relative_to(_PACKAGE) else None
