"""How a command is stopped: in order at the first signal, and by force where that takes too long.

A signal raises KeyboardInterrupt where the program is, so that what was started is stopped and what was staged removed.
But Python raises it only between two steps of its own: a main thread that is in a call of C does not get there, and
neither does one that waits for such a call in another thread. So a thread looks at signals too, as the system brings
them, and ends the process when the program has not ended in time.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 3.5
"""Seconds that a program has to stop in order."""
_LAST_STEPS = 0.5
_PAUSE = 0.1
_WAKE = signal.SIGURG
"""Ends a wait of the main thread; nobody else sends it, and it does nothing."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


@contextmanager
def stoppable(force: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Raise KeyboardInterrupt, or Terminated, on the first signal.

    On the second, or when this is still not left some seconds after the first, `force` is called with the first; it
    should end the process. Does nothing outside of the main thread, which alone is told of signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    first = _First()
    watcher = threading.Thread(target=_watch, args=(reader, first, force), name="penstock-signals", daemon=True)
    handlers = {number: signal.signal(number, first) for number in (*SIGNALS, _WAKE)}
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(writer)
        watcher.join()
        os.close(reader)


class _First:
    """Raises on the first signal, and leaves the others to the watcher."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.came and number != _WAKE:
            self.came = True
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _watch(reader: int, handler: _First, force: Callable[[signal.Signals], object]) -> None:
    first = _next_signal(reader, None)
    if not first:
        return
    deadline = time.monotonic() + GRACE
    while (second := _next_signal(reader, _PAUSE)) is None and time.monotonic() < deadline:
        if not handler.came:  # it came to another thread, or as this one began to wait: nothing has woken it
            signal.pthread_kill(threading.main_thread().ident or 0, _WAKE)
    if second != 0:
        force(signal.Signals(first))


def _next_signal(reader: int, seconds: float | None) -> int | None:
    """Return the next signal, 0 when there is nothing to stop any more, None when neither came in time."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while select.select([reader], [], [], None if deadline is None else max(0.0, deadline - time.monotonic()))[0]:
        number = int.from_bytes(os.read(reader, 1))
        if number in (0, *SIGNALS):
            return number
    return None


def leave(code: int) -> NoReturn:
    """End the process whatever its threads do, after what is registered for its end, which removes what was staged."""
    last_steps = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    last_steps.start()
    last_steps.join(_LAST_STEPS)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
