"""Tables as other libraries write them; what only other writers make, deletion vectors say, is put into the logs."""

import base64
import datetime as dt
import json
import struct
import uuid
import zlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

UTC = dt.UTC
CITIES = ["São Paulo", "a/b=c%25", "x y", None, "__HIVE_DEFAULT_PARTITION__x", "'\"?#&"]
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def rows_of_all_types(rows: int, first: int = 0) -> pa.Table:
    """Return rows of every type that both kinds of table have, with nulls; ``id`` tells them apart."""
    ids = range(first, first + rows)
    start = dt.datetime(2024, 2, 28, 23, 59, 59, 999999, UTC)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "small": pa.array([None if i % 5 == 0 else i for i in ids], pa.int32()),
            "ratio": pa.array([None if i % 7 == 0 else i / 3 for i in ids], pa.float64()),
            "short": pa.array([i / 4 for i in ids], pa.float32()),
            "ok": pa.array([None if i % 3 == 0 else i % 2 == 0 for i in ids], pa.bool_()),
            "text": pa.array([None if i % 4 == 0 else f"tëxt {i}" for i in ids], pa.string()),
            "raw": pa.array([bytes([i % 256, 0]) for i in ids], pa.binary()),
            "day": pa.array([dt.date(2024, 1, 1 + i % 3) if i % 6 else None for i in ids], pa.date32()),
            "at": pa.array([start + dt.timedelta(microseconds=i) for i in ids], pa.timestamp("us", "UTC")),
            "local": pa.array([start.replace(tzinfo=None)] * rows, pa.timestamp("us")),
            "price": pa.array([Decimal(i) / 4 for i in ids], pa.decimal128(12, 2)),
            "tags": pa.array([[str(i), None] if i % 2 else None for i in ids], pa.list_(pa.string())),
            "place": pa.array(
                [{"x": i, "y": [i / 2]} if i % 3 else None for i in ids],
                pa.struct([("x", pa.int64()), ("y", pa.list_(pa.float64()))]),
            ),
            "city": pa.array([CITIES[i % len(CITIES)] for i in ids], pa.string()),
        }
    )


def assert_same_rows(ours: pa.Table, theirs: pa.Table, key: str = "id") -> None:
    """Compare two tables by column, to the bit, in the order of a key and with one spelling of types."""
    theirs = theirs.select(ours.column_names).cast(ours.schema)
    assert ours.sort_by(key).combine_chunks() == theirs.sort_by(key).combine_chunks()


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    """Write a version of the log of a Delta table."""
    info = {"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "TEST"}}
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, (info, *actions))))


def added(table: Path, version: int = 0) -> list[dict[str, Any]]:
    """Return the add actions of a version of the log."""
    lines = (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def deletion_vector(table: Path, rows: list[int], *, inline: bool) -> dict[str, Any]:
    """Return what an add action says of deleted rows, by the protocol of Delta; not inline they lie in a file."""
    from pyroaring import BitMap64

    content = struct.pack("<I", 1681511377) + bytes(BitMap64(rows).serialize())
    said = {"sizeInBytes": len(content), "cardinality": len(rows)}
    if inline:
        return {"storageType": "i", "pathOrInlineDv": _z85(content), **said}
    name = uuid.uuid4()
    framed = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
    (table / f"deletion_vector_{name}.bin").write_bytes(b"\x01" + framed)
    return {"storageType": "u", "pathOrInlineDv": _z85(name.bytes), "offset": 1, **said}


def _z85(content: bytes) -> str:
    padded = content + b"\0" * (-len(content) % 4)
    return base64.b85encode(padded).decode().translate(str.maketrans(B85, Z85))


def delete_rows(table: Path, version: int, deleted: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Commit a version in which files have the deletion vectors that `deleted` gives for their add actions."""
    actions = []
    for add in added(table):
        if (vector := deleted(add)) is not None:
            removed = {key: add[key] for key in ("path", "partitionValues", "size")}
            actions.append({"remove": {**removed, "deletionTimestamp": 1, "dataChange": True}})
            actions.append({"add": {**add, "deletionVector": vector}})
    commit(table, version, *actions)


def write_delta(*arguments: Any, **options: Any) -> None:
    """Write a table as deltalake does."""
    import deltalake

    deltalake.write_deltalake(*arguments, **options)


def delta_table(path: str | Path, **version: Any) -> Any:
    """Open a table as deltalake does."""
    import deltalake

    return deltalake.DeltaTable(path, **version)
