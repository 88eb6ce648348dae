"""libsvm: a label and a sparse vector in a line, parsed once when planned, for row counts and for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

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

    filler = b" "
    repair = "Repair the line."
    form = "A line is: label index:value index:value ...; max_bad_records sets others aside."

    def read_header(self, file: InputFile) -> tuple[tuple[str, ...], int, RecordEnds | None]:
        """Return the columns of a file: with queries where its first line has one."""
        head, begin = read_head(self.storage, file, "a file of libsvm lines")
        return tuple(name for name in TYPES if name != QID or has_qid(head)), begin, None

    def _lines(self, names: Sequence[str]) -> Lines:
        return Lines(QID in names, self.zero_based, self.num_features)

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types`, numbers nearest to their digits; ArrowInvalid for a line not of the form."""
        table = self._lines(names).parse(data)
        return table.select(list(types)).cast(pa.schema(list(types.items())))

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Return the rows of a range; all types are known."""
        return self.count_rows(data, item.names), {}

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

    def describe_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return what a line has that it should not, with the line."""
        fault = self.find_fault(record, names)
        return None if fault is None else f" has {fault}: {shorten_text(record.decode().strip())}"

    def read_value(self, record: bytes, names: Sequence[str], column: str) -> tuple[str, str]:
        """Return a line: its values stand in no place of their own."""
        text = record.decode().strip()
        return shorten_text(text), text
