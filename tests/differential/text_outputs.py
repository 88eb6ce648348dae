"""Text that Penstock writes: how it is asked for, how it is read again, and what it can say."""

import math
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class TextOutput:
    format: str
    writing: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)

    def writable(self, table: pa.Table) -> pa.Table:
        """Return a table with null for what the text cannot say: NUL in CSV, infinity in JSON."""
        columns = [pa.array(map(self._writable, column.to_pylist()), column.type) for column in table.columns]
        whole = [self._is_touched(column.type) for column in table.columns]
        pairs = zip(columns, table.columns, whole, strict=True)
        return pa.table([new if touched else old for new, old, touched in pairs], table.column_names)

    def _is_touched(self, kind: pa.DataType) -> bool:
        inner = kind.value_type if pa.types.is_list(kind) else kind
        return pa.types.is_string(inner) if self.format == "csv" else pa.types.is_floating(inner)

    def _writable(self, item: Any) -> Any:
        if isinstance(item, list):
            return [self._writable(each) for each in item]
        if isinstance(item, str):
            return None if "\0" in item else item
        return None if isinstance(item, float) and math.isinf(item) else item


CSV = TextOutput("csv", {"null_value": "\\N"}, {"null_values": ["\\N"]})
SEMICOLONS = TextOutput("csv", {"delimiter": ";", "null_value": "NULL?"}, {"delimiter": ";", "null_values": ["NULL?"]})
JSON_LINES = TextOutput("json_lines")
