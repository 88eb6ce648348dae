"""Sources whose files live as long as the datasets that read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock.frames import Kind
from penstock.io.fragments import Piece
from penstock.io.sinks import TemporaryFolder
from penstock.io.sources.base import Source


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
