"""Where studies are kept: in memory, in an object of a store, or in one of Optuna's storages."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import fsspec

from penstock.core.errors import ConfigError, OutputError, PenstockError
from penstock.core.extras import importing
from penstock.core.locations import is_url, read_location
from penstock.core.notices import get_logger
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.stores.store import store_at
from penstock.search.dimensions import Dimensions
from penstock.search.fingerprints import check_same_study
from penstock.search.study import Direction, Outcome
from penstock.search.trial_log import MemoryLog, Record, TrialLog


def open_log(
    storage: str | None,
    options: Mapping[str, Any] | None,
    fingerprint: Mapping[str, str],
    direction: Direction,
    dimensions: Dimensions,
) -> TrialLog:
    """Return the log of a study: a new one, or that which is in a storage already.

    Raises
    ------
    ConfigError
        The storage has a study of another fingerprint, or is none.
    OutputError
        It cannot be written, or another process is at it.
    MissingExtraError
        Optuna, or the driver of a database or of a store, is not installed.
    """
    if storage is None:
        return MemoryLog()
    if is_in_store(storage):
        return StoreLog(storage, options, fingerprint, direction)
    with importing("Optuna", "optuna"):
        from penstock.search.with_optuna.backends import Backend
        from penstock.search.with_optuna.log import OptunaLog
    return OptunaLog(Backend(storage), fingerprint, direction, dimensions)


def is_in_store(storage: str) -> bool:
    """Return whether a study lies in a store that fsspec knows, and neither in a file nor in a database.

    Examples
    --------
    >>> [is_in_store(text) for text in ("s3://bucket/a", "file:///a.db", "a.db", "postgresql+psycopg://host/db")]
    [True, False, False, False]
    """
    text = read_location(storage, "study")
    protocol = text.partition("://")[0].rpartition("::")[2].lower()
    return is_url(text) and (protocol in fsspec.available_protocols() or protocol in fsspec.registry)


logger = get_logger(__name__)

_FORMAT = "penstock-study-1"

_open: set[str] = set()
"""The tokens of the studies that are open in this process."""


class StoreLog:
    """Records of a study that other processes find again, in one JSON document.

    It is replaced at every write, on the condition that it is the one that was written here last: of two searches the
    one that opened the study first is refused at its next write, and nothing of either is mixed. One of this host that
    still runs is not taken over: the second is refused when it opens the study.

    Parameters
    ----------
    url : str
    options : mapping or None
        Passed to fsspec; never shown in a message.
    fingerprint : mapping of str to str
    direction : {"maximize", "minimize"}

    Raises
    ------
    ConfigError
        What lies there is no study, or one of another search; tells what differs.
    OutputError
        The store refused, or another process is at the study; by `append` and `complete` too.
    """

    def __init__(
        self, url: str, options: Mapping[str, Any] | None, fingerprint: Mapping[str, str], direction: Direction
    ) -> None:
        self._store = store_at(url, options)
        self._shown = self._store.show(self._store.path)
        self._fingerprint = {**fingerprint, "direction": direction}
        found = self._store.read(self._store.path)
        self._written = found.content if found else None
        self.records: list[Record] = []
        if self._written is not None:
            document = self._document(self._written)
            check_same_study(self._shown, document["fingerprint"], self._fingerprint)
            self._refuse_owner(document["owner"])
            self.records = [_decode(record) for record in document["records"]]
        self._token = secrets.token_hex(8)
        self._write(self.records)
        _open.add(self._token)

    def append(self, records: Sequence[Record]) -> None:
        self._write([*self.records, *records])

    def complete(self, record: Record) -> None:
        self._write([record if each.number == record.number else each for each in self.records])

    def close(self) -> None:
        """Say that nobody is at the study."""
        if self._token not in _open:
            return
        _open.remove(self._token)
        try:
            self._write(self.records, owned=False)
        except PenstockError as error:
            logger.warning("cannot say that the study %s is let go of: %s", self._shown, error)

    def _write(self, records: list[Record], *, owned: bool = True) -> None:
        owner = {"process": Owner.here().encode().decode(), "token": self._token} if owned else None
        fields = {"format": _FORMAT, "fingerprint": self._fingerprint, "owner": owner}
        content = json.dumps({**fields, "records": [asdict(record) for record in records]}, default=_plain).encode()
        there = self._store.read(self._store.path)
        is_last = (there.content if there else None) == self._written
        if not is_last or not self._store.replace(self._store.path, content, there.version if there else None):
            raise OutputError(
                f"another process has taken over the study {self._shown}",
                hint="One process at a time runs a study; the other one goes on with it.",
                path=self._shown,
            )
        self._written, self.records = content, records

    def _document(self, content: bytes) -> dict[str, Any]:
        try:
            document = json.loads(content)
        except ValueError:
            document = None
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise ConfigError(f"the study {self._shown} is none of Penstock's", hint="Give another place.")
        return document

    def _refuse_owner(self, owner: Mapping[str, str] | None) -> None:
        process = Owner.decode(owner["process"].encode()) if owner else None
        if owner is None or process is None or not process.is_here() or not process.is_alive():
            return
        if process.pid != os.getpid() or owner["token"] in _open:
            raise OutputError(
                f"another process is at the study {self._shown}",
                hint="One process at a time runs a study: wait for the other, or give another place.",
                path=self._shown,
            )


def _plain(value: Any) -> Any:
    """Return a number of NumPy's as one of Python's, and a mapping as a dict."""
    return dict(value) if isinstance(value, Mapping) else value.item()


def _decode(stored: Mapping[str, Any]) -> Record:
    outcome = stored["outcome"]
    steps = {int(step): value for step, value in stored["steps"].items()}
    return Record(**{**stored, "steps": steps, "outcome": None if outcome is None else Outcome(**outcome)})
