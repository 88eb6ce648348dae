"""Running out of memory: what it looks like in a task, and what is told of it besides."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Any

from penstock import devices
from penstock.core.sizes import show_bytes
from penstock.io.fragments import Fragment, Piece

HINT = (
    "Lower fragment_bytes where the data is read (128 MiB unless given, more on a GPU), run fewer tasks at the same"
    " time (in_flight, threads of a worker, cores of an executor), or give them more memory."
)
"""What to do about it."""

_CLASSES = ("OutOfMemoryError",)
_SIGNS = ("std::bad_alloc", "Cannot allocate memory", "cudaErrorMemoryAllocation")
_OF_A_GPU = ("cuda", "rmm")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or what it says to be its cause, is that there was no memory.

    Besides `MemoryError`, which those of pyarrow, NumPy and RAPIDS are, it may be PyTorch's, one of the system's, or
    one of C++ behind another library.

    Examples
    --------
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(OSError(12, "Cannot allocate memory"))
    (True, True)
    >>> is_out_of_memory(ValueError("7 is no name"))
    False
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, MemoryError) or type(error).__name__ in _CLASSES or _says(error, _SIGNS):
            return True
        seen.append(error)
        error = error.__cause__
    return False


def shortage(error: BaseException, *arguments: Any) -> str:
    """Return how large the work was that ran out of memory, and how much its process can have.

    Parameters
    ----------
    error : BaseException
        What was raised; of the memory of a GPU nothing is known here.
    *arguments
        What the work was given.

    Examples
    --------
    >>> shortage(MemoryError("CUDA error"), Fragment(0, 0, (Piece("a.csv", 0, 1000, begin=0, end=2**20),)))
    'it worked on 1,000 rows of 1.0 MiB'
    """
    work = next((size_of(each) for each in arguments if isinstance(each, Fragment)), None)
    limit = None if _says(error, _OF_A_GPU) else f"its process can have {_limit()}"
    return "; ".join(each for each in (work and f"it worked on {work}", limit) if each)


def size_of(fragment: Fragment) -> str:
    """Return how many rows a fragment has, and of how many bytes; those of its files where it has a part of one.

    Examples
    --------
    >>> size_of(Fragment(0, 0, (Piece("a.parquet", 0, 10, size=2**21), Piece("b.parquet", 0, 5, size=2**21))))
    '15 rows from files of 4.0 MiB'
    """
    rows = f"{fragment.rows:,} rows"
    own = [_bytes(piece) for piece in fragment.pieces]
    if all(own):
        return f"{rows} of {show_bytes(sum(own))}"
    files = {piece.path: piece.size for piece in fragment.pieces}
    return f"{rows} from files of {show_bytes(sum(files.values()))}" if any(files.values()) else rows


def _bytes(piece: Piece) -> int:
    """Return the bytes that a piece has to itself; 0 where they are not known."""
    return piece.end - piece.begin if piece.table is None else int(piece.table.nbytes)


def _limit() -> str:
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    memory = devices.memory_limit()
    if addresses != resource.RLIM_INFINITY and addresses < memory:
        return f"{show_bytes(addresses)} of addresses (ulimit -v)"
    return show_bytes(memory)


def _says(error: BaseException, signs: tuple[str, ...]) -> bool:
    with suppress(Exception):  # its own __str__ fails
        return any(sign.lower() in str(error).lower() for sign in signs)
    return False
