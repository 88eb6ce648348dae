"""The last complete checkpoint of a training, replaced atomically."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_MAGIC = b"penstock-checkpoint-1\n"


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
        self._own = directory is None
        self._root = Path(tempfile.mkdtemp(prefix="penstock-") if directory is None else directory)
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = self._root / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.checkpoint"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._own:
            shutil.rmtree(self._root, ignore_errors=True)

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint: written aside, flushed to disk, renamed."""
        aside = self._path.with_suffix(f".{os.getpid()}.tmp")
        digest = hashlib.sha256(checkpoint.data).hexdigest()
        with open(aside, "wb") as file:
            file.write(_MAGIC + f"{checkpoint.rounds} {digest}\n".encode() + checkpoint.data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self._path)

    def load(self) -> Checkpoint | None:
        """Return the checkpoint, or None when there is none that is whole."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        header, _, data = content.removeprefix(_MAGIC).partition(b"\n")
        rounds, _, digest = header.decode(errors="replace").partition(" ")
        if not content.startswith(_MAGIC) or hashlib.sha256(data).hexdigest() != digest:
            return None
        return Checkpoint(int(rounds), data)

    def clear(self) -> None:
        """Forget the checkpoint: the training is complete."""
        self._path.unlink(missing_ok=True)
