"""What the tests of errors run on workers: work that raises what no scheduler expects."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import narwhals as nw
import pyarrow as pa

from penstock.errors import DataValueError
from penstock.frames import Kind
from penstock.io.fragments import Fragment, Piece
from penstock.spmd import Rank


class Bare(BaseException):
    """As the panic of a library in Rust: no `Exception`."""


class Mangled(Exception):
    """Pickles, and cannot be unpickled."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class OfTwo(DataValueError):
    """An error of Penstock's own, made by a user in a way that cannot be unpickled."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(f"{low} is more than {high}", hint="Swap them.", column="x")

    def __reduce__(self) -> NoReturn:
        raise TypeError("two numbers")


def strange(kind: str) -> BaseException:
    """Return an error that not every scheduler can hand on."""

    class Nested(BaseException):
        pass

    errors: dict[str, BaseException] = {
        "bare": Bare("of a library"),
        "nested": Nested("of a function"),
        "exit": SystemExit(0),
        "generator": GeneratorExit("left"),
        "mangled": Mangled(7, "seven"),
        "speechless": Speechless(),
        "lines": ZeroDivisionError("seven by\nnothing"),
        "long": ValueError("x" * 50_000),
        "memory": MemoryError("of Python"),
        "arrow": pa.ArrowMemoryError("malloc of size 1073741824 failed"),
        "system": OSError(12, "Cannot allocate memory"),
    }
    return errors[kind]


@dataclass(frozen=True)
class Raises:
    """Raises at one place of a reduction, in parts or not: `at` names the method."""

    kind: str
    at: str = "call"
    parts: int = 1

    def __call__(self, fragment: Fragment) -> list[int]:
        if self.at == "call" and fragment.index == 1:
            raise strange(self.kind)
        return [fragment.index]

    def merge(self, states: list[Any]) -> Any:
        if self.at == "merge":
            raise strange(self.kind)
        return states[0]

    def prune(self, state: Any) -> Any:
        if self.at == "prune":
            raise strange(self.kind)
        return state


def cause_is_strange(item: int) -> NoReturn:
    """Raise an error of Penstock's own because of one that does not pickle."""
    try:
        raise strange("nested")
    except BaseException as error:
        raise DataValueError("label is 7", hint="Look.", row=12) from error


def own_is_strange(item: int) -> NoReturn:
    raise OfTwo(2, 1)


@dataclass(frozen=True)
class Panics:
    """A source whose files cannot be read, as its library has it."""

    schema: pa.Schema

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        raise strange("nested")


def rank_raises(rank: Rank) -> None:
    if rank.index == 0:
        raise strange("nested")


def user_runs_out(frame: Any) -> NoReturn:
    raise MemoryError("of a function")


def takes(fragment: Fragment) -> int:
    """Take more memory than any worker of a test may have, until its nanny ends it; at most half a minute."""
    taken = bytearray(b"x") * (700 * 2**20)
    time.sleep(30)
    return len(taken)
