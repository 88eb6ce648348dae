"""The last complete checkpoint of a training, replaced atomically."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from penstock.io.sinks import TemporaryFolder, translating

_MAGIC = b"penstock-checkpoint-1\n"
_BODY = len(_MAGIC) + hashlib.sha256().digest_size


@dataclass(frozen=True)
class Checkpoint:
    """What a training had learned after ``rounds`` rounds."""

    rounds: int
    data: bytes


class CheckpointStore:
    """Keeps one checkpoint of one training in a directory; a reader finds the old one or the new one, never a part.

    Parameters
    ----------
    directory : path or None
        None stands for a private temporary directory that is removed at the end.
    key : str
        Which training; a checkpoint of another one is not seen.

    Examples
    --------
    >>> with CheckpointStore(None, "demo") as store:
    ...     store.save(Checkpoint(3, b"trees"))
    ...     store.load()
    Checkpoint(rounds=3, data=b'trees')
    """

    def __init__(self, directory: str | Path | None, key: str) -> None:
        self._own: TemporaryFolder | None = None
        if directory is None:
            self._own = TemporaryFolder()
            directory = self._own.path
        self._root = Path(directory)
        with translating(self._root):
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = self._root / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.checkpoint"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.remove()

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint: written aside, flushed to disk, renamed.

        Raises
        ------
        OutputError, DiskFullError
            It cannot be written.
        """
        content = f"{checkpoint.rounds}\n".encode() + checkpoint.data
        with TemporaryFolder(self._root) as folder, translating(self._path):
            aside = folder.path / self._path.name
            with open(aside, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(content).digest() + content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._path)

    def load(self) -> Checkpoint | None:
        """Return the checkpoint, or None when there is none that is whole."""
        try:
            stored = self._path.read_bytes()
        except FileNotFoundError:
            return None
        digest, content = stored[len(_MAGIC) : _BODY], stored[_BODY:]
        if not stored.startswith(_MAGIC) or hashlib.sha256(content).digest() != digest:
            return None
        rounds, _, data = content.partition(b"\n")
        return Checkpoint(int(rounds), data)

    def clear(self) -> None:
        """Forget the checkpoint: the training is complete."""
        self._path.unlink(missing_ok=True)
