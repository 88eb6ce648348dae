"""The shape of JSON lines before a parser sees them: an object in each line, nested no deeper than is safe.

Parsers go one call deeper for each bracket that opens, and one that runs out of stack ends the process. They also read
on at line ends inside an object, so that the rows would depend on where a file is cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

MOST_NESTED = 63
"""An object and 62 lists in it are the most that Arrow can hand from one library to another."""
NOT_ONE, SEVERAL, TOO_DEEP = "not a JSON object", "more than one JSON object", f"nested more than {MOST_NESTED} deep"
_BLANK = b" \t\r\n"
_NEWLINE, _RETURN, _OPENS, _CLOSES = b"\n\r{}"
_BRACKET = 0x20
"""The bit that turns a square bracket into a curly one."""
_NOT_OPENING, _NOT_NESTING = (bytes(set(range(256)) - set(wanted)) for wanted in (b"[{\n", b'[{}]"\n'))
_MANY_OPEN = re.compile(rb"[\[{]{%d}" % (MOST_NESTED + 1))
_STRING = re.compile(rb'"[^"\n]*"?')
_DECODER = json.JSONDecoder(parse_int=Decimal)
"""Python makes no integer of more than 4,300 digits."""


class Fault(NamedTuple):
    """A line of the wrong shape: where it begins and ends, and what it is instead."""

    begin: int
    end: int
    reason: str


def examine(data: bytes) -> tuple[int, Fault | None]:
    r"""Return the number of lines that are not blank, and a line that no parser should see.

    Examples
    --------
    >>> examine(b'{"x": 1}\n\n{"x": []}\n')
    (2, None)
    >>> examine(b'{"x": 1}\n{"x":\n')
    (2, Fault(begin=9, end=14, reason='not a JSON object'))
    """
    begins, ends = _bounds(data)
    odd = np.flatnonzero(~_in_braces(data, begins, ends)).tolist()
    texts = {line: data[begins[line] : ends[line]].strip(_BLANK) for line in odd}
    lines = len(begins) - sum(not text for text in texts.values())
    broken = (line for line, text in texts.items() if text and not (text.startswith(b"{") and text.endswith(b"}")))
    line, reason = next(broken, None), NOT_ONE
    if line is None:
        line, reason = _first_deep(data), TOO_DEEP
    return lines, None if line is None else Fault(int(begins[line]), int(ends[line]), reason)


def _bounds(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
    begins, ends = np.append(0, newlines + 1), np.append(newlines, len(data))
    return (begins, ends) if begins[-1] < len(data) else (begins[:-1], ends[:-1])


def _in_braces(data: bytes, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return which lines begin and end with a brace; others may too, with blanks around."""
    text = np.frombuffer(data, np.uint8)
    last, one_before = (text.take(ends - back, mode="clip") for back in (1, 2))
    return (text[begins] == _OPENS) & (np.where(last == _RETURN, one_before, last) == _CLOSES)


def _first_deep(data: bytes) -> int | None:
    """Return the first line that is nested too deeply, by its place among all lines.

    That no line has so many opening brackets, in strings or not, is seen at once, and is so for most files.
    """
    if not _MANY_OPEN.search(data.translate(None, _NOT_OPENING)):
        return None
    text = np.frombuffer(_nesting(data), np.uint8)
    opens, closes = (text | _BRACKET == brace for brace in (_OPENS, _CLOSES))
    depths = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
    starts = np.append(0, np.flatnonzero(text == _NEWLINE))
    before = np.append(0, depths[starts[1:]])
    deep = np.flatnonzero(np.maximum.reduceat(depths, starts) - before > MOST_NESTED)
    return int(deep[0]) if len(deep) else None


def _nesting(data: bytes) -> bytes:
    """Return the brackets outside strings, and the newlines."""
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    return _STRING.sub(b"", unescaped.translate(None, _NOT_NESTING).replace(b'""', b""))


def is_joined(line: bytes) -> bool:
    """Return whether a line is an object and another one after it.

    Examples
    --------
    >>> is_joined(b'{"x": 1} {"x": 2}'), is_joined(b'{"x": 1}')
    (True, False)
    """
    text = line.decode().strip()
    try:
        _, end = _DECODER.raw_decode(text)
    except ValueError:
        return False
    return text[end:].lstrip().startswith("{")


def check_rows(table: pa.Table, lines: int) -> None:
    """Raise ArrowInvalid, as a parser does, unless a table has as many rows as the text had lines."""
    if table.num_rows != lines:
        raise pa.ArrowInvalid(f"{table.num_rows} objects in {lines} line(s), expected one in each")


def decode(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the object of each line that is not blank; its whole numbers are Decimals."""
    for line in data.split(b"\n"):
        if line.strip(_BLANK):
            yield _DECODER.decode(line.decode())


def shown_value(line: bytes, key: str) -> str:
    """Return the value of a key as JSON, or the whole line where Python cannot make it.

    Examples
    --------
    >>> shown_value(b'{"x": [1, null]}', "x")
    '[1, null]'
    """
    try:
        return json.dumps(json.loads(line).get(key))
    except ValueError:
        return line.decode().strip()
