"""Write synthetic clicks on display advertisements in the schema of Criteo's Kaggle file.

A label, 13 counts and 26 hashed categories. Null rates, medians, skew and the small vocabularies are close to those
of the file of 2014; the large vocabularies grow with the rows as they do there, to over 100,000 values each at
4 million rows. The label is drawn from a logistic model of the counts and of a weight hidden in each category.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from _write import CHUNK_ROWS, Layout, Stream, chunks, main, write_directory
from numpy.typing import NDArray


class Count(NamedTuple):
    """A log-normal count: what it is at the middle, its spread, its largest value, its pull on the label."""

    median: float
    sigma: float
    largest: int
    weight: float


class Vocabulary(NamedTuple):
    """Categories by rank r, seen in proportion to (r + shift) ** -exponent, and their pull on the label."""

    size: int
    exponent: float
    shift: float
    weight: float


COUNTS = {
    "I1": Count(1.6, 1.6, 5_775, 0.50),
    "I2": Count(3.5, 2.6, 257_675, 0.40),
    "I3": Count(6.5, 1.7, 65_535, 0.0),
    "I4": Count(4.5, 1.1, 969, 0.0),
    "I5": Count(2_813.0, 1.9, 23_159_456, -0.55),
    "I6": Count(32.0, 1.6, 431_037, -0.55),
    "I7": Count(3.5, 1.8, 56_311, 0.65),
    "I8": Count(7.5, 1.1, 6_047, 0.0),
    "I9": Count(38.0, 1.4, 29_019, 0.0),
    "I10": Count(0.6, 0.8, 11, 0.30),
    "I11": Count(1.6, 1.2, 231, 0.65),
    "I12": Count(0.4, 1.5, 4_008, 0.0),
    "I13": Count(4.5, 1.2, 7_393, -0.30),
}
_SMALL, _LARGE = (1.1, 1.0), (1.4, 3.0)
CATEGORIES = {
    "C1": Vocabulary(1_460, *_SMALL, 0.30),
    "C2": Vocabulary(583, *_SMALL, 0.50),
    "C3": Vocabulary(10_000_000, *_LARGE, 0.25),
    "C4": Vocabulary(10_000_000, *_LARGE, 0.25),
    "C5": Vocabulary(305, *_SMALL, 0.0),
    "C6": Vocabulary(24, *_SMALL, 0.30),
    "C7": Vocabulary(6_000, *_SMALL, 0.30),
    "C8": Vocabulary(633, *_SMALL, 0.0),
    "C9": Vocabulary(3, *_SMALL, 0.30),
    "C10": Vocabulary(9_000, *_SMALL, 0.25),
    "C11": Vocabulary(3_500, *_SMALL, 0.25),
    "C12": Vocabulary(10_000_000, *_LARGE, 0.25),
    "C13": Vocabulary(2_500, *_SMALL, 0.25),
    "C14": Vocabulary(27, *_SMALL, 0.65),
    "C15": Vocabulary(6_000, *_SMALL, 0.25),
    "C16": Vocabulary(10_000_000, *_LARGE, 0.25),
    "C17": Vocabulary(10, *_SMALL, 0.65),
    "C18": Vocabulary(2_800, *_SMALL, 0.30),
    "C19": Vocabulary(1_500, *_SMALL, 0.0),
    "C20": Vocabulary(4, *_SMALL, 0.15),
    "C21": Vocabulary(10_000_000, *_LARGE, 0.25),
    "C22": Vocabulary(18, *_SMALL, 0.0),
    "C23": Vocabulary(15, *_SMALL, 0.50),
    "C24": Vocabulary(9_000, *_SMALL, 0.25),
    "C25": Vocabulary(30, *_SMALL, 0.30),
    "C26": Vocabulary(6_000, *_SMALL, 0.25),
}
NULL_RATES = {  # columns of one line are null in the same rows, as in the file
    ("I1", "I10"): 0.454,
    ("I3",): 0.215,
    ("I4", "I13"): 0.217,
    ("I5",): 0.026,
    ("I6",): 0.224,
    ("I7", "I9", "I11"): 0.043,
    ("I8",): 0.0005,
    ("I12",): 0.765,
    ("C3", "C4", "C12", "C16", "C21", "C24"): 0.034,
    ("C6",): 0.121,
    ("C19", "C20", "C25", "C26"): 0.440,
    ("C22",): 0.762,
}
NEGATIVE_I2 = {-1: 0.05, -2: 0.002, -3: 0.0003}
OUTLIER_RATE = 1e-5  # of every count, at 100 times its largest value or the largest 32-bit integer
DUPLICATE_RATE = 1e-3
_INTERCEPT = -1.77
_BUSY = 0.5  # how much of the spread of the counts comes from how busy the user is

SCHEMA = pa.schema(
    [pa.field("label", pa.int32(), nullable=False)]
    + [pa.field(name, pa.int32()) for name in COUNTS]
    + [pa.field(name, pa.string()) for name in CATEGORIES]
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.uint32]


def generate(rows: int, seed: int = 0) -> Iterator[pa.Table]:
    """Return the rows in tables of 250,000, of which the last may be shorter, with the columns of ``SCHEMA``.

    The first rows are the same for every ``rows``. Other seeds give other rows of the same model, so that one seed
    can train and another test.
    """
    return (_table(size, stream) for size, stream in chunks(rows, seed))


def write(
    out: str | Path,
    rows: int,
    *,
    seed: int = 0,
    rows_per_file: int = 1_000_000,
    row_group_rows: int = CHUNK_ROWS,
    format: str = "parquet",
    overwrite: bool = False,
) -> list[Path]:
    """Write ``generate(rows, seed)`` to the directory ``out`` and return its files; see ``Layout`` for the rest."""
    layout = Layout(rows_per_file=rows_per_file, row_group_rows=row_group_rows, format=format, overwrite=overwrite)
    return write_directory(out, generate(rows, seed), SCHEMA, rows, layout)


def _table(rows: int, stream: Stream) -> pa.Table:
    null = _nulls(rows, stream)
    busy = stream("busy").standard_normal(rows)
    logit = np.full(rows, _INTERCEPT)
    columns: dict[str, pa.Array[Any]] = {}
    for name, count in COUNTS.items():
        values = _count(name, count, busy, stream)
        logit += np.where(null[name], 0.0, count.weight * _standardised(values, count))
        columns[name] = pa.array(_with_outliers(values, count, stream("outlier " + name)), pa.int32(), mask=null[name])
    for name, vocabulary in CATEGORIES.items():
        codes = _codes(name, vocabulary, stream(name).random(rows))
        logit += np.where(null[name], 0.0, vocabulary.weight * _hidden_weight(codes))
        columns[name] = _hex(codes, null[name])
    columns["label"] = pa.array(stream("label").random(rows) * (1.0 + np.exp(-logit)) < 1.0).cast(pa.int32())
    table = pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)
    return table.take(_with_duplicates(rows, stream))


def _nulls(rows: int, stream: Stream) -> dict[str, Bools]:
    null = dict.fromkeys(SCHEMA.names, np.zeros(rows, np.bool_))
    for names, rate in NULL_RATES.items():
        null |= dict.fromkeys(names, stream("null " + names[0]).random(rows) < rate)
    return null


def _count(name: str, count: Count, busy: Floats, stream: Stream) -> Floats:
    noise = stream(name).standard_normal(busy.size)
    spread = _BUSY * busy + np.sqrt(1.0 - _BUSY**2) * noise
    values = np.minimum(np.floor(count.median * np.exp(count.sigma * spread)), count.largest)
    if name == "I2":
        chance = np.cumsum(list(NEGATIVE_I2.values()))
        kind = np.searchsorted(chance, stream("negative").random(busy.size), side="right")
        values = np.append(list(NEGATIVE_I2), 0)[kind] + np.where(kind < chance.size, 0.0, values)
    return values


def _standardised(values: Floats, count: Count) -> Floats:
    return (np.log1p(np.maximum(values, 0.0)) - np.log1p(count.median)) / count.sigma


def _with_outliers(values: Floats, count: Count, random: np.random.Generator) -> NDArray[np.int32]:
    extreme = min(100 * count.largest, np.iinfo(np.int32).max)
    return np.where(random.random(values.size) < OUTLIER_RATE, extreme, values).astype(np.int32)


def _codes(name: str, vocabulary: Vocabulary, uniform: Floats) -> Codes:
    """Return categories by the inverse of a bounded power law's distribution, mixed so that each is a hash."""
    power = 1.0 - vocabulary.exponent
    low, high = vocabulary.shift**power, (vocabulary.shift + vocabulary.size) ** power
    rank = (low + uniform * (high - low)) ** (1.0 / power) - vocabulary.shift
    rank = np.clip(rank, 0, vocabulary.size - 1)
    salt = list(CATEGORIES).index(name) << 24
    return _mix(rank.astype(np.uint32) + np.uint32(salt))


