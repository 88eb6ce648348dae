"""How a command ends: its result or its error for people, one line of JSON for schedulers, an exit code.

A signal raises KeyboardInterrupt where the program is, so that what was started is stopped and what was staged removed.
But Python raises it only between two steps of its own: a main thread that is in a call of C does not get there, and
neither does one that waits for such a call in another thread. So a thread looks at signals too, as the system brings
them, and ends the process when the program has not ended in time.
"""

from __future__ import annotations

import atexit
import dataclasses
import io
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, NoReturn

from penstock.cli.drift import DriftResult
from penstock.cli.live_tables import AlarmsResult
from penstock.cli.registry.results import PromoteResult
from penstock.cli.results import CheckResult
from penstock.cli.tables import show
from penstock.core import errors
from penstock.core.bounded_pool import is_working
from penstock.core.console import PlainConsole
from penstock.core.notices import get_logger, json_logs
from penstock.core.progress import Progress, RichProgress, Track, followed
from penstock.core.redaction import presentable, redact

logger = get_logger(__name__)

LOG_VARIABLE = "PENSTOCK_LOG"
EXIT_CODES: tuple[tuple[type[errors.PenstockError], int], ...] = (
    (errors.AlarmError, 3),  # as a check of the same run by `penstock alarms`
    (errors.ConfigError, 2),
    (errors.InputError, 3),
    (errors.ExecutionError, 4),
    (errors.OutputError, 5),
    (errors.ArtifactError, 6),
)
UNEXPECTED, USAGE = 1, 2
NOTHING_NEW = 99
"""Of a job that worked and had nothing to change; Airflow takes it for a task to skip."""
BROKEN_RULES = 3
"""As of `BrokenRulesError`: the input is wrong."""
_OPTIONS = {
    "overwrite=True": "--overwrite",
    "allow_unmanifested=True": "--allow-unmanifested",
    "max_bad_records": "--max-bad-records",
    "its quarantine=": "--quarantine",
    "memory_budget of CountOptions": "--memory-budget",
}


class CommandProgress(RichProgress):
    """Draws bars, and remembers what is under way, to say what was interrupted."""

    label: str | None = None

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        """Draw one bar."""
        self.label = label
        with super().track(label, total) as track:
            yield track
        self.label = None


class LoggedProgress(Progress):
    """Logs scans and trainings as they end, and remembers what is under way."""

    label: str | None = None

    @contextmanager
    def track(self, label: str, total: int) -> Iterator[Track]:
        """Log one line at the end."""
        self.label, began = label, time.monotonic()
        yield followed(Track(), label, total)
        self.info(f"{label}: {total} done in {time.monotonic() - began:.3f} s")
        self.label = None


