"""What is true of some rows: an expression, or a function of a frame where no expression says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames


@dataclass(frozen=True)
class ComputedPredicate:
    """A predicate that is computed of a frame.

    Parameters
    ----------
    reads : tuple of str
        The columns that it needs.
    function : callable
        Returns of a frame a series of booleans without null.
    """

    reads: tuple[str, ...]
    function: Callable[[nw.DataFrame[Any]], nw.Series[Any]]


Predicate = nw.Expr | ComputedPredicate


def matching(frame: nw.DataFrame[Any], predicate: Predicate) -> nw.DataFrame[Any]:
    """Return the rows for which a predicate is true, on the host, where Narwhals can look into lists, too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"x": [1, 5]}))
    >>> matching(frame, ComputedPredicate(("x",), lambda rows: rows["x"] > 2)).rows()
    [(5,)]
    """
    rows: nw.DataFrame[Any] = frames.present(frame, "narwhals")
    return rows.filter(predicate.function(rows) if isinstance(predicate, ComputedPredicate) else predicate)


def columns_read(predicate: Predicate, schema: pa.Schema) -> list[str]:
    """Return the columns that a predicate reads; SchemaError where it does not fit the schema, as `frames.roots`."""
    return list(predicate.reads) if isinstance(predicate, ComputedPredicate) else frames.roots(predicate, schema)
