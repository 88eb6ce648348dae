"""libsvm: a label and a sparse vector in a line, parsed once when planned, for row counts and for what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from penstock.core.errors import BadRowsError
from penstock.frames import sparse
from penstock.io.sources.files import InputFile
from penstock.io.sources.inference import Guess
from penstock.io.sources.libsvm_lines import Lines, has_qid
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import Range, read_head
from penstock.io.sources.text import TextSource, shorten_text

QID = "qid"
TYPES = {"label": pa.float64(), QID: pa.int64(), **sparse.fields(["features"])}


@dataclass(frozen=True)
class LibsvmSource(TextSource):
    """Pieces of libsvm files; see `penstock.io.formats.libsvm`."""

    zero_based: bool = False
    num_features: int | None = None

    filler: ClassVar[bytes] = b" "
    repair: ClassVar[str] = "Repair the line."

    def read_header(self, file: InputFile) -> tuple[tuple[str, ...], int, RecordEnds | None]:
        """Return the columns of a file: with queries where its first line has one."""
        head, begin = read_head(self.storage, file, "a file of libsvm lines")
        return tuple(name for name in TYPES if name != QID or has_qid(head)), begin, None

    def _lines(self, names: Sequence[str]) -> Lines:
        return Lines(QID in names, self.zero_based, self.num_features)

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types`; ArrowInvalid for a line that is not of the form."""
        table = self._lines(names).parse(data)
        return table.select(list(types)).cast(pa.schema(list(types.items())))

    def parse_exactly(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Parse; numbers are those nearest to their digits."""
        return self.parse(data, names, types)

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Return the rows of a range; all types are known."""
        return self.count_rows(data, item.names), {}

    def find_ends(self, data: bytes) -> list[int]:
        """Return where the lines of a text end, but for one at its end that has no line end."""
        return [newline.end() for newline in re.finditer(b"\n", data)]

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of lines that are rows; ArrowInvalid for one that is not of the form."""
        return int(self._lines(names).parse(data).num_rows)

    def find_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return what a line has that it should not."""
        try:
            self.count_rows(record, names)
        except pa.ArrowInvalid as error:
            return str(error)
        return None

    def refuse(self, record: bytes, item: Range, place: str) -> BadRowsError | None:
        """Return the error for a line that is not of the form."""
        fault = self.find_fault(record, item.names)
        if fault is None:
            return None
        return BadRowsError(
            f"{place} has {fault}: {shorten_text(record.decode().strip())}",
            hint="A line is: label index:value index:value ...; max_bad_records sets others aside.",
            path=item.file.path,
        )

    def read_value(self, record: bytes, names: Sequence[str], column: str) -> tuple[str, str]:
        """Return a line: its values stand in no place of their own."""
        text = record.decode().strip()
        return shorten_text(text), text
