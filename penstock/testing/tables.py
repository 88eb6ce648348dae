"""Tables that stages are tried on: an ordinary one, and those that have broken such code before.

All have the same columns. Those that hostile tables change are features; ``id`` tells rows apart wherever they end up,
and what a trainer learns from besides features (``label``, ``class``, ``y``, ``w``) stays as it is.

========= ============ =====================================
column    type         in the ordinary table
========= ============ =====================================
id        int64        0, 1, 2, ...
n1        int64        0 to 19, nulls
n2        float64      positive, nulls
n3        float32      of both signs
s1        string       six values, nulls
s2        string       many values, not all of them ASCII
b         bool         nulls
t1, t2    timestamp    `t2` after `t1`, nulls in both
d         date
image     binary       small PPM files, nulls
words     list         of strings: few of them, repeated, some lists empty, nulls
v_indices list         of int32: with `v_values` a sparse vector, see `penstock.frames.sparse`; nulls
v_values  list         of float64
label     int64        0 and 1
class     string       three values
y         float64
w         float64      positive
========= ============ =====================================
"""

from __future__ import annotations

import datetime
import functools
from typing import Any

import numpy as np
import pyarrow as pa

ROWS = 120
FEATURES = ("n1", "n2", "n3", "s1", "s2", "b", "t1", "t2", "d", "image", "words", "v_indices", "v_values")
_STRANGE = ("", " ", "NaN", "null", "true", "1", "\0", 'say "hi",\r\n', "é", "e\u0301", "größe", "\U0001f600", "\ufeff")
_WORDS = ("a", "b", "the", "The", "größe", "x y", "")


@functools.cache
def ordinary(rows: int = ROWS, seed: int = 0) -> pa.Table:
    """Return the table that every stage must take; made once.

    Examples
    --------
    >>> ordinary(rows=8, seed=1).select(["id", "n1", "label"]).num_rows
    8
    """
    draw = np.random.default_rng(seed)
    n1, n2, noise = draw.integers(0, 20, rows), draw.lognormal(size=rows), draw.normal(size=rows)
    score = n1 + 2 * n2 + noise
    begin = np.datetime64("2024-02-28T12:30:00", "us") + draw.integers(0, 10**12, rows).astype("timedelta64[us]")
    return pa.table(
        {
            "id": np.arange(rows),
            "n1": _with_nulls(n1, 7),
            "n2": _with_nulls(n2, 11),
            "n3": draw.normal(size=rows).astype(np.float32),
            "s1": _with_nulls(draw.choice(["a", "b", "cc", "d", "e", "Z"], rows), 9),
            "s2": draw.choice([*_STRANGE, "a", "b", "c"], rows),
            "b": _with_nulls(draw.integers(0, 2, rows).astype(bool), 8),
            "t1": _with_nulls(begin, 13),
            "t2": _with_nulls(begin + draw.integers(1, 10**10, rows).astype("timedelta64[us]"), 17),
            "d": begin.astype("datetime64[D]"),
            "image": _images(rows, seed),
            **_lists(rows, seed),
            "label": (score > 12).astype(np.int64),
            "class": np.array(["low", "middle", "top"])[np.digitize(score, [8, 16])],
            "y": score,
            "w": draw.uniform(0.5, 2.0, rows),
        }
    )


def _images(rows: int, seed: int) -> pa.Array:
    """Return PPM files of 1 to 4 by 1 to 3 pixels: the one format that takes no library to write."""
    draw = np.random.default_rng(seed + 1)
    sizes = ((1 + row % 4, 1 + row % 3) for row in range(rows))
    files = [b"P6 %d %d 255 " % size + draw.bytes(3 * size[0] * size[1]) for size in sizes]
    return pa.array([None if row % 19 == 18 else file for row, file in enumerate(files)], pa.binary())


def _lists(rows: int, seed: int) -> dict[str, pa.Array]:
    """Return words, and sparse vectors; lists of both are null in the same rows as each other."""
    draw = np.random.default_rng(seed + 2)
    words = [draw.choice(_WORDS, size).tolist() for size in draw.integers(0, 6, rows)]
    places = [np.sort(draw.permutation(9)[:size]) for size in draw.integers(0, 5, rows)]
    vectors = [(at.tolist(), np.round(draw.normal(size=len(at)), 2).tolist()) for at in places]
    null = np.arange(rows) % 14 == 13
    return {
        "words": pa.array(words, pa.list_(pa.string()), mask=null),
        "v_indices": pa.array([at for at, _ in vectors], pa.list_(pa.int32()), mask=null),
        "v_values": pa.array([values for _, values in vectors], pa.list_(pa.float64()), mask=null),
    }


def _with_nulls(values: np.ndarray, every: int) -> pa.Array:
    return pa.array(values, mask=np.arange(len(values)) % every == every - 1)


def replaced(table: pa.Table, **columns: Any) -> pa.Table:
    """Return `table` with some columns replaced, each in the type that it had."""
    for name, values in columns.items():
        place, field = table.schema.get_field_index(name), table.schema.field(name)
        table = table.set_column(place, field, pa.array(values, field.type))
    return table


def ids() -> pa.Table:
    """Return a table in which ``n1``, ``n2``, ``n3``, ``s1``, ``s2`` and ``words`` differ in every row, as ids do."""
    place = np.random.default_rng(3).permutation(ROWS)
    names = [f"id {each}" for each in place]
    return replaced(ordinary(), n1=place, n2=place + 0.5, s1=names, s2=names, words=[[name] for name in names])


def no_rows() -> pa.Table:
    """Return a table with columns and no rows."""
    return ordinary().slice(0, 0)


