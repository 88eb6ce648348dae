"""Tables that keep a log: Delta, Iceberg and Hudi. Their folders hold files of rows that are deleted by now."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.core.errors import InputError
from penstock.io.sources.folders import Folders

_ICEBERG_METADATA = re.compile(r"(v\d+|\d+-[0-9a-f-]{36})(\.gz)?\.metadata\.json(\.gz)?")
_HINTS = {
    "Delta": "Read it by its log: engine.read_delta({path!r}).",
    "Iceberg": "Read it by its metadata: engine.read_iceberg(identifier, catalog=...), or of one of the files"
    " {path}/metadata/*.metadata.json.",
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
