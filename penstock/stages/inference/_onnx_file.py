"""What an ONNX file is made of, read without ONNX: enough to refuse one that is cut off, or that reads other files.

A file is a message of Protocol Buffers, ``ModelProto`` of onnx.proto: fields with a number and a wire type, some of
them messages themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _TENSOR, _SPARSE, _FUNCTION, _TRAINING = range(8)
_INSIDE = {
    _MODEL: {7: _GRAPH, 20: _TRAINING, 25: _FUNCTION},
    _TRAINING: {1: _GRAPH, 2: _GRAPH},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _FUNCTION: {7: _NODE, 11: _ATTRIBUTE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}
"""For each message the fields that hold messages in which a tensor may lie."""
_NAME, _EXTERNAL, _LOCATION = 8, 13, 14
_DEEPEST = 32


def check_onnx(data: bytes) -> None:
    """Raise ValueError for what is no ONNX model, and for one whose tensors lie in other files.

    Examples
    --------
    >>> check_onnx(bytes([8, 7]))
    Traceback (most recent call last):
    ValueError: it has no graph
    """
    view = memoryview(data)
    if 7 not in {number for number, _ in _fields(view)}:
        raise ValueError("it has no graph")
    _check(view, _MODEL, _DEEPEST)


def _check(view: memoryview, kind: int, depth: int) -> None:
    if not depth:
        raise ValueError("its graphs lie too deep in each other")
    fields = list(_fields(view))
    if kind == _TENSOR and any(number == _EXTERNAL or (number == _LOCATION and value) for number, value in fields):
        name = next((bytes(value).decode(errors="replace") for number, value in fields if number == _NAME), "")
        raise ValueError(f"tensor {name!r} lies in another file")
    for number, value in fields:
        if number in _INSIDE[kind] and isinstance(value, memoryview):
            _check(value, _INSIDE[kind][number], depth - 1)


def _fields(view: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message."""
    place = 0
    while place < len(view):
        key, place = _varint(view, place)
        wire = key & 7
        if wire == 0:
            value, place = _varint(view, place)
            yield key >> 3, value
            continue
        if wire == 2:
            size, place = _varint(view, place)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"it has a field of unknown kind {wire} at byte {place}")
        if place + size > len(view):
            raise ValueError(f"it is cut off at byte {len(view)}")
        yield key >> 3, view[place : place + size]
        place += size


def _varint(view: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(view) and shift < 64:
        byte = view[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    raise ValueError(f"it is cut off at byte {place}")
