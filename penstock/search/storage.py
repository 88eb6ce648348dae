"""Where studies are kept: in memory, in an object of a store, or in one of Optuna's storages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import fsspec

from penstock.core.extras import importing
from penstock.core.locations import is_url, read_location
from penstock.search.dimensions import Dimensions
from penstock.search.store_log import StoreLog
from penstock.search.study import Direction
from penstock.search.trial_log import MemoryLog, TrialLog


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
