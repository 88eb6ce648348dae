"""Limits of one request, which hold before objects are made of its body."""

from __future__ import annotations

import re

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARKS = (b",", b":", b"{", b"[")


class TooLargeError(Exception):
    """A request has more rows, values or bytes than are taken at once."""


def check_declared(length: str | None, most: int) -> None:
    """Raise TooLargeError for a body that is declared longer than is taken: none of it is read."""
    if length is not None and length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise TooLargeError(f"the body is declared to have {length:.30} bytes, expected at most {most}")


def check_values(body: bytes, most: int) -> None:
    """Raise TooLargeError for JSON of more keys and values than are taken.

    It counts what stands between them: an object of Python's takes up to a hundred times the bytes of its text, and a
    parser has made all of them before anybody can count.

    Examples
    --------
    >>> check_values(b'[{"x": "1, 2, 3, 4"}, {"x": null}]', most=6)
    >>> check_values(b"[{},{},{},{},{}]", most=5)
    Traceback (most recent call last):
    penstock.integrations.serving.limits.TooLargeError: the body has 10 keys and values, expected at most 5
    """
    if _count(body) > most and (found := _count(_TEXT.sub(b"", body))) > most:
        raise TooLargeError(f"the body has {found} keys and values, expected at most {most}")


def _count(body: bytes) -> int:
    return sum(map(body.count, _MARKS))
