"""Databases by the schemes of their URIs."""

from __future__ import annotations

from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.redaction import redact
from penstock.io.databases.base import Database
from penstock.io.databases.postgresql import Postgresql
from penstock.io.databases.sqlite import Sqlite

_SCHEMES: dict[str, type[Database]] = {"postgresql": Postgresql, "postgres": Postgresql, "sqlite": Sqlite}


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
    if not separator or scheme not in _SCHEMES or (scheme == "sqlite" and not uri.startswith("sqlite:///")):
        raise ConfigError(
            f"uri is {redact(str(uri))!r}, expected postgresql://user:password@host/database or"
            f" sqlite:///file.db.{did_you_mean(scheme, _SCHEMES)}",
            hint="An absolute path of SQLite has four slashes: sqlite:////data/shop.db.",
        )
    return _SCHEMES[scheme](uri)
