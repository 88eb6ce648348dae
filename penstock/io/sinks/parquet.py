"""Parts in Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.io.sinks.part_writer import PartWriter


@dataclass(frozen=True)
class ParquetWriter(PartWriter):
    """Writes Parquet, zstd; without a schema in the types that the frame has."""

    schema: pa.Schema | None

    kind: ClassVar[str] = "parquet"
    suffix: ClassVar[str] = ".parquet"

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part."""
        frames.write_parquet(frame, path, self.schema)
