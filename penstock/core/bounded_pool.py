"""Work on a few items at the same time, while the results are taken in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar
from weakref import WeakSet

Item = TypeVar("Item")
Result = TypeVar("Result")

_TICK = 1.0

_left_behind: WeakSet[Thread] = WeakSet()


def ahead(
    task: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    *,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[Result]:
    """Yield ``task(item)`` for each item, in order.

    Parameters
    ----------
    task : callable
    items : iterable
    threads : int
        How many items are worked on at the same time, none of them by the caller's thread; one more result may wait to
        be taken, so that no thread does.
    meanwhile : callable, optional
        Called every second that the caller waits for a result.

    Raises
    ------
    Exception
        What `task` raises; items that have not begun are given up then, or when the caller stops, and those that have
        are waited for.
    KeyboardInterrupt
        At once: what still runs is left behind, in threads that the end of the process does not wait for.

    Examples
    --------
    >>> list(ahead(abs, [-3, 2, -1], threads=2))
    [3, 2, 1]
    """
    waiting: deque[Future[Result]] = deque()
    calls: SimpleQueue[tuple[Future[Result], Item] | None] = SimpleQueue()
    workers: list[Thread] = []
    try:
        for item in items:
            waiting.append(Future())
            calls.put((waiting[-1], item))
            if len(workers) < threads:
                workers.append(_start(task, calls))
            if len(waiting) > threads:
                yield _result(waiting.popleft(), meanwhile)
        while waiting:
            yield _result(waiting.popleft(), meanwhile)
    except KeyboardInterrupt:
        _left_behind.update(workers)
        raise
    finally:
        for future in waiting:
            future.cancel()
        for _ in workers:
            calls.put(None)
        for worker in workers:
            if worker not in _left_behind:
                worker.join()


def is_working() -> bool:
    """Return whether a thread still works on an item whose result nobody waits for, after an interrupt."""
    return any(worker.is_alive() for worker in _left_behind)


def _result(future: Future[Result], meanwhile: Callable[[], object] | None) -> Result:
    while meanwhile is not None:
        try:
            return future.result(_TICK)
        except TimeoutError:
            if future.done():  # it may be an error of the task's own
                break
        meanwhile()
    return future.result()


def _start(task: Callable[[Item], Result], calls: SimpleQueue[tuple[Future[Result], Item] | None]) -> Thread:
    # Not of a pool: Python waits for those of all pools before it ends, and so for a task that never does.
    # In the context of who asks, so that what it records is recorded with the rest.
    worker = Thread(target=copy_context().run, args=(_work, task, calls), name="penstock", daemon=True)
    worker.start()
    return worker


def _work(task: Callable[[Item], Result], calls: SimpleQueue[tuple[Future[Result], Item] | None]) -> None:
    while (call := calls.get()) is not None:
        _answer(task, *call)
        del call  # or its result would be held until there is a next one


def _answer(task: Callable[[Item], Result], future: Future[Result], item: Item) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = task(item)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
