"""A strict reader of Universal Binary JSON: the part of it that XGBoost writes, and nothing else.

The format is that of ubjson.org, draft 12. XGBoost counts every array, closes every object with ``}``, and gives each
length as ``L`` and eight bytes. What is read here is read the same way by XGBoost's own parser, which trusts it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_DTYPES = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_MAX_DEPTH = 16


def read_ubjson(data: bytes) -> Any:
    r"""Return the document: dicts, strings, numbers, lists, and NumPy arrays (big-endian) for typed arrays.

    Raises
    ------
    ValueError
        The bytes are not one document of this form, end to end.

    Examples
    --------
    >>> read_ubjson(b"{" + b"L" + (1).to_bytes(8) + b"a" + b"i\x05" + b"}")
    {'a': 5}
    """
    reader = _Reader(data)
    document = reader.value(0)
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes follow the document")
    return document


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def value(self, depth: int) -> Any:
        if depth == _MAX_DEPTH:
            raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
        marker = self._take(1)
        if marker == b"{":
            return self._object(depth)
        if marker == b"[":
            return self._array(depth)
        if marker == b"S":
            return self._text()
        return self._numbers(marker, 1)[0].item()

    def _object(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while self._peek() != b"}":
            key = self._text()
            if key in result:
                raise ValueError(f"key {key!r} appears twice in one object")
            result[key] = self.value(depth + 1)
        self._take(1)
        return result

    def _array(self, depth: int) -> Any:
        marker = self._take(1)
        if marker == b"$":
            marker = self._take(1)
            self._expect(b"#")
            return self._numbers(marker, self._length())
        if marker != b"#":
            raise ValueError(f"an array without a count at byte {self.at}")
        return [self.value(depth + 1) for _ in range(self._length())]

    def _numbers(self, marker: bytes, count: int) -> np.ndarray:
        if marker not in _DTYPES:
            raise ValueError(f"unexpected type {marker!r} at byte {self.at}")
        dtype = np.dtype(_DTYPES[marker])
        return np.frombuffer(self._take(count * dtype.itemsize), dtype)

    def _text(self) -> str:
        return self._take(self._length()).decode()

    def _length(self) -> int:
        self._expect(b"L")
        length = int.from_bytes(self._take(8), signed=True)
        if not 0 <= length <= len(self.data) - self.at:
            raise ValueError(f"length {length} at byte {self.at} leaves the document")
        return length

    def _expect(self, marker: bytes) -> None:
        found = self._take(1)
        if found != marker:
            raise ValueError(f"found {found!r} at byte {self.at - 1}, expected {marker!r}")

    def _peek(self) -> bytes:
        return self.data[self.at : self.at + 1]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise ValueError(f"the document ends at byte {len(self.data)}, in the middle of a value")
        self.at += count
        return taken
