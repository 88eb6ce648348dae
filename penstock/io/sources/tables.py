"""Tables that keep a log: Delta, Iceberg and Hudi. Their folders hold files of rows that are deleted by now."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.core.errors import InputError
from penstock.io.sources.folders import Folders

_ICEBERG_METADATA = re.compile(r"(v\d+|\d+-[0-9a-f-]{36})(\.gz)?\.metadata\.json(\.gz)?")
_HINTS = {
    "Delta": "Read the files of its newest version: engine.read_parquet(deltalake.DeltaTable({path!r}).file_uris());"
    " right where it has no deletion vectors, and without the columns that it is partitioned by.",
    "Iceberg": "Read the files of its snapshot: engine.read_parquet([task.file.file_path for task in"
    " table.scan().plan_files()]), with the table as pyiceberg loads it; right where it has no delete files.",
    "Hudi": "Pass a list of the base files of its newest file slices, as Hudi's own reader names them.",
}


def refuse_tables(folders: Iterable[str], look: Folders) -> None:
    """Raise InputError for a folder of files that belongs to a table, of which only its log says what is in it.

    Examples
    --------
    >>> refuse_tables(["/"], Folders("/"))
    """
    seen = set()
    for folder in folders:
        for place in (folder, *look.above(folder)):
            if place in seen:
                break
            seen.add(place)
            if (kind := _kind(place, look)) is not None:
                raise _refusal(look.show(place), kind)


def _kind(folder: str, look: Folders) -> str | None:
    if look.holds(folder, "_delta_log"):
        return "Delta"
    if look.holds(folder, ".hoodie"):
        return "Hudi"
    if look.holds(folder, "metadata") and any(map(_ICEBERG_METADATA.fullmatch, look.names(f"{folder}/metadata"))):
        return "Iceberg"
    return None


def _refusal(folder: str, kind: str) -> InputError:
    return InputError(
        f"{folder} is a table of {kind}: its files also hold rows that were deleted or replaced, and its log alone says"
        " which files and rows are in the table",
        hint=_HINTS[kind].format(path=folder),
        path=folder,
    )
