"""Work on a few items at the same time, while the results are taken in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(task: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield ``task(item)`` for each item, in order.

    Parameters
    ----------
    task : callable
    items : iterable
    threads : int
        How many items are worked on at the same time, none of them by the caller's thread; one more result may wait to
        be taken, so that no thread does.

    Raises
    ------
    Exception
        What `task` raises; items that have not begun are given up then, or when the caller stops.

    Examples
    --------
    >>> list(ahead(abs, [-3, 2, -1], threads=2))
    [3, 2, 1]
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="penstock")
    try:
        for item in items:
            waiting.append(pool.submit(task, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
