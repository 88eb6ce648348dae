"""Options of what a format writes, as texts of the command line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model

from penstock.config.settings import read_assignments
from penstock.core.errors import ConfigError
from penstock.io.formats import find_format

_OPTION = "--out-option"


def read_out_options(assignments: Sequence[str], format: str, taken: Collection[str]) -> dict[str, Any]:
    """Return options of a writer from texts ``name=value``, in the types that it has for them.

    Parameters
    ----------
    assignments : sequence of str
    format : str
    taken : collection of str
        What has an option of its own.

    Raises
    ------
    ConfigError
        A text is no assignment, or names what has an option of its own.

    Examples
    --------
    >>> read_out_options(["compression_level=3"], "parquet", []), read_out_options(["delimiter=;"], "csv", [])
    ({'compression_level': 3}, {'delimiter': ';'})
    """
    values = read_assignments(assignments, _types_of(format), _OPTION).values
    for name in values:
        if name in taken:
            raise ConfigError(f"{_OPTION} {name}=... is an option of its own", hint=f"--{name.replace('_', '-')}")
    return values


def _types_of(format: str) -> type[BaseModel]:
    writer = find_format(format).writer
    hints = get_type_hints(writer) if writer is not None else {}
    kinds: dict[str, Any] = {name: (kind, None) for name, kind in hints.items() if name != "schema"}
    return create_model("Options", __config__={"arbitrary_types_allowed": True}, **kinds)