def _mix(keys: Codes) -> Codes:
    """Return the finaliser of MurmurHash3, which maps the 32-bit integers one to one."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        keys = (keys ^ (keys >> np.uint32(shift))) * np.uint32(factor)
    return keys ^ (keys >> np.uint32(16))


def _hidden_weight(codes: Codes) -> Floats:
    """Return a number of mean 0 and variance 1 that depends on the category alone."""
    return (_mix(codes ^ np.uint32(0x9E3779B9)) / 2.0**32 - 0.5) * np.sqrt(12.0)


def _hex(codes: Codes, null: Bools) -> pa.StringArray:
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    nibbles = codes[:, None] >> np.arange(28, -4, -4, dtype=np.uint32) & np.uint32(15)
    offsets = np.arange(0, 8 * codes.size + 8, 8, dtype=np.int32)
    valid = pa.array(~null).buffers()[1]
    return pa.StringArray.from_buffers(
        codes.size, pa.py_buffer(offsets.data), pa.py_buffer(digits[nibbles].data), valid
    )


def _with_duplicates(rows: int, stream: Stream) -> NDArray[np.int64]:
    source = np.arange(rows)
    source[1:] -= stream("duplicate").random(rows)[1:] < DUPLICATE_RATE
    return source


if __name__ == "__main__":
    main(__doc__, write)
