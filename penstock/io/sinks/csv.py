"""Parts in CSV, which `Engine.read_csv` reads again to the bit."""

from __future__ import annotations

import re
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import ConfigError, DataValueError
from penstock.io.sinks.compression import SUFFIXES, check_text_compression, open_new
from penstock.io.sinks.part_writer import PartWriter, check_types
from penstock.io.sinks.strict_json import Json
from penstock.io.sinks.texts import TEXT, as_bytes, batches, concat, is_exact, plain_text
from penstock.io.sources.csv_dialect import Dialect, can_hold


@dataclass(frozen=True)
class CsvWriter(PartWriter):
    r"""Writes a header and a record in a line; fields that need it are in double quotes, and lines end at ``\n``.

    Parameters
    ----------
    delimiter : str
        One ASCII character.
    null_value : str
        What is written for null; no text may be spelled so. With the empty one, an empty string is refused, since it
        would be read as null: pass ``null_value="\\N"`` here, and ``null_values=["\\N"]`` to `Engine.read_csv`.
    compression : {"gzip", "zstd"}, optional
    """

    delimiter: str = ","
    null_value: str = ""
    compression: str | None = None

    kind = "csv"
    suffix = ".csv"

    def __post_init__(self) -> None:
        Dialect(self.delimiter)
        check_text_compression(self.compression)
        if re.search(self._special, self.null_value) or "\0" in self.null_value:
            raise ConfigError(f"null_value is {self.null_value!r}, expected a text that needs no quotes")
        check_types(self.schema, lambda kind: is_exact(kind) and can_hold(kind), "CSV")

    @property
    def ending(self) -> str:
        """How the names of the parts end."""
        return self.suffix + SUFFIXES[self.compression]

    @property
    def reading(self) -> dict[str, Json]:
        """The options of `Engine.read_csv` that read what was written."""
        return {"delimiter": self.delimiter, "null_values": [self.null_value]}

    @property
    def _special(self) -> str:
        return f'["\r\n\ufeff{re.escape(self.delimiter)}]'

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part."""
        names = self._quoted(pa.array(self.schema.names, TEXT), alone=False).to_pylist()
        with open_new(path, self.compression) as sink:
            sink.write((self.delimiter.join(names) + "\n").encode())
            for batch in batches(frame, self.schema):
                sink.write(self._records(batch))

    def _records(self, batch: pa.RecordBatch) -> memoryview:
        alone = batch.num_columns == 1
        fields = [self._field(values, name, alone) for name, values in zip(batch.schema.names, batch, strict=True)]
        return as_bytes(concat(pc.binary_join_element_wise(*fields, pa.scalar(self.delimiter, TEXT)), "\n"))

    def _field(self, values: pa.Array, name: str, alone: bool) -> pa.Array:
        text = plain_text(values, name)
        self._check(text, name, pa.types.is_string(values.type))
        # of one column, a line that is empty would be no record
        null = '""' if alone and not self.null_value else self.null_value
        return pc.fill_null(self._quoted(text, alone) if pa.types.is_string(values.type) else text, null)

    def _check(self, text: pa.Array, name: str, is_string: bool) -> None:
        if pc.any(pc.equal(text, self.null_value)).as_py():
            raise DataValueError(
                f"column {name!r} has the text {self.null_value!r}, which would be read as null",
                hint=r'Pass another null_value, "\\N" say, and read with null_values=["\\N"].',
                column=name,
                predicate=nw.col(name) == self.null_value if is_string else None,
            )
        if is_string and pc.any(pc.match_substring(text, "\0")).as_py():
            raise DataValueError(
                f"column {name!r} has a NUL character, which CSV cannot hold",
                hint="Write Parquet.",
                column=name,
                predicate=nw.col(name).str.contains("\0", literal=True),
            )

    def _quoted(self, text: pa.Array, alone: bool) -> pa.Array:
        needed = pc.match_substring_regex(text, self._special)
        needed = pc.or_(needed, pc.equal(text, "")) if alone else needed
        if not pc.any(needed).as_py():
            return text
        return pc.if_else(needed, concat('"', pc.replace_substring(text, '"', '""'), '"'), text)
