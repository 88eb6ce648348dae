"""Winsorizer and DropOutliers against NumPy, SciPy and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import DropOutliers, Imputer, Winsorizer
from penstock.statistics import Distribution

X = np.random.default_rng(4).standard_t(2, 1001)  # of an odd number, so that the median is a value
METHODS = ("gaussian", "iqr", "mad", "quantiles")


def _oracle(method, x):
    if method == "gaussian":
        return x.mean() - 3 * x.std(), x.mean() + 3 * x.std()
    if method == "mad":
        mad = scipy.stats.median_abs_deviation(x) / 0.67449
        return np.median(x) - 3.29 * mad, np.median(x) + 3.29 * mad
    shares = (0.25, 0.75) if method == "iqr" else (0.05, 0.95)
    low, high = np.quantile(x, shares, method="inverted_cdf")
    return (low - 1.5 * (high - low), high + 1.5 * (high - low)) if method == "iqr" else (low, high)


def test_bounds_are_those_of_numpy_and_scipy(learn, subtests):
    for tail in ["left", "right", "both"]:
        for method in METHODS:
            with subtests.test(tail=tail, method=method):
                _, fitted = learn(Winsorizer("x", capping_method=method, tail=tail), pa.table({"x": X}))
                low, high = _oracle(method, X)
                assert fitted["lower"] == ({"x": pytest.approx(low, rel=1e-12)} if tail != "right" else {})
                assert fitted["upper"] == ({"x": pytest.approx(high, rel=1e-12)} if tail != "left" else {})


def test_mad_of_a_summary_is_the_quantile_of_distances_whose_rank_is_wrong_by_twice_its_error(learn):
    x = np.random.default_rng(8).lognormal(size=200_000)
    _, fitted = learn(Winsorizer("x", capping_method="mad", fold=0.67449), pa.table({"x": x}))
    (stage, _), table = learn(Winsorizer("x", capping_method="mad"), pa.table({"x": x})), pa.table({"x": x})
    quantiles = stage.statistics(table.schema)["quantiles"]
    found: Distribution = quantiles.finish(quantiles.summarise(frames.from_arrow(table)))["x"]
    assert found.error > 0
    rank = np.sum(np.abs(x - found.median) <= fitted["upper"]["x"] - found.median)
    assert abs(rank - len(x) / 2) <= 2 * found.error + 1


def test_a_constant_column_is_its_own_bound(apply, subtests):
    for method in METHODS:
        for value in [0.1, -3, True]:
            with subtests.test(method=method, value=value):
                tables = [pa.table({"x": [value, None]}), pa.table({"x": [value] * 776})]
                assert apply(Winsorizer("x", capping_method=method, tail="both"), *tables)["x"].to_pylist() == [
                    value,
                    None,
                ]
                assert apply(DropOutliers("x", capping_method=method, tail="both"), *tables)["x"].to_pylist() == [
                    value,
                    None,
                ]


def test_a_column_that_is_mostly_one_value_is_refused(learn, subtests):
    for method in ["iqr", "mad", "quantiles"]:
        with subtests.test(method=method):
            with pytest.raises(
                DataValueError, match=rf"column 'x' varies too little for Winsorizer by '{method}'"
            ) as caught:
                learn(Winsorizer("x", capping_method=method), pa.table({"x": [0.0] * 99 + [5.0]}))
            assert caught.value.column == "x"


def test_a_floating_column_keeps_its_type(apply, subtests):
    for kind, made in [
        (pa.float32(), pa.float32()),
        (pa.float64(), pa.float64()),
        (pa.int8(), pa.float64()),
        (pa.bool_(), pa.float64()),
    ]:
        with subtests.test(kind=kind, made=made):
            table = pa.table({"x": pa.array([0, 1, 0, None], pa.int8()).cast(kind)})
            assert apply(Winsorizer("x", tail="both"), table).schema.field("x").type == made


def test_bounds_beyond_the_type_cap_infinities_alone(learn, subtests):
    for kind in [pa.float32(), pa.float64()]:
        with subtests.test(kind=kind):
            largest = float(np.finfo(kind.to_pandas_dtype()).max)
            table = pa.table({"x": pa.array([-largest, -largest, largest, largest], kind)})
            bound, fitted = learn(Winsorizer("x", capping_method="iqr", tail="both"), table)
            later = frames.from_arrow(pa.table({"x": pa.array([math.inf, -math.inf, largest, 1.0], kind)}))
            assert bound.transform(later, fitted)["x"].to_list() == [largest, -largest, largest, 1.0]
            function = bound.value_function("x", kind, fitted)
            assert [function(value) for value in (math.inf, largest)] == [largest, largest]


def test_an_infinity_after_the_fit_is_capped_or_dropped(learn):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0]})
    later = frames.from_arrow(pa.table({"x": [math.inf, None, -math.inf, 2.0]}))
    bound, fitted = learn(Winsorizer("x", capping_method="quantiles", tail="both"), table)
    assert bound.transform(later, fitted)["x"].to_list() == [4.0, None, 1.0, 2.0]
    bound, fitted = learn(DropOutliers("x", capping_method="quantiles"), table)
    assert bound.transform(later, fitted)["x"].to_list() == [None, -math.inf, 2.0]


def test_dropped_rows_are_counted_once_and_statistics_after_are_of_the_others(local):
    x = [1.0, 2.0, 3.0, 4.0, 1000.0, 1000.0, None]
    y = [1.0, 2.0, 3.0, 4.0, 1000.0, 5.0, -1000.0]
    data = local.from_arrow(pa.table({"x": x, "y": y}))
    model = ps.Pipeline(DropOutliers(["x", "y"], capping_method="quantiles", fold=0.3, tail="both"), Imputer("x")).fit(
        data
    )
    assert model.fitted[0]["upper"] == {"x": 1000.0, "y": 4.0}
    assert model.transform(data).to_arrow()["y"].to_pylist() == [2.0, 3.0, 4.0]
    assert model.report.rows.dropped == {"x is an outlier": 1, "y is an outlier": 3}


def test_wrong_parameters_are_refused(subtests):
    for parameters, message in [
        ({"capping_method": "gauss"}, "capping_method of Winsorizer is 'gauss', expected one of gaussian, iqr, mad"),
        ({"tail": "up"}, "tail of Winsorizer is 'up'"),
        ({"fold": 0}, "fold of Winsorizer is 0, expected a number > 0"),
        ({"fold": "all"}, "fold of Winsorizer is 'all', expected a number"),
        ({"fold": 10**400}, "fold of Winsorizer is 10{400}, expected a finite number"),
        ({"fold": math.inf}, "fold of Winsorizer is inf, expected a finite number"),
        ({"fold": 0.5, "capping_method": "quantiles"}, "fold of Winsorizer is 0.5, .* below 0.5 for quantiles"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            Winsorizer("x", **parameters)
