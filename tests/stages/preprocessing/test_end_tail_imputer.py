"""EndTailImputer against pandas and NumPy: the closed forms of feature-engine's documentation."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError
from penstock.stages import EndTailImputer

RNG = np.random.default_rng(12)
X = pa.array(RNG.lognormal(size=1001), mask=RNG.random(1001) < 0.2)
KNOWN = pd.Series(X.drop_null().to_numpy())


def quartile(q):
    return np.quantile(KNOWN, q, method="inverted_cdf")


RANGE = quartile(0.75) - quartile(0.25)


def test_what_is_put_in_is_pandas_end_of_the_tail(learn, subtests):
    for parameters, expected in [
        ({}, KNOWN.mean() + 3 * KNOWN.std()),
        ({"fold": 2}, KNOWN.mean() + 2 * KNOWN.std()),
        ({"tail": "left"}, KNOWN.mean() - 3 * KNOWN.std()),
        ({"imputation_method": "iqr"}, quartile(0.75) + 3 * RANGE),
        ({"imputation_method": "iqr", "tail": "left", "fold": 1.5}, quartile(0.25) - 1.5 * RANGE),
        ({"imputation_method": "max"}, 3 * KNOWN.max()),
    ]:
        with subtests.test(parameters=parameters):
            _, fitted = learn(EndTailImputer("x", **parameters), pa.table({"x": X}))
            assert fitted["values"] == {"x": pytest.approx(expected, rel=1e-13)}


def test_values_that_do_not_vary_have_no_tail(apply, subtests):
    for method in ["gaussian", "iqr", "max"]:
        for rows in [[7, None], [7, 7, 7, 7, None]]:
            with subtests.test(method=method, rows=rows):
                fold = {"fold": 1} if method == "max" else {}
                assert (
                    apply(EndTailImputer("x", imputation_method=method, **fold), pa.table({"x": rows}))["x"][-1].as_py()
                    == 7.0
                )


def test_a_floating_column_keeps_its_type(apply, subtests):
    for kind, made in [
        (pa.float32(), pa.float32()),
        (pa.float64(), pa.float64()),
        (pa.int8(), pa.float64()),
        (pa.bool_(), pa.float64()),
    ]:
        with subtests.test(kind=kind, made=made):
            table = pa.table({"x": pa.array([0, 1, 0, None], pa.int8()).cast(kind)})
            assert apply(EndTailImputer("x"), table).schema.field("x").type == made


def test_an_end_beyond_the_type_is_its_largest_number(learn, subtests):
    for kind in [pa.float32(), pa.float64()]:
        for tail, method in [("left", "iqr"), ("right", "iqr"), ("right", "max")]:
            with subtests.test(kind=kind, tail=tail, method=method):
                largest = float(np.finfo(kind.to_pandas_dtype()).max)
                table = pa.table({"x": pa.array([-largest, -largest, largest, largest, None], kind)})
                bound, fitted = learn(EndTailImputer("x", imputation_method=method, tail=tail), table)
                expected = largest if tail == "right" else -largest
                assert bound.transform(frames.from_arrow(table), fitted)["x"].to_list()[-1] == expected
                assert bound.value_function("x", kind, fitted)(None) == expected


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({"imputation_method": "mean"}, "imputation_method of EndTailImputer is 'mean', expected one of gaussian, iqr"),
        ({"tail": "both"}, "tail of EndTailImputer is 'both', expected one of right, left"),
        ({"fold": 0}, "fold of EndTailImputer is 0, expected a number > 0"),
        ({"fold": math.inf}, "fold of EndTailImputer is inf, expected a number > 0"),
        ({"imputation_method": "max", "tail": "left"}, "tail of EndTailImputer is 'left', which .* 'max' does not"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            EndTailImputer("x", **parameters)
