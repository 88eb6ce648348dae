"""How a CSV text is written, and how it is parsed: with types, or guessing types that lose nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from penstock.core.errors import ConfigError
from penstock.io.sources.inference import TEXT, Guess, guess
from penstock.io.sources.numerals import Texts, is_any, is_hexadecimal, is_overflow, is_rounded, loses_digits
from penstock.io.sources.quotes import NEWLINE, RecordEnds
from penstock.io.sources.ranges import BLOCK_BYTES, BOM, whole_blocks


@dataclass(frozen=True)
class Dialect:
    r"""A way to write CSV; records end at ``\n``, ``\r\n`` or ``\r``, and a quote in a quoted field is doubled.

    Parameters
    ----------
    delimiter : str
        One ASCII character.
    quote : str or None
        One ASCII character; None when quotes are ordinary characters.
    null_values : tuple of str
        Fields that are null, quoted or not.

    Examples
    --------
    >>> Dialect().parse(b"1,x\n,y\n", ["a", "b"], {"a": pa.int8()}).to_pylist()
    [{'a': 1}, {'a': None}]
    """

    delimiter: str = ","
    quote: str | None = '"'
    null_values: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        for name, value in (("delimiter", self.delimiter), ("quote", self.quote)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n\0"):
                raise ConfigError(f"{name} is {value!r}, expected one ASCII character")
        if self.delimiter == self.quote:
            raise ConfigError(f"delimiter and quote are both {self.quote!r}")

    def record_ends(self) -> RecordEnds:
        """Return what finds the ends of records in a text."""
        return RecordEnds(self.delimiter, self.quote)

    def fields(self, record: str) -> list[str]:
        """Return the fields of one record; csv.Error when it is none."""
        quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if self.quote is None else {"quotechar": self.quote}
        return next(csv.reader(io.StringIO(record, newline=""), delimiter=self.delimiter, **quoting), [])

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types` from records with the columns `names`.

        Raises
        ------
        pyarrow.ArrowInvalid
            A record has another number of fields, a value is not of its type.
        """
        options = self._conversion(list(types))
        options.column_types = dict(types)
        return self.read(data, names, options) if data else pa.schema(list(types.items())).empty_table()

    def parse_exactly(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Parse, and refuse the numbers that pyarrow would change.

        Those are a whole number that a floating type does not hold exactly, any that is too large for it, and an
        integer in hexadecimal digits, which may turn out negative.
        """
        table = self.parse(data, names, types)
        hexadecimal = b"0x" in data or b"0X" in data
        for name, kind in types.items():
            texts = partial(self._texts, data, names, name)
            if pa.types.is_floating(kind) and (is_overflow(table[name], texts) or is_rounded(table[name], texts)):
                raise pa.ArrowInvalid(f"column {name!r} has a number that {kind} does not hold")
            if pa.types.is_integer(kind) and hexadecimal and is_hexadecimal(texts()):
                raise pa.ArrowInvalid(f"column {name!r} has hexadecimal digits")
        return table

    def guess(self, data: bytes, names: Sequence[str], columns: Sequence[str]) -> tuple[int, dict[str, Guess]]:
        """Return the number of rows, and for each of `columns` the narrowest type that loses nothing.

        A column that has a number written with a leading zero, too large for its type, or whole and not below 2**53
        among numbers that are not whole, is text: an identifier more often than a quantity.
        """
        # by default 0 and 1 are booleans too, and the type of a column would depend on where its file was cut
        options = self._conversion(columns)
        options.true_values, options.false_values = ["true", "True", "TRUE"], ["false", "False", "FALSE"]
        if not data:
            return 0, {}
        table = self.read(data, names, options)
        padded = self._may_be_padded(data)
        return table.num_rows, {
            name: _guess(table[name], padded, partial(self._texts, data, names, name)) for name in columns
        }

    def _conversion(self, columns: Sequence[str]) -> pacsv.ConvertOptions:
        return pacsv.ConvertOptions(
            include_columns=list(columns),
            null_values=list(self.null_values),
            strings_can_be_null=True,
            check_utf8=False,
        )

    def read(
        self, data: bytes, names: Sequence[str], options: pacsv.ConvertOptions, on_bad_row: Any = None
    ) -> pa.Table:
        """Parse with pyarrow; `on_bad_row` is its ``invalid_row_handler``."""
        # pyarrow drops a byte order mark, which is text anywhere but at the start of a file
        text = b"\n" + data if data.startswith(BOM) else data
        quoted = self.quote is not None and self.quote.encode() in data
        parsing = pacsv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=self.quote or False,
            newlines_in_values=quoted,
            invalid_row_handler=on_bad_row,
        )

        def read(stream: pa.BufferReader, block: int) -> pa.Table:
            reading = pacsv.ReadOptions(column_names=list(names), block_size=block)
            return pacsv.read_csv(stream, reading, parsing, options)

        return whole_blocks(read, text, _block_bytes(text) if quoted else BLOCK_BYTES)

    def _texts(self, data: bytes, names: Sequence[str], column: str) -> pa.ChunkedArray:
        return self.parse(data, names, {column: pa.string()})[column]

    def _may_be_padded(self, data: bytes) -> bool:
        """Return whether a field may start with a zero before a digit: cheaper than a look at the fields."""
        text = np.frombuffer(data, np.uint8)
        zeros = np.flatnonzero(text[:-1] == ord("0"))
        before = np.where(zeros > 0, text[zeros - 1], NEWLINE)
        after = text[zeros + 1]
        starts = np.isin(before, np.frombuffer((self.delimiter + (self.quote or "") + "\r\n+- \t").encode(), np.uint8))
        digit = ((after >= ord("0")) & (after <= ord("9"))) | (after == ord("x")) | (after == ord("X"))
        return bool(np.any(starts & digit))


def _block_bytes(text: bytes) -> int:
    r"""Return a length of blocks none of which ends inside ``\r\n``: pyarrow would drop its ``\n``, in quotes too."""
    for block in range(BLOCK_BYTES, BLOCK_BYTES + 64):
        if all(text[end - 1 : end + 1] != b"\r\n" for end in range(block, len(text), block)):
            return block
    return len(text)


def can_hold(kind: pa.DataType) -> bool:
    """Return whether fields can be parsed as a type.

    Examples
    --------
    >>> can_hold(pa.decimal128(9, 2)), can_hold(pa.list_(pa.int64()))
    (True, False)
    """
    try:
        Dialect().parse(b'""\n', ["x"], {"x": kind})
    except pa.ArrowNotImplementedError:
        return False
    return True


def _guess(values: pa.ChunkedArray, padded: bool, texts: Texts) -> Guess:
    floating = pa.types.is_float64(values.type)
    if not floating and not pa.types.is_int64(values.type):
        return guess(values)
    if padded and is_any(pc.match_substring_regex(texts(), r"^\s*[+-]?0[0-9xX]")):
        return TEXT
    return TEXT if floating and (is_overflow(values, texts) or loses_digits(values, texts)) else guess(values)