class Reporter:
    """Runs one command and reports how it ended.

    Where the environment variable ``PENSTOCK_LOG`` is ``json``, stderr gets log records instead, a line of JSON each.

    Parameters
    ----------
    as_json : bool
        Print one JSON object as the last line of stdout, errors too; tables go to stderr.
    traceback : bool
        Print the traceback of an error.
    """

    def __init__(self, *, as_json: bool = False, traceback: bool = False) -> None:
        self.as_json, self.traceback = as_json, traceback
        self.stderr = PlainConsole(stderr=True)
        self.console = self.stderr if as_json else PlainConsole()
        self.logs_json = os.environ.get(LOG_VARIABLE) == "json"
        self.progress: CommandProgress | LoggedProgress = (
            LoggedProgress() if self.logs_json else CommandProgress(self.stderr)
        )

    def run(self, work: Callable[[Progress], Any]) -> int:
        """Do `work`, show its result, a dataclass, and return the exit code."""
        with json_logs() if self.logs_json else nullcontext():
            return self._run(work)

    def _run(self, work: Callable[[Progress], Any]) -> int:
        try:
            with stoppable(self._force), self._warnings():
                result = work(self.progress)
        except KeyboardInterrupt as stop:
            code = self._interrupted(signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)
            if is_working():  # the end of Python would be one of a thread of Rust's, too
                leave(code)
            return code
        except BaseException as error:  # a panic of Rust, or sys.exit where a pipeline is built, is no Exception
            return self.failed(error)
        if not (self.as_json and self.logs_json):
            show(result, self.console)
        self._print_json(dataclasses.asdict(result))
        return _exit_code(result)

    def failed(self, error: BaseException) -> int:
        """Print an error and return its exit code."""
        if self.traceback:
            self.stderr.print("".join(traceback.format_exception(error)))
        description = describe(error)
        self._print_error(description)
        return int(description["exit_code"])

    def _force(self, number: signal.Signals) -> None:
        leave(self._interrupted(number, " by force: it did not end in time"))

    def _interrupted(self, number: signal.Signals, how: str = "") -> int:
        during = f" during {self.progress.label!r}" if self.progress.label else ""
        go_on = "--checkpoint-dir lets a training go on, --study a search, --from a backfill."
        hint = f"Outputs are as they were, or all of this run. Run again; {go_on}"
        code = 128 + number
        self._print_error({"type": number.name, "message": f"stopped{during}{how}", "hint": hint, "exit_code": code})
        return code

    def _print_error(self, description: Mapping[str, Any]) -> None:
        if self.logs_json:
            logger.error("%s: %s", description["type"], description["message"])
        else:
            self._show_error(description)
        self._print_json({"error": description})

    def _show_error(self, description: Mapping[str, Any]) -> None:
        self.stderr.print(description["type"], end="", style="bold red")
        self.stderr.print(f": {description['message']}")
        if description.get("hint"):
            self.stderr.print("Hint: ", end="", style="bold")
            self.stderr.print(description["hint"])

    def _print_json(self, value: Any) -> None:
        if self.as_json:
            print(as_line(value), flush=True)

    @contextmanager
    def _warnings(self) -> Iterator[None]:
        """Print warnings as lines without source code."""
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: self.progress.note(f"Warning: {message}")
            yield


def _exit_code(result: Any) -> int:
    """Return the exit code of a job that worked: that of input where rows break rules or drift, or of an alarm."""
    if isinstance(result, CheckResult | DriftResult | AlarmsResult) and not result.passed:
        return BROKEN_RULES
    return NOTHING_NEW if isinstance(result, PromoteResult) and not result.promoted else 0


def describe(error: BaseException) -> dict[str, Any]:
    """Return an error as plain values: type, message, hint, exit code, and the place where it was found.

    Examples
    --------
    >>> describe(errors.ConfigError("seed is 'x'", hint="Pass a number.", stage="split"))
    {'type': 'ConfigError', 'message': "seed is 'x' (stage 'split')", 'hint': 'Pass a number.', 'exit_code': 2, \
'stage': 'split'}
    """
    if not isinstance(error, errors.PenstockError):
        message, hint = f"unexpected: {error}", "Run it with --traceback, and report it."
        return {"type": type(error).__name__, "message": presentable(message), "hint": hint, "exit_code": UNEXPECTED}
    bare = type(error)(error.message, **error.place)
    hint = error.hint or ""
    for argument, option in _OPTIONS.items():
        hint = hint.replace(argument, option)
    code = next(code for kind, code in EXIT_CODES if isinstance(error, kind))
    place = {name: value for name, value in error.place.items() if value is not None}
    return {"type": type(error).__name__, "message": str(bare), "hint": hint or None, "exit_code": code, **place}


def as_line(value: Any) -> str:
    r"""Return plain values as one line of JSON in ASCII, without secrets, and without characters that terminals obey.

    Examples
    --------
    >>> print(as_line({"path": "s3://me:hunter2@bucket/a", "classes": ["\x1b[31mred\x7f"]}))
    {"path": "s3://me:***@bucket/a", "classes": ["\u001b[31mred\u007f"]}
    """
    return json.dumps(_redacted(value), allow_nan=False).replace("\x7f", "\\u007f")


def _redacted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_redacted(name): _redacted(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(inner) for inner in value]
    return redact(value) if isinstance(value, str) else value


def usage_failed(error: Any, argv: list[str]) -> int:
    """Print a wrong use of the command line, as JSON too where that is asked for, and return the exit code."""
    shown = io.StringIO()
    error.show(file=shown)
    print(presentable(shown.getvalue(), keep="\n"), file=sys.stderr, end="")
    if "--json" in argv:
        message = presentable(error.format_message())
        described = {"type": "UsageError", "message": message, "hint": "See --help.", "exit_code": USAGE}
        print(as_line({"error": described}), flush=True)
    return USAGE


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
