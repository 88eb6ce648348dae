"""FeatureHasher against scikit-learn's hash and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from sklearn.utils import murmurhash3_32

from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import FeatureHasher

LARGE = 2**18


def _at(text: str, size: int = LARGE) -> int:
    return murmurhash3_32(text.encode(), 42) % size


def _vectors(table: pa.Table, name: str = "features") -> list[dict[int, float]]:
    pairs = zip(table[f"{name}_indices"].to_pylist(), table[f"{name}_values"].to_pylist(), strict=True)
    made = [dict(zip(indices, values, strict=True)) for indices, values in pairs]
    assert all(list(vector) == sorted(vector) for vector in made)
    return made


def test_a_number_is_at_its_name_and_a_category_counts_at_its_text(apply):
    table = pa.table({"x": [2.5, -1.0], "n": [7, 7], "c": ["a", "größe"], "b": [True, False]})
    made = apply(FeatureHasher(["x", "n", "c", "b"]), table)
    assert made.column_names == ["x", "n", "c", "b", "features_indices", "features_values"]
    assert _vectors(made) == [
        {_at("x"): 2.5, _at("n"): 7.0, _at("c=a"): 1.0, _at("b=true"): 1.0},
        {_at("x"): -1.0, _at("n"): 7.0, _at("c=größe"): 1.0, _at("b=false"): 1.0},
    ]


def test_what_falls_on_one_index_is_added_up(apply):
    values = np.random.default_rng(5).normal(size=(50, 9))
    table = pa.table({f"x{place}": column for place, column in enumerate(values.T)})
    found = _vectors(apply(FeatureHasher(table.column_names, num_features=2), table))
    sides = np.array([_at(name, 2) for name in table.column_names])
    for vector, row in zip(found, values, strict=True):
        assert vector == pytest.approx({side: row[sides == side].sum() for side in set(sides.tolist())}, rel=1e-13)


def test_an_infinity_is_refused(apply):
    with pytest.raises(DataValueError, match=r"'x'.* 1 "):
        apply(FeatureHasher(["c", "x"]), pa.table({"c": ["a", "b"], "x": [1.0, -math.inf]}))


def test_wrong_parameters_are_refused_before_reading(subtests):
    schema = pa.schema({"x": pa.float64(), "t": pa.date32(), "v_values": pa.int64(), "y": pa.int64()})
    for options, error, message in [
        ({"num_features": 1}, ConfigError, "num_features of FeatureHasher"),
        ({"num_features": 2**31}, ConfigError, "num_features of FeatureHasher"),
        ({"categorical_columns": "x"}, ConfigError, "categorical_columns of FeatureHasher has 'x'"),
        ({"categorical_columns": ["y"]}, ConfigError, "categorical_columns of FeatureHasher has 'y'"),
        ({"output_column": "v"}, ConfigError, "makes column 'v_values', which is there already"),
        ({"columns": ["x", "t"]}, SchemaError, "column 't' is date32"),
    ]:
        with subtests.test(options=options), pytest.raises(error, match=message):
            FeatureHasher(**{"columns": ["x"], **options}).bind(schema)
