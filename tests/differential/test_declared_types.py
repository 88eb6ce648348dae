"""A value and the type declared for it: CSV and JSON lines read the same, or refuse alike."""

import json
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from arrow_values import build, exact, values
from budget import differential
from hypothesis import strategies as st
from outcomes import assert_same, outcome
from readers import put
from table_strategies import TIMES
from text_values import spell

from penstock.engines.base import Engine

NUMBERS = (pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())
SPELLED = (*TIMES, pa.decimal128(9, 2), pa.decimal128(38, 0), pa.string())


@st.composite
def spelled(draw: st.DrawFn, kinds: tuple[pa.DataType, ...]) -> tuple[str, pa.DataType]:
    """Draw a value as text, and a type that may be another than its own."""
    kind, declared = draw(st.sampled_from(kinds)), draw(st.sampled_from(kinds))
    value = draw(values(kind).filter(lambda item: item is not None))
    return spell(kind, exact(build(kind, [value]))[0], draw(st.integers(0, 1))), declared


def _check(text: str, cell: str, declared: pa.DataType, local: Engine, folder: Path) -> None:
    quoted = '"' + text.replace('"', '""') + '"'
    csv = put(folder / "csv", "a.csv", f"x\n{quoted}\n".encode())
    lines = put(folder / "json", "a.jsonl", f'{{"x": {cell}}}\n'.encode())
    schema = {"x": declared}
    wanted = outcome(partial(local.read_csv, csv, schema=schema, null_values=[]))
    assert_same(partial(local.read_json_lines, lines, schema=schema), wanted, f"{text!r} as {declared}")


@pytest.mark.thorough
@differential(few=20, case=spelled(NUMBERS))
def test_csv_and_json_lines_agree_on_numbers_of_declared_types(case, local, folder):
    text, declared = case
    if not any(odd in text for odd in ("nan", "inf")):  # JSON has no such numbers
        _check(text, text, declared, local, folder)


@pytest.mark.thorough
@differential(few=20, case=spelled(SPELLED))
def test_csv_and_json_lines_agree_on_texts_of_declared_types(case, local, folder):
    text, declared = case
    if "\0" not in text:  # which JSON can escape, and CSV cannot hold
        _check(text, json.dumps(text), declared, local, folder)
