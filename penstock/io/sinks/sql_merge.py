"""Rows of a table that others take the place of, by keys; a null is a key like others."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.errors import DataValueError
from penstock.io.databases import Session


def check_keys(session: Session, staging: str, keys: Sequence[str], names: Sequence[str]) -> None:
    """Raise DataValueError for a key that stands twice among the rows."""
    by = ", ".join(keys)
    twice = session.fetch(f"SELECT {by}, COUNT(*) FROM {staging} GROUP BY {by} HAVING COUNT(*) > 1 LIMIT 1")
    if twice.num_rows:
        *key, count = (column[0].as_py() for column in twice.columns)
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(names, key, strict=True))
        raise DataValueError(
            f"{count} rows have the key {shown}, and one can take the place of another's",
            hint="Choose one of them before: data.unique(...), or an aggregate.",
            column=names[0],
        )


def delete_matches(target: str, staging: str, keys: Sequence[str]) -> list[str]:
    """Return the statements that delete rows whose keys stand in the staging table.

    Keys without a null are compared by equality, for which a database hashes; the few others one by one.

    Examples
    --------
    >>> for statement in delete_matches("t", "s", ["k"]): print(statement)
    DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.k = t.k)
    DELETE FROM t WHERE (t.k IS NULL) AND EXISTS (SELECT 1 FROM s WHERE (s.k = t.k OR (s.k IS NULL AND t.k IS NULL)))
    """
    equal = " AND ".join(f"{staging}.{key} = {target}.{key}" for key in keys)
    null = " OR ".join(f"{target}.{key} IS NULL" for key in keys)
    same = " AND ".join(
        f"({staging}.{key} = {target}.{key} OR ({staging}.{key} IS NULL AND {target}.{key} IS NULL))" for key in keys
    )
    return [
        f"DELETE FROM {target} WHERE EXISTS (SELECT 1 FROM {staging} WHERE {equal})",
        f"DELETE FROM {target} WHERE ({null}) AND EXISTS (SELECT 1 FROM {staging} WHERE {same})",
    ]
