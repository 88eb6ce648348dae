"""Whole numbers declared as floating types: read as they are written, or refused, in CSV and JSON lines alike."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import SchemaDriftError

Read = Callable[[list[str], pa.DataType], pa.Table]


@pytest.fixture(params=["csv", "json"])
def read(request: pytest.FixtureRequest, read_csv, read_json_lines, write) -> Read:
    """Return what reads numbers as they are written into a column of a type."""

    def read_numbers(numbers: list[str], kind: pa.DataType) -> pa.Table:
        schema = pa.schema({"x": kind})
        if request.param == "csv":
            return read_csv(write("x\n" + "".join(f"{number}\n" for number in numbers)), schema=schema)
        lines = "".join(f'{{"x": {number}}}\n' for number in numbers)
        return read_json_lines(write(lines, "a.jsonl"), schema=schema)

    return read_numbers


ROUNDED = [
    ("9007199254740993", pa.float64()), ("-9007199254740993", pa.float64()), ("18446744073709551615", pa.float64()),
    ("1" * 400, pa.float64()), ("16777217", pa.float32()), ("4294967295", pa.float32()),
]  # fmt: skip


def test_a_whole_number_that_would_be_rounded_is_refused_with_its_place(read: Read, subtests: pytest.Subtests) -> None:
    for number, kind in ROUNDED:
        with subtests.test(number=number[:20], kind=str(kind)):
            with pytest.raises(SchemaDriftError) as found:
                read(["0.5", "1e30", number], kind)
            assert f"column 'x': '{number[:80]}" in found.value.message
            assert f"is not a value of {kind}, its declared type" in found.value.message
            assert ", line 4," in found.value.message or (
                "a.jsonl" in found.value.message and ", line 3," in found.value.message
            )
            hint = f"{kind} would round this whole number: declare int64, uint64, a decimal or string."
            assert found.value.hint == hint


def test_other_numbers_become_the_nearest(read: Read, subtests: pytest.Subtests) -> None:
    for numbers, kind in (
        (["9007199254740992", "-9007199254740992", "1152921504606846976", "1700000000000000000"], pa.float64()),
        (["16777216", "-33554432", "340282346638528859811704183484516925440"], pa.float32()),
        (["0.1", "9007199254740993.5", "9007199254740993e0", "1e300"], pa.float64()),
        (["0.1", "16777217.5", "1e38"], pa.float32()),
    ):
        with subtests.test(numbers=numbers):
            nearest = np.float32 if pa.types.is_float32(kind) else np.float64
            assert read(numbers, kind)["x"].to_pylist() == [float(nearest(number)) for number in numbers]


def test_numbers_in_lists_are_looked_at_too(read_json_lines, write) -> None:
    schema = pa.schema({"x": pa.list_(pa.list_(pa.float64()))})
    with pytest.raises(SchemaDriftError, match=r"line 2, column 'x': '\[\[1, 9007199254740993\]\]' is not a value of"):
        read_json_lines(write('{"x": [[1]]}\n{"x": [[1, 9007199254740993]]}\n', "a.jsonl"), schema=schema)


def test_hexadecimal_digits_are_no_integer(read_csv, write, subtests: pytest.Subtests) -> None:
    for number, kind in product(("0xFF", "0XFF"), (pa.int8(), pa.int64(), pa.uint8())):
        told = f"line 3, column 'x': '{number}' is not a value of {kind}"
        with subtests.test(kind=str(kind), number=number), pytest.raises(SchemaDriftError, match=told):
            read_csv(write(f"x,y\n1,0x\n{number},0x\n"), schema=pa.schema({"x": kind, "y": pa.string()}))
