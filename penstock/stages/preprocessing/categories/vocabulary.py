"""What stages that work on categories share: vocabularies, the place of a value in one, and values in none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.stages.base import Stage, check_number
from penstock.statistics import Frequencies, TopK

_SHOWN = 5


def check_frequency(stage: Stage, name: str) -> None:
    """Raise ConfigError unless a parameter is a count of at least 1 or a share of at most 1."""
    if isinstance(getattr(stage, name), float):
        check_number(stage, name, above=0, most=1)
    else:
        check_number(stage, name, least=1, whole=True)


def check_new(stage: Stage, schema: pa.Schema) -> None:
    """Raise ConfigError for an output of a bound stage that has the name of another or of a column there is."""
    counted = Counter([*schema.names, *stage.outputs()])
    for name in stage.outputs():
        if counted[name] > 1:
            raise ConfigError(
                f"{stage.title} makes column {name!r}, which is there already",
                hint="Rename the other one before.",
                column=name,
                stage=stage.title,
            )


def frequent(found: Frequencies, min_frequency: int | float) -> Frequencies:
    """Return the values that occur often enough; a float is a share of all rows, nulls included.

    Examples
    --------
    >>> found = Frequencies(pa.table({"value": ["b", "a"], "count": [2, 1]}), nulls=1)
    >>> frequent(found, 0.5).table["value"].to_pylist(), frequent(found, 1).distinct
    (['b'], 2)
    """
    if isinstance(min_frequency, float):
        return found.at_least(math.ceil(min_frequency * (found.total + found.nulls)))
    return found.at_least(min_frequency)


def keep_frequent(min_frequency: int | float, most: int | None) -> TopK:
    """Return what has to be counted to find the `most` frequent values; a share may turn out to be one row.

    Examples
    --------
    >>> keep_frequent(5, 100), keep_frequent(0.5, None)
    (TopK(top=100, at_least=5), TopK(top=None, at_least=1))
    """
    return TopK(most, 1 if isinstance(min_frequency, float) else min_frequency)


def values_of(table: pa.Table, column: str = "value") -> pa.Array:
    """Return a column as one array; without a copy of what is one already, so that encoders can tell it again.

    Examples
    --------
    >>> values_of(pa.table({"value": ["b", "a"]})).to_pylist()
    ['b', 'a']
    """
    values = table[column]
    return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays([pa.array([], values.type), *values.chunks])


def codes(
    frame: nw.DataFrame,
    vocabularies: Mapping[str, pa.Array],
    unseen: Mapping[str, int],
    missing: Mapping[str, int] | None = None,
    *,
    refuse: bool = False,
) -> nw.DataFrame:
    """Return the place of each value in the vocabulary of its column, as `with_codes` does, in these columns alone.

    Parameters
    ----------
    unseen : mapping
        By column the code of what is not in its vocabulary, at least as large as that.
    missing : mapping, optional
        By column the code of null; null unless given.
    refuse : bool
        Raise DataValueError for such values instead.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"c": [True, None, False]}))
    >>> codes(frame, {"c": pa.array([True])}, {"c": 1})["c"].to_list()
    [0, None, 1]
    """
    given = frame.select(list(vocabularies))
    found = with_codes(given, {name: name for name in vocabularies}, vocabularies, unseen, missing or {})
    if refuse:
        for name, dtype in given.schema.items():
            _refuse(name, given.filter(found[name] == unseen[name]).select(text(name, dtype)), dtype)
    return found


def with_codes(
    frame: frames.Frame,
    outputs: Mapping[str, str],
    vocabularies: Mapping[str, pa.Array],
    unseen: Mapping[str, int],
    missing: Mapping[str, int],
) -> frames.Frame:
    """Return a frame with the place of each value in the vocabulary of its column, int32, in the column of `outputs`.

    Values are matched by their text, so that a column may be widened between fit and use.
    """
    dtypes = frame.collect_schema()
    others = {name: out for name, out in outputs.items() if out != name or dtypes[name] != nw.String}
    texts = [text(name, dtypes[name]).alias(out) for name, out in others.items()]
    known = {out: vocabularies[name].cast(pa.string()) for name, out in outputs.items()}
    unseen, missing = ({outputs[name]: code for name, code in each.items()} for each in (unseen, missing))
    return frames.encode(frame.with_columns(*texts) if texts else frame, known, unseen, missing)


def coder(name: str, known: pa.Array, unseen: int, *, refuse: bool = False) -> Callable[[Any], int | None]:
    """Return what :func:`codes` does as a function of one value of column `name`.

    Examples
    --------
    >>> code = coder("c", pa.array(["b", "a"]), unseen=2)
    >>> code("a"), code("z"), code(None)
    (1, 2, None)
    """
    places = {value: place for place, value in enumerate(known.to_pylist())}

    def code(value: Any) -> int | None:
        if value is None:
            return None
        place = places.get(value, unseen)
        if refuse and place == unseen:
            raise _unseen(name, 1, _shorten(spelt(value)))
        return place

    return code


def holds(kind: pa.DataType, value: Any) -> bool:
    """Return whether a column of type `kind` can hold a category given as a parameter.

    Examples
    --------
    >>> holds(pa.int8(), 7), holds(pa.int8(), 700), holds(pa.string(), 7)
    (True, False, False)
    """
    try:
        return type(pa.scalar(value, kind).as_py()) is type(value)
    except (pa.ArrowException, OverflowError):
        return False


def spelt(value: Any) -> str:
    """Return the text by which a value is matched.

    Examples
    --------
    >>> spelt("True"), spelt(True), spelt(-7)
    ('True', 'true', '-7')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def text(name: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Return a column of categories, of type `dtype`, as strings, the text of each value as :func:`spelt` has it.

    Examples
    --------
    >>> frames.from_arrow(pa.table({"c": [True, None]})).select(text("c", nw.Boolean()))["c"].to_list()
    ['true', None]
    """
    # Booleans are spelt out, since libraries write them differently.
    value = nw.col(name)
    if dtype != nw.Boolean:
        return value if dtype == nw.String else value.cast(nw.String)
    return nw.when(value).then(nw.lit("true")).otherwise(nw.when(~value).then(nw.lit("false"))).alias(name)


def _refuse(name: str, unseen: nw.DataFrame, dtype: nw.dtypes.DType) -> None:
    if not len(unseen):
        return
    counted = frames.value_counts(unseen, [name])[name].sort_by([("count", "descending"), ("value", "ascending")])
    shown = [f"{_shorten(row['value'])} ({row['count']})" for row in counted.slice(0, _SHOWN).to_pylist()]
    more = ", ..." if counted.num_rows > _SHOWN else ""
    which = f"{counted.num_rows} different ones: {', '.join(shown)}{more}"
    raise _unseen(name, len(unseen), which, text(name, dtype).is_in(counted["value"].to_pylist()))


def _unseen(name: str, count: int, which: str, predicate: nw.Expr | None = None) -> DataValueError:
    return DataValueError(
        f"column {name!r} has {count} values that were not there at fit, {which}",
        hint='Fit again with them, or pass handle_invalid="keep".',
        column=name,
        predicate=predicate,
    )


def _shorten(value: str, most: int = 60) -> str:
    return repr(value if len(value) <= most else value[:most] + "...")
