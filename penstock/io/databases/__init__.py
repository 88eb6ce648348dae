"""Databases, asked through ADBC: what each has for types, names and values, and how its errors are told."""

from __future__ import annotations

from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.redaction import redact
from penstock.io.databases.base import Column, Database, FileDatabase, Session
from penstock.io.databases.duckdb import Duckdb
from penstock.io.databases.postgresql import Postgresql
from penstock.io.databases.sqlite import Sqlite

__all__ = ["Column", "Database", "Session", "find_database"]

_SCHEMES: dict[str, type[Database]] = {
    "postgresql": Postgresql,
    "postgres": Postgresql,
    "sqlite": Sqlite,
    "duckdb": Duckdb,
}


def find_database(uri: str) -> Database:
    """Return the database that an URI names.

    Raises
    ------
    ConfigError
        Its scheme is not known.

    Examples
    --------
    >>> find_database("postgresql://me:hunter2@host/shop").shown
    'postgresql://me:***@host/shop'
    """
    scheme, separator, _ = str(uri).partition("://")
    kind = _SCHEMES.get(scheme) if separator else None
    if kind is None or (issubclass(kind, FileDatabase) and not uri.startswith(f"{scheme}:///")):
        raise ConfigError(
            f"uri is {redact(str(uri))!r}, expected postgresql://user:password@host/database, sqlite:///file.db or"
            f" duckdb:///file.db.{did_you_mean(scheme, _SCHEMES)}",
            hint="An absolute path of a file has four slashes: sqlite:////data/shop.db.",
        )
    return kind(uri)
