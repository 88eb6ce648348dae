"""Arrow tables of a fitted state as Parquet, written so that a table can hardly be larger than its file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.artefact.layout import largest_content
from penstock.core.errors import ArtifactError, UnsupportedStepError, UntrustedArtifactError
from penstock.core.schemas import canonical
from penstock.io.fragments import row_bytes


def canonical_table(table: pa.Table) -> pa.Table:
    """Return a table with canonical types and no metadata: one spelling of the same values.

    Raises
    ------
    UnsupportedStepError
        A column is neither plain nor a list of plain values.

    Examples
    --------
    >>> canonical_table(pa.table({"c": pa.array(["a"]).dictionary_encode()})).schema.field("c").type
    DataType(string)
    """
    schema = canonical(table.schema)
    for field in schema:
        if not _is_plain(field.type):
            raise UnsupportedStepError(
                f"column {field.name!r} of a learned table is {field.type}, which is not stored",
                hint="Use integers, floats, strings, dates, timestamps, or lists of them.",
                column=field.name,
            )
    return table.cast(schema).replace_schema_metadata(None)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_plain(kind.value_type)
    return not (isinstance(kind, pa.BaseExtensionType) or pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind))


def write_table(table: pa.Table, path: Path) -> None:
    """Write a canonical table, plain and uncompressed, with checksums; the file is created exclusively.

    Raises
    ------
    UnsupportedStepError
        A column's type does not come back from Parquet as it was.
    """
    with open(path, "xb") as sink:
        pq.write_table(table, sink, compression="none", use_dictionary=False, store_schema=False,
                       write_statistics=False, write_page_checksum=True)  # fmt: skip
    for stored, field in zip(pq.read_schema(path), table.schema, strict=True):
        if stored.type != field.type:
            raise UnsupportedStepError(
                f"column {field.name!r} of a learned table is {field.type}, and Parquet would give back {stored.type}",
                hint="Use integers, floats, strings, dates, or timestamps in UTC.",
                column=field.name,
            )


def read_table(data: bytes, rows: int | None, path: str) -> pa.Table:
    """Return the table in the bytes of a file, checked by its footer before anything is decoded.

    Raises
    ------
    UntrustedArtifactError
        It declares other rows than the manifest, more than its size can hold, or types that no saved table has.
    ArtifactError
        It cannot be decoded.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        _check_footer(file, rows, len(data), path)
        # A thread of Arrow's that lets go of `data` while Python ends would end the process with an abort.
        table = canonical_table(file.read(use_threads=False))
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise ArtifactError(f"{path} cannot be decoded: {error}", path=path) from error
    return table


def _check_footer(file: pq.ParquetFile, rows: int | None, size: int, path: str) -> None:
    footer = file.metadata
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    declared = max(sum(group.total_byte_size for group in groups), footer.num_rows * row_bytes(file.schema_arrow))
    faults = {
        f"declares {footer.num_rows} rows, and {rows} are listed in the manifest": footer.num_rows != rows,
        "declares other rows in its row groups": footer.num_rows != sum(group.num_rows for group in groups),
        f"declares {declared} bytes of values in {size}": declared > largest_content(size),
        "carries an Arrow schema, or other metadata": bool(footer.metadata),
    }
    for fault, found in faults.items():
        if found:
            raise UntrustedArtifactError(f"{path} {fault}", path=path)
    for field in file.schema_arrow:
        if not _is_plain(field.type):
            message = f"column {field.name!r} of {path} is {field.type}: no saved table has that"
            raise UntrustedArtifactError(message, path=path)
