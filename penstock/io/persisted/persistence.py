"""Under what name, and within what budget, processes hold the rows of one dataset."""

from __future__ import annotations

import weakref
from dataclasses import KW_ONLY, dataclass, field
from typing import Self

from penstock import devices
from penstock.core.sizes import show_bytes
from penstock.frames import Kind

_SHARE = 4


@dataclass(eq=False, repr=False)
class Persistence:
    """What every process is told that holds rows of a dataset; a small value that travels with each task.

    Parameters
    ----------
    name : str
        Under which the rows are held. Engines tell those of one dataset from those of others by it, nothing else does.
    memory : int, optional
        Bytes that each process may hold, on the GPU where it works on one; a quarter of what is free, unless given.
    most : int, optional
        Bytes of which no more than a quarter is taken, where `memory` is not given.
    disk : int, default 0
        Bytes that each process may put on local disk besides.
    spill_dir : str, optional
        Where; in the temporary directory of the process's machine, unless given.
    columns : frozenset of str, optional
        The only ones that are held; all unless given.
    """

    name: str
    _: KW_ONLY
    memory: int | None = None
    most: int | None = None
    disk: int = 0
    spill_dir: str | None = None
    columns: frozenset[str] | None = None
    released: bool = field(default=False, init=False)

    def released_with_last(self) -> Self:
        """Return this, what this process holds being let go when nothing refers to it any more."""
        from penstock.io.persisted.row_store import forget

        weakref.finalize(self, forget, self.name)
        return self

    def budget(self, kind: Kind) -> int:
        """Return the bytes of memory that this process may hold."""
        if self.memory is not None:
            return self.memory
        free = devices.free_memory(kind)
        return (free if self.most is None else min(free, self.most)) // _SHARE

    def __str__(self) -> str:
        memory = "a quarter of its free memory" if self.memory is None else f"{show_bytes(self.memory)} of memory"
        return f"at most {memory}{f' and {show_bytes(self.disk)} of disk' if self.disk else ''}"
