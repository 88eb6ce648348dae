"""Names of columns: which ones Penstock keeps for columns that it adds to frames itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.errors import SchemaError

ROW = "__row__"
"""The column of row numbers in the dataset (int64), present only where a step asks for it."""
FOLD = "__fold__"
REPLICATE = "__replicate__"
PARTITION = "__partition__"

RESERVED = {
    ROW: "row numbers",
    FOLD: "the fold of each row",
    REPLICATE: "how often each row is drawn",
    PARTITION: "the partition that each row is sorted into",
}


_PATTERN = re.compile(r"\*|\^.*\$", re.DOTALL)
"""Names that Polars reads as all columns, or as a regular expression for columns."""


def check_names(names: Iterable[str], where: str, *, path: str | None = None, stage: str | None = None) -> None:
    """Raise SchemaError for a column that cannot go by its name; `where` says in words what has it.

    Examples
    --------
    >>> check_names(["row", "__row__"], "the table")
    Traceback (most recent call last):
    penstock.errors.SchemaError: the table has a column '__row__', the name that Penstock keeps for row numbers
      Hint: Rename the column; any other name will do.
    """
    names = list(names)
    odd = next((name for name in names if _PATTERN.fullmatch(name) or "\0" in name), None)
    if odd is not None:
        raise SchemaError(
            f"{where} has a column {odd!r}, which dataframe libraries take for a pattern, or cut at its NUL",
            hint="Rename the column; any other name will do.",
            path=path,
            column=odd,
            stage=stage,
        )
    taken = RESERVED.keys() & set(names)
    if taken:
        name = min(taken)
        raise SchemaError(
            f"{where} has a column {name!r}, the name that Penstock keeps for {RESERVED[name]}",
            hint="Rename the column; any other name will do.",
            path=path,
            column=name,
            stage=stage,
        )
