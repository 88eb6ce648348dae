import random

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils import murmurhash3_32

from penstock.frames import hashing
from penstock.frames.hashing import bucket, murmur3, murmur3_array, murmur3_text


def _texts(alphabet: str, lengths: list[int]) -> list[str]:
    draw = random.Random(7)
    return ["".join(draw.choices(alphabet, k=length)) for length in lengths]


def test_it_is_what_scikit_learn_computes(subtests: pytest.Subtests) -> None:
    for name, texts in {
        "every length": _texts("abcXYZ019 \0\x7f", [*range(41)] * 3),
        "multi-byte": _texts("a\u00e4\u00df\u6f22\U0001f600", [*range(20)] * 20),
        "some long": _texts("ab", [*range(30), 5_000, 5_001, 100_003]),  # go on alone when the others have ended
        "all long": _texts("ab", [5_000 + i for i in range(40)]),
        "empty": ["", ""],
    }.items():
        for seed in (0, 42, 2**32 - 1):
            with subtests.test(name, seed=seed):
                expected = [murmurhash3_32(text.encode(), seed, positive=True) for text in texts]
                assert murmur3_array(pa.array(texts), seed).to_pylist() == expected
                assert [murmur3_text(text, seed) for text in texts] == expected


def test_nulls_stay_null_and_slices_begin_where_they_begin() -> None:
    texts = ["dropped", None, "", "word", None, "a longer one"]
    expected = [None if text is None else murmurhash3_32(text, 42, positive=True) for text in texts[1:]]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        hashed = murmur3_array(pa.array(texts, kind)[1:])
        assert (hashed.type, hashed.to_pylist()) == (pa.uint32(), expected)
    for values in (pa.array([], pa.string()), pa.nulls(3, pa.string()), pa.nulls(3)):
        hashed = murmur3_array(values)
        assert (hashed.type, hashed.to_pylist()) == (pa.uint32(), [None] * len(values))


def test_a_series_is_hashed_under_its_name() -> None:
    series = nw.from_native(pl.Series("s", ["b", None, "a"]), series_only=True)
    hashed = murmur3(series)
    assert (hashed.name, hashed.dtype) == ("s", nw.UInt32)
    assert hashed.to_list() == [hashing.murmur3_text("b"), None, hashing.murmur3_text("a")]


def test_a_bucket_is_the_signed_hash_modulo_the_number_of_buckets() -> None:
    hashes = np.array([0, 1, 999, 1000, 2**31 - 1, 2**31, 2**32 - 1000, 2**32 - 1], np.int64)
    for count in (1, 2, 1000, 2**18, 2**31 - 1):
        expected = np.mod(hashes.astype(np.uint32).view(np.int32).astype(np.int64), count).tolist()
        assert bucket(hashes, count).tolist() == expected
        assert [bucket(each, count) for each in hashes.tolist()] == expected
        series = nw.from_native(pl.Series("h", hashes), series_only=True)
        assert bucket(series, count).to_list() == expected
