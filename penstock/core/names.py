"""Names of columns: those that none may have, and those under which pandas stores an index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.core.errors import ConfigError, SchemaError, class_name
from penstock.core.notices import warn

ROW = "__row__"
"""The column of row numbers in the dataset (int64), present only where a step asks for it."""
FOLD = "__fold__"
REPLICATE = "__replicate__"
PARTITION = "__partition__"
BLOCK = "__block__"
"""The column of the block that each row is dealt into, present only where a step asks for it."""

RESERVED = {
    ROW: "row numbers",
    FOLD: "the fold of each row",
    REPLICATE: "how often each row is drawn",
    PARTITION: "the partition that each row is sorted into",
    BLOCK: "the block that each row is dealt into",
}


_HIDDEN = "__penstock_"
"""What the names of columns begin with that come along within an operation, and that no user sees."""


def hidden_name(kind: str, place: int | None = None) -> str:
    """Return the name of a column that is in no dataset; `kind` says what it is for, `place` tells several apart.

    Examples
    --------
    >>> hidden_name("place"), hidden_name("key", 1)
    ('__penstock_place__', '__penstock_key_1__')
    """
    return f"{_HIDDEN}{kind}__" if place is None else f"{_HIDDEN}{kind}_{place}__"


def is_hidden(name: str) -> bool:
    """Return whether a name is one that `hidden_name` may give."""
    return name.startswith(_HIDDEN)


def column_names(columns: str | Iterable[str], where: str, *, stage: str | None = None) -> tuple[str, ...]:
    """Return the names of columns, given as one or several; ConfigError for expressions, and all else that is no name.

    Parameters
    ----------
    where : str
        What they are of, in words.

    Examples
    --------
    >>> column_names("x", "columns of Imputer"), column_names(["x", "y"], "columns of Imputer")
    (('x',), ('x', 'y'))
    """
    if isinstance(columns, str):
        return (columns,)
    try:
        names: tuple[Any, ...] = tuple(columns)
    except TypeError:  # also of Spark's columns, which have __iter__ only to refuse it
        names = (columns,)
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(
                f"{where} are named by {class_name(name)}, expected strings",
                hint='Write "x" where dataframe libraries have col("x"); penstock.selectors choose columns by type.',
                stage=stage,
            )
    return names


_PATTERN = re.compile(r"\*|\^.*\$", re.DOTALL)
"""Names that Polars reads as all columns, or as a regular expression for columns."""
_PATTERN_PROBLEM = "which dataframe libraries take for a pattern, or cut at its NUL"


def check_names(names: Iterable[str], where: str, *, path: str | None = None, stage: str | None = None) -> None:
    """Raise SchemaError for a column that has no name, or one that is kept; `where` says in words what has it.

    Examples
    --------
    >>> check_names(["row", "__row__"], "the table")
    Traceback (most recent call last):
    penstock.errors.SchemaError: the table has a column '__row__', the name that Penstock keeps for row numbers
      Hint: Rename the column; any other name will do.
    """
    names = list(names)
    if "" in names:
        raise unnamed(names.index(""), len(names), where, path=path, stage=stage)
    problems = {name: f"the name that Penstock keeps for {RESERVED[name]}" for name in sorted(RESERVED.keys() & names)}
    problems |= dict.fromkeys(filter(is_hidden, names), f"and Penstock keeps names that begin with {_HIDDEN!r}")
    problems = {name: _PATTERN_PROBLEM for name in names if _PATTERN.fullmatch(name) or "\0" in name} or problems
    for name, problem in problems.items():
        raise SchemaError(
            f"{where} has a column {name!r}, {problem}",
            hint="Rename the column; any other name will do.",
            path=path,
            column=name,
            stage=stage,
        )


def unnamed(
    position: int, columns: int, where: str, *, path: str | None = None, stage: str | None = None
) -> SchemaError:
    """Return the error for the column at `position`, from 0, which has no name."""
    return SchemaError(
        f"{where} has a column without a name, the one at position {position} of {columns}",
        hint="pandas writes its index so: write with to_csv(..., index=False). Name the column, or declare a schema"
        " without it.",
        path=path,
        column="",
        stage=stage,
    )


_INDEX = re.compile(r"__index_level_\d+__|__null_dask_index__")


def without_index(names: Sequence[str], where: str, declared: Sequence[str] = ()) -> list[str]:
    """Return the names but for those under which pandas and Dask store an index that has none, and warn of them.

    Row labels of a frame are no data of it; taken for a feature, they may tell the label of sorted rows.

    Parameters
    ----------
    declared : sequence of str
        Names that a user asks for, which stay.

    Examples
    --------
    >>> without_index(["b", "__index_level_0__"], "the table", declared=["__index_level_0__"])
    ['b', '__index_level_0__']
    """
    index = [name for name in names if _INDEX.fullmatch(name) and name not in declared]
    if index:
        warn(
            f"the index of pandas in {where}, {', '.join(index)}, is left out; declare it in a schema, or rename it, to"
            " have it as a column",
            stacklevel=2,
        )
    return [name for name in names if name not in index]


def element_names(name: str, size: int) -> tuple[str, ...]:
    """Return the names of the elements of a vector, as MLlib names them.

    Examples
    --------
    >>> element_names("v", 2)
    ('v_0', 'v_1')
    """
    return tuple(f"{name}_{place}" for place in range(size))


def expand(names: Iterable[str], sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return names with those of the elements in the place of each vector, whose lengths `sizes` has.

    Examples
    --------
    >>> expand(("x", "v"), {"v": 2})
    ('x', 'v_0', 'v_1')
    """
    return tuple(each for name in names for each in (element_names(name, sizes[name]) if name in sizes else (name,)))