def constant(rows: int = ROWS) -> pa.Table:
    """Return features of a single value each; that of ``n2``, 0.1, is no float64, so that sums of squares betray it."""
    at = datetime.datetime(2024, 2, 29, 23, 59, 59, 999999)
    later = at + datetime.timedelta(microseconds=1)
    lists = (["a", "b", "a"], [1, 4], [0.5, -2.0])
    values = (7, 0.1, 0.1, "a", "größe", True, at, later, at.date(), b"P5 1 1 255 \x07", *lists)
    return replaced(ordinary(rows), **{name: [value] * rows for name, value in zip(FEATURES, values, strict=True)})


def one_row() -> pa.Table:
    """Return a single row."""
    return constant().slice(0, 1)


def all_null() -> pa.Table:
    """Return features that are null in every row."""
    return replaced(ordinary(), **{name: [None] * ROWS for name in FEATURES})


def offset() -> pa.Table:
    """Return numbers that vary by about one, 1e8 away from zero."""
    near = np.random.default_rng(1).normal(size=ROWS)
    steps = _with_nulls(10**8 + np.arange(ROWS) % 5, 7)
    return replaced(ordinary(), n1=steps, n2=_with_nulls(1e8 + near, 11), n3=1e8 + 8 * np.round(near))


def not_a_number() -> pa.Table:
    """Return floating columns with NaN, and null, here and there."""
    place = np.arange(ROWS)
    table = ordinary()
    n2 = [float("nan") if i % 5 == 0 else value for i, value in enumerate(table["n2"].to_pylist())]
    return replaced(table, n2=n2, n3=np.where(place % 6 == 1, np.nan, table["n3"].to_numpy()))


def missing_numbers() -> pa.Table:
    """Return the table of `not_a_number` with null in place of NaN."""
    table = not_a_number()
    return replaced(table, **{name: pa.array(table[name].to_numpy(), from_pandas=True) for name in ("n2", "n3")})


def infinite() -> pa.Table:
    """Return floating columns with infinities of both signs."""
    table = ordinary()
    n2 = [float("inf") if i in (40, 77) else value for i, value in enumerate(table["n2"].to_pylist())]
    n3 = [-float("inf") if i in (5, 99) else value for i, value in enumerate(table["n3"].to_pylist())]
    return replaced(table, n2=n2, n3=n3)


def large_integers() -> pa.Table:
    """Return integers just above 2**62: no two of them can be added, and float64 cannot tell them apart."""
    return replaced(ordinary(), n1=_with_nulls(2**62 + np.arange(ROWS) % 6, 7))


def large_numbers() -> pa.Table:
    """Return numbers whose squares overflow float64, some of them float32 too."""
    n2 = _with_nulls(np.where(np.arange(ROWS) % 2, 1e200, -1e200), 11)
    return replaced(ordinary(), n2=n2, n3=np.where(np.arange(ROWS) % 2, 3e38, -3e38))


def long_strings(size: int = 2**15) -> pa.Table:
    """Return a few rows with strings of `size` bytes that differ only at their ends."""
    rows = 6
    s1 = [None if i == 3 else "x" * size + str(i % 3) for i in range(rows)]
    s2 = [str(i % 2) + "é" * (size // 2) for i in range(rows)]
    return replaced(ordinary(rows), s1=s1, s2=s2, words=[[text, "a"] for text in s2])


def unseen() -> pa.Table:
    """Return categories that `ordinary` does not have, beside some that it has, and null."""
    place = np.arange(ROWS)
    s1 = np.where(place % 3 == 0, "a", np.where(place % 3 == 1, "new", "more")).tolist()
    n1 = [None if i % 10 == 9 else (1000 + i % 2 if i % 4 == 0 else 3) for i in range(ROWS)]
    words = [None if i % 10 == 9 else ["new", "a", "new"][: i % 4] for i in range(ROWS)]
    return replaced(ordinary(), s1=[None if i % 10 == 9 else each for i, each in enumerate(s1)], n1=n1, words=words)


def far_dates() -> pa.Table:
    """Return times from year 1 to year 9999, leap days and the ends of days among them, in no order."""
    texts = ("0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999", "2000-02-29T12:00:00",
             "1900-02-28T00:00:00", "2024-12-30T00:00:00", "2038-01-19T03:14:08")  # fmt: skip
    times = [datetime.datetime.fromisoformat(texts[i % len(texts)]) for i in range(ROWS)]
    t2 = [None if i % 17 == 16 else times[(3 * i + 1) % ROWS] for i in range(ROWS)]
    return replaced(ordinary(), t1=times, t2=t2, d=[at.date() for at in times])


def broken_images() -> pa.Table:
    """Return what are no images, and images that are cut off, or larger than any that anyone has, beside good ones."""
    odd = (b"", b"no image", b"P6 2 2 255 \0\1", b"P6 99999 99999 255 ", b"P5 1 1 65535 \1\2", b"\x89PNG\r\n\x1a\n")
    good = ordinary()["image"].to_pylist()
    return replaced(ordinary(), image=[odd[i // 4 % len(odd)] if i % 4 == 1 else file for i, file in enumerate(good)])


@functools.cache
def retyped(kind: pa.DataType) -> pa.Table:
    """Return the ordinary table with its columns of numbers in another type, ``label`` among them; made once.

    Examples
    --------
    >>> retyped(pa.uint8()).schema.field("n2").type
    DataType(uint8)
    """
    table = ordinary()
    for name in ("n1", "n2", "n3", "label"):
        values = pa.nulls(ROWS, kind) if pa.types.is_null(kind) else table[name].cast(kind, safe=False)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table
