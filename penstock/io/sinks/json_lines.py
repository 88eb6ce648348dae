"""Parts in JSON lines, which `Engine.read_json_lines` reads again to the bit."""

from __future__ import annotations

import json
from dataclasses import dataclass

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import DataValueError
from penstock.io.sinks.compression import SUFFIXES, check_text_compression, open_new
from penstock.io.sinks.part_writer import PartWriter, check_types
from penstock.io.sinks.texts import TEXT, as_bytes, batches, concat, is_exact, plain_text
from penstock.io.sources.json_objects import can_hold, holds

_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(32)}
_TEXTS = (pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)


@dataclass(frozen=True)
class JsonLinesWriter(PartWriter):
    """Writes an object in a line, with every key, null where there is no value; times are strings.

    Parameters
    ----------
    compression : {"gzip", "zstd"}, optional
    """

    compression: str | None = None

    kind = "json_lines"
    suffix = ".jsonl"

    def __post_init__(self) -> None:
        check_text_compression(self.compression)
        check_types(self.schema, lambda kind: can_hold(kind) and holds(kind, is_exact), "JSON lines")

    @property
    def ending(self) -> str:
        """How the names of the parts end."""
        return self.suffix + SUFFIXES[self.compression]

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part; of no rows an empty line, since a file of no bytes is taken for one that was cut off."""
        with open_new(path, self.compression) as sink:
            for batch in batches(frame, self.schema):
                sink.write(_lines(batch))
            if not len(frame):
                sink.write(b"\n")


def _lines(batch: pa.RecordBatch) -> memoryview:
    parts: list[object] = []
    for name, values in zip(batch.schema.names, batch, strict=True):
        key = json.dumps(name, ensure_ascii=False) + ":"
        parts += ["," + key if parts else "{" + key, pc.fill_null(_value(values, name), "null")]
    return as_bytes(concat(*parts, "}\n"))


def _value(values: pa.Array, name: str) -> pa.Array:
    if pa.types.is_list(values.type):
        return _list(values, name)
    if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
        raise DataValueError(
            f"column {name!r} has an infinite number, which JSON cannot say",
            hint="Write Parquet or CSV, or leave such rows out.",
            column=name,
        )
    text = plain_text(values, name)
    return concat('"', _escaped(text), '"') if any(test(values.type) for test in _TEXTS) else text


def _escaped(text: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(text, r'["\\\x00-\x1f]')).as_py():
        return text
    for mark in ("\\", '"'):
        text = pc.replace_substring(text, mark, "\\" + mark)
    for mark, escape in _CONTROLS.items():
        text = pc.replace_substring(text, mark, escape)
    return text


def _list(values: pa.Array, name: str) -> pa.Array:
    items = pc.fill_null(_value(values.flatten(), name), "null").cast(pa.string())
    lengths = pc.fill_null(pc.list_value_length(values), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    lists = pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), items)
    text = concat("[", pc.binary_join(lists, ",").cast(TEXT), "]")
    return pc.if_else(values.is_valid(), text, pa.scalar(None, TEXT))
