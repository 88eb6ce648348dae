"""Files that live as long as the datasets that read them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import narwhals as nw
import pyarrow as pa

from penstock.fragments import Piece
from penstock.frames import Kind
from penstock.outputs import translating
from penstock.sources.base import Source


class TemporaryFolder:
    """A new folder that is removed when nothing in this process refers to it any more, and at the end of the process.

    Only its owner may enter it. A copy that travels to a worker is a name alone and removes nothing.

    Parameters
    ----------
    parent : str or Path, optional
        Where it is made; the temporary directory of the system unless given.

    Raises
    ------
    OutputError
        It cannot be made there.

    Examples
    --------
    >>> folder = TemporaryFolder()
    >>> path = folder.path
    >>> path.is_dir()
    True
    >>> del folder
    >>> path.exists()
    False
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        with translating(parent or tempfile.gettempdir()):
            self.path = Path(tempfile.mkdtemp(prefix="penstock-", dir=parent)).absolute()
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def remove(self) -> None:
        """Remove it now; once is enough."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self.path),)


@dataclass(frozen=True)
class HeldSource:
    """A source whose files lie in a temporary folder, which it keeps from being removed."""

    source: Source
    folder: TemporaryFolder

    @property
    def schema(self) -> pa.Schema:
        """Columns and types of every frame it reads."""
        return self.source.schema

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        """Return the rows of `piece`."""
        return self.source.read(piece, columns, kind)
