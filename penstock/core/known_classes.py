"""Classes of score columns in the metadata of a schema, in the order of the scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa

_KEY = b"penstock.classes"


def with_classes(schema: pa.Schema, names: Collection[str], classes: Sequence[Any]) -> pa.Schema:
    """Return `schema` with the classes of columns of scores noted; none where they are still to be learned.

    Examples
    --------
    >>> schema = pa.schema({"probability": pa.float64(), "label": pa.string()})
    >>> noted = with_classes(schema, ["probability"], ["no", "yes"])
    >>> noted == schema, classes_of_scores(noted, "probability"), classes_of_scores(noted, "label")
    (True, ('no', 'yes'), None)
    """
    noted = {_KEY: json.dumps(list(classes))}
    return pa.schema([field.with_metadata(noted) if field.name in names else field for field in schema])


def note_of(fields: Iterable[pa.Field]) -> dict[bytes, bytes] | None:
    """Return the classes that all of these columns note, as the metadata of a field; None where they do not agree."""
    noted = {dict(field.metadata or {}).get(_KEY) for field in fields}
    first = noted.pop() if len(noted) == 1 else None
    return None if first is None else {_KEY: first}


def classes_of_scores(schema: pa.Schema, name: str) -> tuple[Any, ...] | None:
    """Return the classes that are noted of a column; None where there is no such note, or no such column."""
    noted = note_of([schema.field(name)]) if name in schema.names else None
    return None if noted is None else tuple(json.loads(noted[_KEY]))
