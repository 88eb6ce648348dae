"""PowerTransformer against SciPy, scikit-learn and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
import sklearn.preprocessing
from scipy.optimize import approx_fprime

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import PowerTransformer
from penstock.stages.preprocessing.numeric.power_transformer import PowerCurve, _bent, _by_rate

RNG = np.random.default_rng(7)
N = 2000
SHAPES = {
    "lognormal": RNG.lognormal(1, 0.7, N),
    "gamma": RNG.gamma(2, size=N),
    "below zero": -RNG.gamma(2, size=N),
    "of both signs": RNG.standard_t(4, N) + 1,
    "mostly zero": np.where(RNG.random(N) < 0.5, 0, RNG.lognormal(size=N)),
    "counts": RNG.poisson(3, N).astype(float),
    "large": RNG.lognormal(10, 3, N),
}


def parts(x: np.ndarray, n: int = 3) -> list[pa.Table]:
    return [pa.table({"x": part}) for part in np.array_split(x, n)]


def test_yeo_johnson_agrees_with_scipy_and_scikit_learn(learn, subtests):
    for shape in SHAPES:
        with subtests.test(shape=shape):
            x = SHAPES[shape]
            bound, fitted = learn(PowerTransformer("x"), *parts(x))
            assert fitted["lambdas"]["x"] == pytest.approx(scipy.stats.yeojohnson_normmax(x), abs=1e-6)
            made = bound.transform(frames.from_arrow(pa.table({"x": x})), fitted)["x"].to_numpy()
            oracle = sklearn.preprocessing.PowerTransformer().fit_transform(x[:, None])[:, 0]
            np.testing.assert_allclose(made, oracle, rtol=1e-6, atol=1e-6)


def test_box_cox_agrees_with_scipy(learn, subtests):
    for shape in ["lognormal", "gamma", "large"]:
        with subtests.test(shape=shape):
            x = SHAPES[shape]
            bound, fitted = learn(PowerTransformer("x", method="box-cox", standardize=False), *parts(x))
            assert fitted["lambdas"]["x"] == pytest.approx(scipy.stats.boxcox_normmax(x, method="mle"), abs=1e-6)
            made = bound.transform(frames.from_arrow(pa.table({"x": x})), fitted)["x"].to_numpy()
            np.testing.assert_allclose(made, scipy.stats.boxcox(x, fitted["lambdas"]["x"]), rtol=1e-11, atol=1e-13)


@pytest.mark.thorough
def test_more_values_than_cells_cost_less_than_a_millionth(learn, subtests):
    for draw, shape in [("lognormal", (3, 2)), ("standard_t", (4,))]:
        with subtests.test(draw=draw, shape=shape):
            x = getattr(np.random.default_rng(3), draw)(*shape, size=60_000)
            bound, fitted = learn(PowerTransformer("x"), *parts(x))
            assert fitted["lambdas"]["x"] == pytest.approx(scipy.stats.yeojohnson_normmax(x), abs=1e-6)
            made = bound.transform(frames.from_arrow(pa.table({"x": x})), fitted)["x"].to_numpy()
            assert (made.mean(), made.std()) == (pytest.approx(0, abs=1e-6), pytest.approx(1, abs=1e-6))


def test_values_far_from_zero_keep_their_digits(learn, subtests):
    gaps = np.round(np.random.default_rng(3).gamma(2, size=N), 6) + 0.01
    for shift in [2e3, 1e8]:
        with subtests.test(shift=shift):
            bound, fitted = learn(PowerTransformer("x", method="box-cox"), *parts(shift + gaps))
            made = bound.transform(frames.from_arrow(pa.table({"x": shift + gaps})), fitted)["x"].to_numpy()
            exact = (
                np.log1p(gaps / shift) * fitted["lambdas"]["x"]
            )  # a power of x is, but for a factor, one of x / shift
            bent = np.expm1(exact) * np.sign(fitted["lambdas"]["x"])
            np.testing.assert_allclose(made, (bent - bent.mean()) / bent.std(), rtol=1e-6, atol=1e-6)
            assert abs(scipy.stats.skew(made)) < 0.5 < scipy.stats.skew(gaps)


def test_the_curve_is_that_of_scipy_moved_and_stretched(subtests):
    x = np.array([-80.0, -5.0, -1e-9, 0.0, 1e-9, 0.3, 5.0, 1e3])
    for exponent in [0.0, 1e-12, -1e-7, 0.5, 1.0, 2.0, 2 - 1e-12, -1.5, 3.0]:
        for origin in [0.0, 5.0, -5.0]:
            with subtests.test(exponent=exponent, origin=origin):
                whole = scipy.stats.yeojohnson(np.append(x, origin), 0.0 if abs(exponent) < 1e-6 else exponent)
                slope = (1 + abs(origin)) ** ((exponent - 1) * np.sign(origin))
                expected = (whole[:-1] - whole[-1]) / slope / (1 + abs(origin))
                made = PowerCurve(exponent, origin)(x)
                np.testing.assert_allclose(made, expected, rtol=1e-5 if abs(exponent) < 1e-6 else 1e-9, atol=1e-12)


def test_the_derivative_by_the_rate_is_that_of_differences(subtests):
    logs = np.array([-2.0, -1e-3, 0.0, 0.5, 1.0, 4.0])
    for rate in [0.0, 1e-9, -1e-4, 0.0051, -0.7, 3.0]:
        with subtests.test(rate=rate):
            near = [approx_fprime(np.array([rate]), lambda r, t=t: _bent(float(r[0]), t), 1e-6)[0] for t in logs]
            np.testing.assert_allclose(_by_rate(rate, logs, _bent(rate, logs)), near, rtol=1e-4, atol=1e-8)


def test_a_constant_column_has_a_lambda_of_one(learn, subtests):
    for value in [0.0, -7.5, 0.1, 1e140]:
        for standardize in [True, False]:
            with subtests.test(value=value, standardize=standardize):
                tables = [pa.table({"x": [value, None]}), pa.table({"x": [value] * 3})]
                bound, fitted = learn(PowerTransformer("x", standardize=standardize), *tables)
                assert fitted["lambdas"] == {"x": 1.0}
                made = bound.transform(frames.from_arrow(tables[0]), fitted)["x"].to_list()
                assert made == [pytest.approx(0.0 if standardize else value, rel=1e-12), None]


def test_a_scored_value_that_float64_cannot_hold_is_told_with_its_row(local):
    curve = np.abs(np.random.default_rng(3).normal(3, 1, 500)) ** 0.5  # lambda is above 1
    model = ps.Pipeline(PowerTransformer("x")).fit(local.from_arrow(pa.table({"x": curve})))
    with pytest.raises(DataValueError, match="column 'x' has 1 values so far from those of the fit") as caught:
        model.transform(local.from_arrow(pa.table({"x": [1.0, None, 1e308]}))).to_arrow()
    assert caught.value.row == 2
    assert model.predict([{"x": math.inf}]) == [{"x": math.inf}]


def test_box_cox_takes_numbers_above_zero_and_tells_of_others(local, subtests):
    pipeline = ps.Pipeline(PowerTransformer("x", method="box-cox"))
    model = pipeline.fit(local.from_arrow(pa.table({"x": [1.0, 2.0, None, 5.0]})))
    for bad in (0.0, -1.0):
        data = local.from_arrow(pa.table({"x": [1.0, 2.0, None, 5.0, 3.0, bad]}))
        for act in (pipeline.fit, lambda rows: model.transform(rows).to_arrow()):
            with subtests.test(bad=bad, act=act):
                with pytest.raises(DataValueError, match="column 'x' has 1 values that are not positive") as caught:
                    act(data)
                assert caught.value.row == 5


def test_what_cannot_be_learned_from_is_refused(learn):
    for values, problem in [
        ([1.0, -math.inf], "has 1 values that are infinite"),
        ([1.0, 1e151], "has 1 values that are too large"),
        ([None, None], "has no value"),
    ]:
        with pytest.raises(DataValueError, match=rf"column 'x' {problem}"):
            learn(PowerTransformer("x"), pa.table({"x": pa.array(values, pa.float64())}))
    with pytest.raises(ConfigError, match="Did you mean 'box-cox'"):
        PowerTransformer("x", method="boxcox")


def test_values_of_every_size_and_both_signs_stay_finite(apply):
    x = np.concatenate([-np.geomspace(1e-150, 1e150, 40), np.geomspace(1e-150, 1e150, 40), [0.0]])
    made = apply(PowerTransformer("x"), pa.table({"x": x}))["x"].to_numpy()
    assert np.isfinite(made).all()
    assert made.std() == pytest.approx(1)
