"""ReduceDtypes against NumPy's and pandas' smallest types, and what becomes of values that do not fit."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import ReduceDtypes, StandardScaler

ENDS = [
    0,
    1,
    -1,
    *(sign * 2**bits + step for bits in (7, 8, 15, 16, 31, 32) for sign in (1, -1) for step in (-1, 0, 1)),
]


def made(learn, stage, *tables):
    """Return the first table transformed, its type checked against the one that the fitted stage declares."""
    bound, fitted = learn(stage, *tables)
    found = frames.to_arrow(bound.transform(frames.from_arrow(tables[0]), fitted))
    assert found.schema == bound.learned_schema(tables[0].schema, fitted)
    return found


def test_integers_get_the_type_that_pandas_takes_and_keep_their_values(learn, subtests):
    values = [*ENDS, 2**63 - 1, -(2**63)]
    table = pa.table({str(value): pa.array([0, value, None], pa.int64()) for value in values})
    for unsigned in (False, True):
        found = made(learn, ReduceDtypes(table.column_names, unsigned=unsigned), table)
        for value in values:
            way = "unsigned" if unsigned and value >= 0 else "signed"
            smallest = pd.to_numeric(pd.Series([0, value]), downcast=way).dtype
            with subtests.test(value=value, unsigned=unsigned):
                assert str(found[str(value)].type) == (str(smallest) if smallest.itemsize < 8 else "int64")
                assert found[str(value)].to_pylist() == [0, value, None]


def test_no_type_grows_and_others_stay(learn, subtests):
    for kind, values, expected in [
        (pa.uint8(), [0, 255], pa.uint8()),  # int16 holds them too, and is larger
        (pa.uint16(), [0, 127], pa.int8()),
        (pa.uint64(), [0, 2**64 - 1], pa.uint64()),
        (pa.int8(), [-1], pa.int8()),
        (pa.bool_(), [True], pa.bool_()),
        (pa.float32(), [0.5], pa.float32()),
    ]:
        with subtests.test(kind=kind, values=values):
            found = made(learn, ReduceDtypes("x"), pa.table({"x": pa.array([*values, None], kind)}))["x"]
            assert (found.type, found.to_pylist()) == (expected, [*values, None])


def test_float64_becomes_float32_only_where_every_value_survives(learn, subtests):
    for values, holds in [
        ([0.5, 2.0**127, 2.0**-149, -0.0], True),
        ([math.inf, -math.inf, 1.0], True),
        ([0.1], False),
        ([2.0**24 + 1], False),
        ([1e300], False),
        ([2.0**-150], False),
    ]:
        with subtests.test(values=values, holds=holds):
            found = made(learn, ReduceDtypes("x"), pa.table({"x": [*values, None]}))["x"]
            assert found.type == (pa.float32() if holds else pa.float64())
            assert found.cast(pa.float64()).to_pylist() == [*values, None]


def test_a_tolerance_lets_values_change_by_that_share(learn, subtests):
    x = np.random.default_rng(1).lognormal(sigma=20, size=2000)
    for tolerance, holds in [(1e-7, True), (1e-9, False)]:
        with subtests.test(tolerance=tolerance, holds=holds):
            found = made(learn, ReduceDtypes("x", tolerance=tolerance), pa.table({"x": x}))["x"]
            assert found.type == (pa.float32() if holds else pa.float64())
            np.testing.assert_allclose(found.to_numpy(), x, rtol=tolerance)


def test_one_value_beyond_float32_in_another_partition_keeps_float64(learn):
    tables = [pa.table({"x": [0.5, 0.25], "i": [1, 2]}), pa.table({"x": [1e39], "i": [40_000]})]
    found = made(learn, ReduceDtypes(["x", "i"], tolerance=0.1), *tables)
    assert found.schema.types == [pa.float64(), pa.int32()]


def test_values_that_the_type_does_not_hold_are_refused_and_found(local, subtests):
    for learned, later, first, message in [
        ([1, 100], [127, 128, -129, None], 1, "column 'x' has 2 values that int8 does not hold"),
        ([0.5, 1.0], [0.25, None, 0.1, 1e300], 2, "column 'x' has 2 values that float32 does not hold"),
    ]:
        model = ps.Pipeline(ReduceDtypes("x")).fit(local.from_arrow(pa.table({"x": learned})))
        with subtests.test(later=later):
            with pytest.raises(DataValueError, match=message) as caught:
                model.transform(local.from_arrow(pa.table({"x": later}))).to_arrow()
            assert caught.value.row == first
            function = model.stages[0].value_function("x", pa.array(learned).type, model.fitted[0])
            with pytest.raises(DataValueError, match="column 'x' has 1 values"):
                function(later[first])


def test_a_type_has_room_beyond_what_was_seen(learn):
    bound, fitted = learn(ReduceDtypes("x"), pa.table({"x": [1, 2]}))
    assert bound.transform(frames.from_arrow(pa.table({"x": [-128, 127]})), fitted)["x"].to_list() == [-128, 127]


def test_stages_after_it_and_a_saved_model_know_the_types(local, tmp_path):
    data = local.from_arrow(pa.table({"x": [1, 2, 3], "y": [0.5, 1.5, None]}))
    model = ps.Pipeline(ReduceDtypes(["x", "y"]), StandardScaler("x")).fit(data)
    model.save(tmp_path / "model")
    found = ps.PipelineModel.load(tmp_path / "model").transform(data)
    assert found.schema.types == found.to_arrow().schema.types == [pa.float64(), pa.float32()]
    assert model.fitted[0] == {"types": {"x": "int8", "y": "float32"}}


def test_a_tolerance_that_is_no_share_is_refused(subtests):
    for tolerance in (-1e-9, 1, math.nan, "all"):
        with subtests.test(tolerance=tolerance), pytest.raises(ConfigError, match="tolerance of ReduceDtypes is"):
            ReduceDtypes("x", tolerance=tolerance)
