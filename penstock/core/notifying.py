"""Notifying people by a webhook or a command: within a limit for the whole, and without anything left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread


def post(url: str, body: bytes, seconds: float) -> None:
    """Send JSON to a webhook; raises where it has not answered in time, or answers with an error."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    request = Request(url, data=body, headers={"Content-Type": "application/json"}, method="POST")
    failed: list[Exception] = []

    def send() -> None:
        try:
            with urlopen(request, timeout=seconds):  # it raises where the answer is an error
                pass
        except Exception as error:
            if isinstance(error, HTTPError):  # which is the answer too, and has its connection
                error.close()
            failed.append(error)

    # The limit of urlopen is one for each read, and names are looked up without any.
    thread = Thread(target=send, name="webhook", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"the webhook has not answered within {seconds:g} s")
    if failed:
        raise failed[0]


def run_command(words: Sequence[str], body: bytes, seconds: float) -> None:
    """Run a program with `body` on its stdin; raises where it fails, or takes too long, and ends its children too."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            process.communicate(body, timeout=seconds)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(words))
