"""Scripts whose worker processes would run them again: each imports the main module, up to the line that starts it."""

from __future__ import annotations

import ast
import multiprocessing
import sys
from pathlib import Path

from penstock.core.errors import ConfigError

HINT = (
    'In a script, put what starts an engine below `if __name__ == "__main__":`, because each worker process imports the'
    " script."
)


def require_main_guard() -> None:
    """Raise ConfigError where a process that is started now would come by the same line, and start another.

    Any ``if`` around the line is taken for a guard; what is typed in, and notebooks, are not run again.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError("a worker process that is being started would start a Dask cluster itself", hint=HINT)
    place = _line_of_main()
    if place is not None and not isinstance(_statement(*place), ast.If | None):
        file, line = place
        raise ConfigError(
            f"{file}, line {line}, starts a Dask cluster, whose worker processes would all come by that line",
            hint=HINT,
            path=file,
        )


def _line_of_main() -> tuple[str, int] | None:
    """Return the file and the line at which the main module is, if it is being run."""
    main, frame = vars(sys.modules["__main__"]), sys._getframe()
    while frame.f_back is not None and not (frame.f_code.co_name == "<module>" and frame.f_globals is main):
        frame = frame.f_back
    running = frame.f_globals is main and frame.f_code.co_name == "<module>"
    return (frame.f_code.co_filename, frame.f_lineno) if running else None


def _statement(file: str, line: int) -> ast.stmt | None:
    """Return the outermost statement around a line of a script, if that can be read."""
    try:
        body = ast.parse(Path(file).read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    return next((each for each in body if each.lineno <= line <= (each.end_lineno or each.lineno)), None)
