"""Writes of an object that succeed only while it is the one that was read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_FAILED_PRECONDITION = 412


@dataclass(frozen=True)
class Versioned:
    """The content of an object, and what tells this version of it from all others."""

    content: bytes
    version: str


class ConditionalWrites(ABC):
    """Reads, replaces and removes single objects of one fsspec file system; errors are those of the file system.

    Parameters
    ----------
    filesystem : fsspec.AbstractFileSystem
    """

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    @abstractmethod
    def read(self, path: str) -> Versioned | None:
        """Return an object as it is now; None where there is none."""

    @abstractmethod
    def put(self, path: str, content: bytes, version: str | None) -> bool:
        """Write an object if `version` is what is there, None for nothing; return whether it was."""

    @abstractmethod
    def remove(self, path: str, version: str) -> bool:
        """Remove an object if `version` is what is there; return whether it was."""


def is_met(write: Callable[[], object], *, exists: bool) -> bool:
    """Return whether the condition of a write was met; an object that is gone meets none that says `exists`."""
    try:
        write()
    except FileExistsError:
        return False
    except Exception as error:
        if status_of(error) == _FAILED_PRECONDITION or (exists and isinstance(error, FileNotFoundError)):
            return False
        if status_of(error) == 409 and type(error).__name__ == "ResourceExistsError":  # Azure's word for a blob there
            return False
        raise
    return True


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status behind an error of s3fs, gcsfs or adlfs."""
    response = getattr(error.__cause__ or error, "response", None)
    if isinstance(response, dict):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return int(status) if status is not None else None
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return int(status) if isinstance(status, int | str) and str(status).isdigit() else None
