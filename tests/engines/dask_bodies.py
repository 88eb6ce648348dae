"""What the tests of the Dask engine run on its workers, which import it by name."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from penstock.io.fragments import Fragment


def name_of(fragment: Fragment) -> str:
    return f"{fragment.index:x}"


def in_brackets(parts: Sequence[str]) -> str:
    return f"({''.join(parts)})"


def tenth(fragment: Fragment) -> float:
    return 10.0 ** (fragment.index % 7) / 3.0


def left_to_right(parts: Sequence[float]) -> float:
    total = 0.0
    for part in parts:
        total += part
    return total


def exit_of_a_frame(item: int) -> NoReturn:
    raise BaseException("of a frame")


@dataclass(frozen=True)
class Touch:
    """Leaves a file for each item it is called with."""

    folder: Path

    def __call__(self, item: int) -> int:
        (self.folder / str(item)).touch()
        return item


@dataclass(frozen=True)
class Dying:
    """Ends its process, or sends it another signal, at one item: once, or whenever `marker` is None."""

    task: Any
    at: Any
    marker: Path | None
    signal: int = 9

    def __call__(self, item: Any) -> Any:
        if item == self.at and not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.touch()
            os.kill(os.getpid(), self.signal)
            time.sleep(3600)  # a signal may reach this thread a moment later, which must not go on to a result
        return self.task(item)


def slow_square(item: int) -> int:
    time.sleep(0.02)
    return item * item


class Heavy:
    """Weighs a lot, and leaves a file whenever it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.weight = folder, bytes(12_000_000)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, item: int) -> int:
        return len(self.weight) + item
