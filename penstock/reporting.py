"""How a command ends: its result or its error for people, one line of JSON for schedulers, an exit code."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console

from penstock import errors
from penstock.progress import Progress, RichProgress, Track
from penstock.redaction import redact
from penstock.tables import show

EXIT_CODES: tuple[tuple[type[errors.PenstockError], int], ...] = (
    (errors.ConfigError, 2),
    (errors.InputError, 3),
    (errors.ExecutionError, 4),
    (errors.OutputError, 5),
    (errors.ArtifactError, 6),
)
UNEXPECTED, USAGE = 1, 2
_OPTIONS = {
    "overwrite=True": "--overwrite",
    "allow_unmanifested=True": "--allow-unmanifested",
    "memory_budget of CountOptions": "--memory-budget",
}
_WIDTH = 120


class Terminated(BaseException):
    """SIGTERM came; raised where the program is, so that what it started is stopped and what it staged removed."""


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


class Reporter:
    """Runs one command and reports how it ended.

    Parameters
    ----------
    as_json : bool
        Print one JSON object as the last line of stdout, errors too; tables go to stderr.
    traceback : bool
        Print the traceback of an error.
    """

    def __init__(self, *, as_json: bool = False, traceback: bool = False) -> None:
        self.as_json, self.traceback = as_json, traceback
        self.stderr = _console(stderr=True)
        self.console = self.stderr if as_json else _console(stderr=False)
        self.progress = CommandProgress(self.stderr)

    def run(self, work: Callable[[Progress], Any]) -> int:
        """Do `work`, show its result, a dataclass, and return the exit code."""
        try:
            with _terminable(), self._warnings():
                result = work(self.progress)
        except (KeyboardInterrupt, Terminated) as stop:
            return self._interrupted(signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)
        except Exception as error:
            return self.failed(error)
        show(result, self.console)
        self._print_json(dataclasses.asdict(result))
        return 0

    def failed(self, error: Exception) -> int:
        """Print an error and return its exit code."""
        if self.traceback:
            self.stderr.print(redact("".join(traceback.format_exception(error))), markup=False, highlight=False)
        description = describe(error)
        self._print_error(description)
        return int(description["exit_code"])

    def _interrupted(self, number: signal.Signals) -> int:
        during = f" during {self.progress.label!r}" if self.progress.label else ""
        hint = "Outputs are as they were. Run it again; with --checkpoint-dir a training goes on where it was."
        code = 128 + number
        self._print_error({"type": number.name, "message": f"stopped{during}", "hint": hint, "exit_code": code})
        return code

    def _print_error(self, description: Mapping[str, Any]) -> None:
        self.stderr.print(f"[bold red]{description['type']}[/]: ", end="")
        self.stderr.print(description["message"], markup=False, highlight=False)
        if description.get("hint"):
            self.stderr.print("Hint: ", end="", style="bold")
            self.stderr.print(description["hint"], markup=False, highlight=False)
        self._print_json({"error": description})

    def _print_json(self, value: Any) -> None:
        if self.as_json:
            print(json.dumps(value, allow_nan=False), flush=True)

    @contextmanager
    def _warnings(self) -> Iterator[None]:
        """Print warnings as lines without source code."""
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: self.progress.note(redact(f"Warning: {message}"))
            yield


def describe(error: Exception) -> dict[str, Any]:
    """Return an error as plain values: type, message, hint, exit code, and the place where it was found.

    Examples
    --------
    >>> describe(errors.ConfigError("seed is 'x'", hint="Pass a number.", stage="split"))
    {'type': 'ConfigError', 'message': "seed is 'x' (stage 'split')", 'hint': 'Pass a number.', 'exit_code': 2, \
'stage': 'split'}
    """
    if not isinstance(error, errors.PenstockError):
        message, hint = f"unexpected: {error}", "Run it with --traceback, and report it."
        return {"type": type(error).__name__, "message": redact(message), "hint": hint, "exit_code": UNEXPECTED}
    bare = type(error)(error.message, **error.place)
    hint = error.hint or ""
    for argument, option in _OPTIONS.items():
        hint = hint.replace(argument, option)
    code = next(code for kind, code in EXIT_CODES if isinstance(error, kind))
    place = {name: value for name, value in error.place.items() if value is not None}
    described = {"type": type(error).__name__, "message": str(bare), "hint": hint or None, "exit_code": code, **place}
    return {name: redact(value) if isinstance(value, str) else value for name, value in described.items()}


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, soft_wrap=True)
    if not console.is_terminal:  # a log has no edge to wrap at
        console.width = _WIDTH
    return console


@contextmanager
def _terminable() -> Iterator[None]:
    """Raise Terminated on SIGTERM; a second one ends the process at once."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread, which alone may listen
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def usage_failed(error: Any, argv: list[str]) -> int:
    """Print a wrong use of the command line, as JSON too where that is asked for, and return the exit code."""
    error.show(file=sys.stderr)
    if "--json" in argv:
        hint = "See --help."
        described = {"type": "UsageError", "message": error.format_message(), "hint": hint, "exit_code": USAGE}
        print(json.dumps({"error": described}), flush=True)
    return USAGE
