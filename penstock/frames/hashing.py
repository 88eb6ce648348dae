"""The one hash of the library: MurmurHash3_x86_32 over the UTF-8 bytes of a text, the same on every device.

Austin Appleby's algorithm (public domain), as scikit-learn's ``murmurhash3_32`` and MLlib's ``HashingTF`` have it.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock.frames import cudf

SEED = 42
"""MLlib's, for its hashing stages."""

_FEW = 24
_MASK = 0xFFFFFFFF
_Word: TypeAlias = Any
"""A Python int below 2**32, or an array of uint32: what is said of one holds for the other."""


def murmur3(series: nw.Series, seed: int = SEED) -> nw.Series:
    """Return the hash of each string of a series, uint32; null stays null.

    Kernel: NumPy over the bytes and offsets on a CPU, cuDF's own hash on a GPU.

    Parameters
    ----------
    series : narwhals.Series
        Strings.
    seed : int, default=42
        From 0 to 2**32 - 1.

    Examples
    --------
    >>> series = nw.from_native(pl.Series(["test", None, ""]), series_only=True)
    >>> murmur3(series, seed=0).to_list()
    [3127628307, None, 0]
    """
    native = nw.to_native(series)
    if isinstance(native, pl.Series):
        hashed: Any = pl.Series(series.name, murmur3_array(native.to_arrow(), seed))
    else:
        hashed = cudf.murmur3(native, seed).rename(series.name)
    return nw.from_native(hashed, series_only=True)


def murmur3_array(values: pa.Array, seed: int = SEED) -> pa.Array:
    """Return the hash of each string of an Arrow array, uint32; null stays null.

    Examples
    --------
    >>> murmur3_array(pa.array(["test", None]), seed=0).to_pylist()
    [3127628307, None]
    """
    strings = values.cast(pa.large_string())
    _, offsets, data = strings.buffers()
    if not len(strings):
        return pa.array([], pa.uint32())
    places = np.frombuffer(offsets, np.int64, len(strings) + 1, 8 * strings.offset)
    content = np.frombuffer(data or b"", np.uint8)[places[0] : places[-1]]
    hashes = _hashed(content, places - places[0], seed)
    return pa.array(hashes, mask=None if not strings.null_count else strings.is_null().to_numpy(zero_copy_only=False))


def murmur3_text(text: str, seed: int = SEED) -> int:
    """Return the hash of one string, in plain Python: some microseconds for a word.

    Examples
    --------
    >>> hex(murmur3_text("test", seed=0))
    '0xba6bd213'
    """
    data = text.encode()
    whole = len(data) & ~3
    state = _absorbed(seed, data[:whole])
    return _finished(state, int.from_bytes(data[whole:], "little"), len(data))


def bucket(hashes: Any, num_buckets: int) -> Any:
    """Return in which of so many buckets a hash falls: as a signed number, modulo, never negative; MLlib's rule.

    Parameters
    ----------
    hashes : int, numpy.ndarray of int64, narwhals.Series or narwhals.Expr of Int64
        Hashes from 0 to 2**32 - 1.
    num_buckets : int
        From 1 to 2**31 - 1.

    Examples
    --------
    >>> bucket(murmur3_text("a"), 1000), bucket(np.array([0, 2**32 - 1]), 1000).tolist()
    (467, [0, 999])
    """
    # Without negative numbers and without %, which frame libraries do not all mean or have alike.
    shifted = hashes + hashes // 2**31 * (-(2**32) % num_buckets)
    return shifted - shifted // num_buckets * num_buckets


def _hashed(data: np.ndarray, offsets: np.ndarray, seed: int) -> np.ndarray:
    """Return the hash of the bytes between each two offsets, uint32.

    All strings take in their first word of four bytes together, then their second, and so on; in order of length, so
    that those which have another one are the end of the array. The last few, if they are long, go one by one.
    """
    lengths = np.diff(offsets)
    counts = lengths >> 2
    order = np.argsort(counts.astype(np.min_scalar_type(counts.max())), kind="stable")
    starts, counts, rest = offsets[:-1][order], counts[order], (lengths[order] & 3).astype(np.uint32)
    words = _words(data)
    states = np.full(len(order), seed, np.uint32)
    done = first = 0
    while (first := int(np.searchsorted(counts, done, side="right"))) < len(order) - _FEW:
        states[first:] = _with_word(states[first:], words[starts[first:] + 4 * done])
        done += 1
    for row in range(first, len(order)):
        start, end = (int(starts[row]) + 4 * count for count in (done, int(counts[row])))
        states[row] = _absorbed(int(states[row]), data[start:end].tobytes())
    tails = words[starts + 4 * counts] & ((np.uint32(1) << (8 * rest)) - np.uint32(1))
    hashes = np.empty_like(states)
    hashes[order] = _finished(states, tails, lengths[order].astype(np.uint32))
    return hashes


def _words(data: np.ndarray) -> np.ndarray:
    """Return the four bytes from each place on, zeros after the end, as little-endian numbers in the same memory."""
    padded = np.concatenate([data, np.zeros(4, np.uint8)])
    return np.ndarray(len(data) + 1, "<u4", buffer=padded, strides=(1,))


def _absorbed(state: int, data: bytes) -> int:
    for (word,) in struct.iter_unpack("<I", data):
        state = _with_word(state, word)
    return state


def _with_word(state: _Word, word: _Word) -> _Word:
    return _rotated(state ^ _scrambled(word), 13) * 5 + 0xE6546B64 & _MASK


def _scrambled(word: _Word) -> _Word:
    return _rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotated(value: _Word, bits: int) -> _Word:
    return (value << bits | value >> 32 - bits) & _MASK


def _finished(state: _Word, tail: _Word, length: _Word) -> _Word:
    """Return the hash, with the one to three bytes after the last word, and avalanched."""
    value = state ^ _scrambled(tail) ^ length
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    return value ^ value >> 16
