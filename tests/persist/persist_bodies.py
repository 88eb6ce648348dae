"""What the tests of persisted rows run on workers, which import it by name."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from penstock.io.fragments import Piece


@dataclass(frozen=True)
class LoggedSource:
    """Leaves a file for each column of each piece that is read, named by the file, the column and the process."""

    source: Any
    folder: Path

    @property
    def schema(self) -> Any:
        return self.source.schema

    @property
    def storage(self) -> Any:
        return self.source.storage

    def read(self, piece: Piece, columns: Any, kind: Any) -> Any:
        for column in columns:
            (self.folder / f"{Path(piece.path).stem} {column} {os.getpid()} {uuid4().hex}").touch()
        return self.source.read(piece, columns, kind)
