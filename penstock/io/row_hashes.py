"""Hashes of row numbers: the same on every engine and device."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.frames import matrices


def hash_rows(rows: Any, seed: int) -> Any:
    """Hash row numbers, where they are, to fractions in [0, 1): the high 53 bits of :func:`random_bits`.

    Examples
    --------
    >>> int(hash_rows(np.arange(1, dtype=np.uint64), seed=1234567)[0] * 2**53) == 6457827717110365317 >> 11
    True
    """
    return _fractions(rows, np.uint64(seed % 2**64))


def random_bits(rows: Any, seed: int) -> Any:
    """Return the SplitMix64 stream of `seed` at each of the row numbers `rows`, both uint64: no two rows have the same.

    SplitMix64 is that of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    Examples
    --------
    >>> int(random_bits(np.arange(1, dtype=np.uint64), seed=1234567)[0])
    6457827717110365317
    """
    return _bits(rows, np.uint64(seed % 2**64))


def mix(state: np.ndarray) -> np.ndarray:
    """Return the output of SplitMix64 for each state, uint64: a one-to-one hash of numbers.

    Examples
    --------
    >>> hex(mix(np.array([1234567 + 0x9E3779B97F4A7C15], np.uint64))[0])
    '0x599ed017fb08fc85'
    """
    mixed: np.ndarray = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _stream(rows: Any, key: np.uint64) -> Any:
    return mix(key + (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


@matrices.fused
def _bits(_: Any, rows: Any, key: np.uint64) -> Any:
    return _stream(rows, key)


@matrices.fused
def _fractions(xp: Any, rows: Any, key: np.uint64) -> Any:
    return (_stream(rows, key) >> np.uint64(11)).astype(xp.float64) * 2.0**-53
