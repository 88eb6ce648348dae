"""Parts in Parquet."""

from __future__ import annotations

from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import check_one_of
from penstock.io.sinks.compression import check_level
from penstock.io.sinks.part_writer import PartWriter


@dataclass(frozen=True)
class ParquetWriter(PartWriter):
    """Writes Parquet; without a schema in the types that the frame has.

    Parameters
    ----------
    compression : {"zstd", "snappy", "gzip", "none"}
    compression_level : int, optional
        Of ``"zstd"`` 1 to 22, 1 unless given, and of ``"gzip"`` 0 to 9, 6 unless given.
    """

    schema: pa.Schema | None
    compression: str = "zstd"
    compression_level: int | None = None

    kind = "parquet"
    suffix = ".parquet"

    def __post_init__(self) -> None:
        check_one_of("compression", self.compression, ("zstd", "snappy", "gzip", "none"))
        check_level(self.compression, self.compression_level)

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part."""
        frames.write_parquet(
            frame, path, self.schema, compression=self.compression, compression_level=self.compression_level
        )
