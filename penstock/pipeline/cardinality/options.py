"""The memory in which values are counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.core.sizes import parse_bytes, show_bytes
from penstock.devices import memory_limit
from penstock.io.fragments import FRAGMENT_BYTES

LARGE = FRAGMENT_BYTES
"""Bytes of counts that any worker can be asked to hold, as it holds so many of rows; for more, values are estimated."""

ORDERED = 2
"""How often values are held in the end: as they were counted, and in order."""


@dataclass(frozen=True)
class CountOptions:
    """The memory in which values of columns are counted.

    Parameters
    ----------
    memory_budget : int or str, optional
        Bytes that counts may take in any one process, ``"4GiB"`` say. Unless given, half of the memory that a process
        can have: of its machine, its container or its worker, shared among the tasks that run there at the same time.

    Raises
    ------
    ConfigError
        It is no size, or none above zero.

    Examples
    --------
    >>> CountOptions("1.5 GiB").memory_budget, CountOptions().of(2**30)
    (1610612736, 536870912)
    """

    memory_budget: int | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.memory_budget, str):
            object.__setattr__(self, "memory_budget", parse_bytes(self.memory_budget))
        if self.memory_budget is not None and self.memory_budget <= 0:  # type: ignore[operator]
            raise ConfigError(f"memory_budget is {self.memory_budget!r}, expected more than 0 bytes")

    def of(self, memory: int) -> int:
        """Return the budget of a process that has so much memory."""
        return memory // 2 if self.memory_budget is None else int(self.memory_budget)


@dataclass(frozen=True)
class Budget:
    """What counts may take of memory, in bytes: of a task, and of the process that gets the result."""

    options: CountOptions
    engine: Scheduler

    @property
    def held(self) -> int:
        """How many states a task holds while it merges: those that it is given, and what they make."""
        return self.engine.arity + 1

    @cached_property
    def task(self) -> int:
        """Of a task."""
        return self.options.of(self.engine.task_memory)

    @cached_property
    def here(self) -> int:
        """Of this process."""
        return self.options.of(memory_limit())

    def of_column(self, columns: int) -> int:
        """Return what each of so many columns may take of a worker that merges eight states of all of them."""
        return min(LARGE, self.task // self.held // max(1, columns))

    def is_ample(self, bytes_: float) -> bool:
        """Return whether counts of so many bytes, at most, fit in any case, so that nobody need be asked.

        They do wherever Penstock runs at all; and in one process, which cuts nothing, where all are within its budget.
        """
        if self.engine.in_process:
            return bytes_ * ORDERED <= self.here
        return self.options.memory_budget is None and bytes_ * self.held <= LARGE

    def __str__(self) -> str:
        return show_bytes(self.here) + ("" if self.engine.in_process else f", of a task {show_bytes(self.task)}")
