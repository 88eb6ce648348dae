"""What the end of a job means to Airflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NOTHING_NEW = 99
_FINAL = {1: "unexpected", 2: "wrong use or configuration", 3: "bad input", 6: "unusable model"}
"""Exit codes after which another try would end the same way; ``jobs/README.md`` has all of them."""


def raise_unless_done(code: int, printed: Mapping[str, Any]) -> None:
    """Raise what makes Airflow fail, skip or try again a task whose job ended with an exit code; nothing for 0.

    Parameters
    ----------
    code : int
        Negative where a signal ended the process.
    printed : mapping
        The line of JSON; empty where there was none.

    Raises
    ------
    AirflowSkipException
        99: there was nothing to do.
    AirflowFailException
        1, 2, 3, 6: the same input will not do next time either.
    AirflowException
        Any other: workers, memory or a disk failed, or the job was stopped; Airflow tries again while `retries` last.
    """
    if code == 0:
        return
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

    if code == _NOTHING_NEW:
        raise AirflowSkipException(str(printed.get("reason", "there was nothing to do")))
    if code in _FINAL:
        raise AirflowFailException(_message(f"{_FINAL[code]}, exit code {code}", printed))
    ended = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    raise AirflowException(_message(ended, printed))


def _message(how: str, printed: Mapping[str, Any]) -> str:
    error = printed.get("error")
    if not isinstance(error, Mapping):
        return f"{how}; see the log of the task"
    hint = f" Hint: {error['hint']}" if error.get("hint") else ""
    return f"{error.get('type')}: {error.get('message')} ({how}).{hint}"
