"""Ways to write a table as JSON lines: keys in any order, left out where null; escaped or not; lines of either end."""

import gzip
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from arrow_values import exact
from hypothesis import strategies as st
from text_values import spell


@dataclass(frozen=True)
class JsonWriter:
    backwards: bool
    nulls: bool
    ascii: bool
    spaced: bool
    end: str
    mark: bool
    ended: bool
    blank_lines: bool
    style: int
    compressed: bool

    @property
    def name(self) -> str:
        return "a.jsonl.gz" if self.compressed else "a.jsonl"

    def write(self, table: pa.Table) -> str:
        """Return the text of a file."""
        rows = zip(*(self._column(column) for column in table.columns), strict=True)
        lines = [self._line(dict(zip(table.column_names, row, strict=True))) for row in rows]
        end = self.end * 2 if self.blank_lines else self.end
        text = end.join(lines) + (self.end if self.ended and lines else "")
        return "\ufeff" + text if self.mark else text

    def encode(self, text: str) -> bytes:
        return gzip.compress(text.encode(), mtime=0) if self.compressed else text.encode()

    def _column(self, column: pa.ChunkedArray) -> list[str | None]:
        return [None if item is None else self._value(column.type, item) for item in exact(column)]

    def _value(self, kind: pa.DataType, item: Any) -> str:
        if item is None:
            return "null"
        if pa.types.is_list(kind):
            return "[" + (", " if self.spaced else ",").join(self._value(kind.value_type, each) for each in item) + "]"
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return spell(kind, item, 0 if pa.types.is_boolean(kind) else self.style)
        return json.dumps(spell(kind, item, self.style), ensure_ascii=self.ascii)

    def _line(self, row: dict[str, str | None]) -> str:
        items = [(name, text) for name, text in row.items() if text is not None or self.nulls]
        comma, colon = (" , ", " : ") if self.spaced else (",", ":")
        members = [json.dumps(name, ensure_ascii=self.ascii) + colon + (text or "null") for name, text in items]
        return "{" + comma.join(members[::-1] if self.backwards else members) + "}"


WRITERS = st.builds(
    JsonWriter,
    backwards=st.booleans(),
    nulls=st.sampled_from([True, True, False]),
    ascii=st.booleans(),
    spaced=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    ended=st.booleans(),
    blank_lines=st.sampled_from([False, False, True]),
    style=st.integers(0, 1),
    compressed=st.sampled_from([False, False, False, True]),
)
