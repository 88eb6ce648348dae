"""The last complete checkpoint of a training, replaced atomically: on a disk or in a store.

A fingerprint binds a checkpoint to its training: another is not resumed from it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from penstock.core.locations import is_url
from penstock.core.plain_files import read_plain
from penstock.dataset.steps import history
from penstock.io.fragments import Piece
from penstock.io.sinks import TemporaryFolder, translating
from penstock.io.sinks.stores.store import store_at
from penstock.spmd.options import SpmdOptions

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.spmd.assignment import Body

_MAGIC = b"penstock-checkpoint-2\n"
_BODY = len(_MAGIC) + hashlib.sha256().digest_size


@dataclass(frozen=True)
class Checkpoint:
    """What a training had learned after ``rounds`` rounds."""

    rounds: int
    data: bytes

    def encode(self, name: str) -> bytes:
        """Return it as bytes that tell whether they are whole, and stored under this name."""
        content = f"{self.rounds}\n".encode() + self.data
        return _head(name, content) + content

    @classmethod
    def decode(cls, stored: bytes, name: str) -> Checkpoint | None:
        """Return what `encode` made bytes of; None for what is not whole, or of another name."""
        content = stored[_BODY:]
        if stored[:_BODY] != _head(name, content):
            return None
        rounds, _, data = content.partition(b"\n")
        return cls(int(rounds), data)


def _head(name: str, content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(f"{name}\n".encode() + content).digest()


class CheckpointStore:
    """Keeps one checkpoint of one training in a directory; a reader finds the old one or the new one, never a part.

    Parameters
    ----------
    directory : path, URL or None
        None stands for a private temporary directory that is removed at the end.
    key : str
        Which training; a checkpoint of another one is not seen.
    options : mapping, optional
        Passed to fsspec for a URL; never shown in a message.

    Raises
    ------
    OutputError, DiskFullError
        By all methods: it cannot be read or written.

    Examples
    --------
    >>> with CheckpointStore(None, "demo") as store:
    ...     store.save(Checkpoint(3, b"trees"))
    ...     store.load()
    Checkpoint(rounds=3, data=b'trees')
    >>> store = CheckpointStore("memory://doc/checkpoints", "demo")
    >>> store.save(Checkpoint(3, b"trees"))
    >>> CheckpointStore("memory://doc/checkpoints", "demo").load()
    Checkpoint(rounds=3, data=b'trees')
    >>> store.clear()
    """

    def __init__(self, directory: str | Path | None, key: str, options: Mapping[str, Any] | None = None) -> None:
        self._own = TemporaryFolder() if directory is None else None
        name = f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.checkpoint"
        place = str(directory) if self._own is None else str(self._own.path)
        self._kept: CheckpointFile | CheckpointObjects
        if is_url(place):
            self._kept = CheckpointObjects(place, name, options)
        else:
            self._kept = CheckpointFile(Path(place), name)

    @property
    def is_private(self) -> bool:
        """Whether what is saved ends with the run."""
        return self._own is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.remove()

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint."""
        self._kept.save(checkpoint)

    def load(self) -> Checkpoint | None:
        """Return the checkpoint, or None when there is none that is whole."""
        return self._kept.load()

    def clear(self) -> None:
        """Forget the checkpoint: the training is complete."""
        self._kept.clear()


class CheckpointFile:
    """A checkpoint as a file, which is written aside, flushed to disk, renamed."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._path = folder, folder / name
        with translating(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def save(self, checkpoint: Checkpoint) -> None:
        with TemporaryFolder(self._folder) as folder, translating(self._path):
            aside = folder.path / self._path.name
            with open(aside, "wb") as file:
                file.write(checkpoint.encode(self._path.name))
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._path)

    def load(self) -> Checkpoint | None:
        try:
            return Checkpoint.decode(read_plain(self._path), self._path.name)
        except FileNotFoundError:
            return None

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


class CheckpointObjects:
    """A checkpoint as two objects of a store, written in turn: one is whole whenever the other was cut off."""

    def __init__(self, url: str, name: str, options: Mapping[str, Any] | None) -> None:
        self._name = name
        self._store = store_at(f"{url.rstrip('/')}/{name}", options)
        self._paths = [f"{self._store.path}-{number}" for number in range(2)]
        self._next = 0

    def save(self, checkpoint: Checkpoint) -> None:
        self._store.put(self._paths[self._next], checkpoint.encode(self._name))
        self._next = 1 - self._next

    def load(self) -> Checkpoint | None:
        found = dict(self._whole())
        if not found:
            return None
        last = max(found, key=lambda number: found[number].rounds)
        self._next = 1 - last
        return found[last]

    def _whole(self) -> Iterator[tuple[int, Checkpoint]]:
        for number, path in enumerate(self._paths):
            stored = self._store.read(path)
            if stored is not None and (checkpoint := Checkpoint.decode(stored.content, self._name)) is not None:
                yield number, checkpoint

    def clear(self) -> None:
        self._store.discard(self._paths)


def checkpoint_store(
    options: SpmdOptions, body: Body, datasets: Mapping[str, Dataset], size: int | None
) -> CheckpointStore:
    """Return where the checkpoints of one training are kept; those of others, in the same directory, are not seen."""
    key = "" if options.checkpoint_dir is None else fingerprint(body, datasets, size)
    return CheckpointStore(options.checkpoint_dir, key, options.storage_options)


def fingerprint(body: Body, datasets: Mapping[str, Dataset], size: int | None) -> str:
    """Return a text that differs between trainings: of what, on which rows, after which steps, on how many ranks.

    Without a size, which is that of a training whose ranks become more, it is of any number.
    """
    return repr((body, {name: _rows(dataset) for name, dataset in datasets.items()}, size))


def _rows(dataset: Dataset) -> tuple[Any, ...]:
    pieces = [_identity(piece) for fragment in dataset.fragments for piece in fragment.pieces]
    return history(dataset.steps), dataset.reader.samples, pieces


def _identity(piece: Piece) -> tuple[Any, ...]:
    """Return what tells the rows of a piece from others: the file as it was planned, or the values themselves."""
    if piece.table is None:
        deleted = hashlib.sha256(piece.left_out).hexdigest()
        return piece.path, piece.size, piece.mtime, piece.first, piece.rows, deleted
    return table_digest(piece.table), piece.first, piece.rows


def table_digest(table: pa.Table) -> str:
    """Return the digest of a table's schema and values."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()
