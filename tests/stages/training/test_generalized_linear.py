"""Generalised linear regression against MLlib, scikit-learn and closed forms: convergence, refusals."""

import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mllib_metrics import frame_of
from scipy import special, stats
from sklearn import linear_model

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.exact.gram import RowSlices
from penstock.stages.training.linear import _families
from penstock.stages.training.linear._links import LINKS

ROWS = 300
NAMES = ("a", "b", "c")
TIGHT = {"tol": 1e-10, "max_iter": 100}


def sample() -> dict[str, np.ndarray]:
    """Return features of several sizes, weights, an offset, and a label for each family."""
    draw = np.random.default_rng(5)
    x = draw.normal(size=(ROWS, 3))
    score = 0.4 * x[:, 0] - 0.3 * x[:, 1] + 0.1 * x[:, 2]
    mean = np.exp(score + 0.5)
    columns = {name: x[:, place] * size + at for place, (name, size, at) in enumerate(
        [("a", 1.0, 0.0), ("b", 5.0, 20.0), ("c", 0.2, -1.0)])}  # fmt: skip
    return {
        **columns,
        "w": draw.integers(1, 4, ROWS).astype(float),
        "o": draw.uniform(-0.3, 0.3, ROWS),
        "gaussian": 6 + score + draw.normal(size=ROWS) / 3,
        "binomial": (score + draw.logistic(size=ROWS) > 0.3).astype(float),
        "poisson": draw.poisson(mean).astype(float),
        "gamma": 0.5 + draw.gamma(4.0, mean / 4.0),
        "tweedie": np.where(draw.random(ROWS) < 0.2, 0.0, 0.2 + draw.gamma(4.0, mean / 4.0)),
    }


SAMPLE = sample()


def dataset(engine: Engine, columns: dict[str, Any] = SAMPLE) -> Dataset:
    return engine.from_arrow(pa.table(columns), fragment_bytes=4000)


def fitted(engine: Engine, label: str, columns: dict[str, Any] = SAMPLE, **options: Any) -> PipelineModel:
    given = {"features": NAMES, **TIGHT, **options}
    return Pipeline(st.GeneralizedLinearRegression(label, **given)).fit(dataset(engine, columns))


# MLlib


@pytest.fixture(scope="module")
def rows(spark: Any) -> Any:
    made = frame_of(spark, {**SAMPLE, "features": np.column_stack([SAMPLE[name] for name in NAMES]).tolist()})
    yield made
    made.unpersist()


MLLIBS = [
    ("gaussian", {"weight": "w", "offset": "o", "reg_param": 0.1}),
    ("binomial", {"weight": "w", "reg_param": 0.02}),
    ("binomial", {"link": "probit", "offset": "o"}),
    ("binomial", {"link": "cloglog", "fit_intercept": False}),
    ("gamma", {}),
    ("tweedie", {"variance_power": 1.5, "link_power": 0.0, "weight": "w"}),
    ("tweedie", {"variance_power": 1.0, "link_power": 0.5, "weight": "w", "reg_param": 0.03}),
]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_everything_is_as_in_mllib(local: Engine, rows: Any, subtests: Any) -> None:
    from pyspark.ml.regression import GeneralizedLinearRegression

    names = {"weight": "weightCol", "offset": "offsetCol", "reg_param": "regParam", "variance_power": "variancePower",
             "link_power": "linkPower", "fit_intercept": "fitIntercept", "link": "link"}  # fmt: skip
    for family, options in MLLIBS:
        given = {names[name]: value for name, value in options.items()}
        estimator = GeneralizedLinearRegression(
            labelCol=family, family=family, tol=1e-7, maxIter=100, linkPredictionCol="eta", **given
        )
        theirs = estimator.fit(rows)
        with subtests.test(family, **options):
            ours = fitted(local, family, family=family, link_prediction="eta", **options)
            assert_as_mllibs(ours, theirs, ours.transform(dataset(local)).to_arrow(), options)


def assert_as_mllibs(ours: PipelineModel, theirs: Any, predicted: pa.Table, options: dict[str, Any]) -> None:
    found, told = ours.fitted[0], theirs.summary
    assert found["converged"]
    close(found["coefficients"], theirs.coefficients.toArray())
    close(found["intercept"], theirs.intercept)
    summary = found["summary"]
    close(summary["coefficient_standard_errors"], told.coefficientStandardErrors)
    close(summary["t_values"], told.tValues)
    np.testing.assert_allclose(summary["p_values"], told.pValues, rtol=1e-6, atol=1e-12)
    close(summary["dispersion"], told.dispersion)
    if options.get("variance_power") != 1.5:  # MLlib has no AIC, and its deviance is off for labels of 0 to 0.1
        close(summary["aic"], told.aic)
    close(summary["deviance"], told.deviance)
    close(summary["null_deviance"], told.nullDeviance)
    counts = (told.numInstances, told.rank, told.degreesOfFreedom, told.residualDegreeOfFreedomNull)
    names_of = ("num_instances", "rank", "degrees_of_freedom", "residual_degree_of_freedom_null")
    assert tuple(summary[name] for name in names_of) == counts
    expected = np.array(told.predictions.select("eta", "prediction").collect())
    close(np.column_stack([predicted["eta"], predicted["prediction"]]), expected)


def close(found: Any, expected: Any, rtol: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(expected), rtol=rtol)


# scikit-learn


def tweedie(power: float) -> Any:
    return functools.partial(linear_model.TweedieRegressor, power=power, link="log")


SKLEARN = [
    ("poisson", {"family": "poisson"}, linear_model.PoissonRegressor),
    ("gamma", {"family": "gamma", "link": "log"}, linear_model.GammaRegressor),
    ("tweedie", {"family": "tweedie", "variance_power": 1.3, "link_power": 0.0}, tweedie(1.3)),
    ("gamma", {"family": "tweedie", "variance_power": 3.0, "link_power": 0.0}, tweedie(3)),
]


@pytest.mark.thorough
def test_coefficients_are_those_of_scikit_learn(local: Engine, subtests: Any) -> None:
    x = np.column_stack([SAMPLE[name] for name in NAMES])
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    for (label, options, oracle), weighted in itertools.product(SKLEARN, [False, True]):
        weight = SAMPLE["w"] if weighted else None
        theirs = oracle(alpha=0, solver="newton-cholesky", tol=1e-9, max_iter=1000).fit(scaled, SAMPLE[label], weight)
        with subtests.test(weighted=weighted, **options):
            model = fitted(local, label, weight="w" if weighted else None, **options)
            close(np.array(model.fitted[0]["coefficients"]) * x.std(axis=0), theirs.coef_)
            close(model.transform(dataset(local)).to_arrow()["prediction"], theirs.predict(scaled))
            share, summary = theirs.score(scaled, SAMPLE[label], weight), model.fitted[0]["summary"]
            assert 1 - summary["deviance"] / summary["null_deviance"] == pytest.approx(share, rel=1e-6)


@pytest.mark.thorough
def test_a_penalty_on_a_gamma_family_with_the_log_link_is_scikit_learns(local: Engine) -> None:
    x = np.column_stack([SAMPLE[name] for name in NAMES])
    theirs = linear_model.GammaRegressor(alpha=0.3, solver="newton-cholesky", tol=1e-10).fit(x, SAMPLE["gamma"])
    close(fitted(local, "gamma", family="gamma", link="log", reg_param=0.3).fitted[0]["coefficients"], theirs.coef_)


@pytest.mark.thorough
def test_the_gaussian_family_is_linear_regression(local: Engine, subtests: Any) -> None:
    for reg_param, fit_intercept in itertools.product([0.0, 0.2], [True, False]):
        options = {"features": NAMES, "weight": "w", "reg_param": reg_param, "fit_intercept": fit_intercept}
        with subtests.test(**options):
            line = Pipeline(st.LinearRegression("gaussian", **options)).fit(dataset(local)).fitted[0]
            found = fitted(local, "gaussian", **options).fitted[0]
            close(found["coefficients"], line["coefficients"], 1e-9)
            for name in () if reg_param else ("coefficient_standard_errors", "t_values", "p_values"):
                close(found["summary"][name], line["summary"][name], 1e-8)


# Closed forms


def test_one_binary_feature_gives_the_logarithms_of_the_means_and_their_errors(local: Engine) -> None:
    columns = {"x": [0.0, 0.0, 1.0, 1.0, 1.0], "y": [1, 3, 6, 9, 12]}
    found = fitted(local, "y", columns, family="poisson", features=("x",)).fitted[0]
    close([*found["coefficients"], found["intercept"]], [math.log(9 / 2), math.log(2)], 1e-12)
    close(found["summary"]["coefficient_standard_errors"], [math.sqrt(1 / 27 + 1 / 4), math.sqrt(1 / 4)], 1e-12)
    likelihood = stats.poisson.logpmf(columns["y"], [2, 2, 9, 9, 9]).sum()
    assert found["summary"]["aic"] == pytest.approx(-2 * likelihood + 4, rel=1e-12)


def test_an_intercept_alone_gives_the_share_of_successes_for_any_link(local: Engine) -> None:
    columns = {"x": [3.0] * 5, "y": [0, 0, 0, 1, 1]}
    for link in ("logit", "probit", "cloglog"):
        model = fitted(local, "y", columns, family="binomial", features=("x",), link=link)
        close(model.transform(dataset(local, columns)).to_arrow()["prediction"], [0.4] * 5, 1e-12)
        summary = model.fitted[0]["summary"]
        expected = -2 * (3 * math.log(0.6) + 2 * math.log(0.4))
        close([summary["deviance"], summary["null_deviance"]], [expected] * 2, 1e-12)


def test_a_link_undoes_its_inverse_and_has_its_derivative(subtests: Any) -> None:
    mean = np.array([0.02, 0.3, 0.5, 0.97])
    for name, link in LINKS.items():
        with subtests.test(name):
            np.testing.assert_allclose(link.inverse(link(mean)), mean, rtol=1e-12)
            slope = (link(mean + 1e-6) - link(mean - 1e-6)) / 2e-6
            np.testing.assert_allclose(link.derivative(mean), slope, rtol=1e-6)


def test_a_unit_deviance_is_the_integral_of_the_scaled_residual() -> None:
    from scipy.integrate import quad

    label, mean = 1.7, 0.4
    for power in (0.0, 1.0, 1.5, 2.0, 2.7):
        integral, _ = quad(lambda t, power=power: 2 * (label - t) / t**power, mean, label)
        found = _families.tweedie(power).deviance(np.array([label]), np.array([mean]))[0]
        assert found == pytest.approx(integral, rel=1e-9), power


@pytest.mark.thorough
def test_weights_of_a_gamma_family_count_as_repeated_rows(local: Engine) -> None:
    repeats = SAMPLE["w"].astype(int) - 1  # 0 among them
    weighted = fitted(local, "gamma", {**SAMPLE, "w": repeats}, family="gamma", link="log", weight="w").fitted[0]
    repeated = {name: np.repeat(values, repeats) for name, values in SAMPLE.items()}
    plain = fitted(local, "gamma", repeated, family="gamma", link="log").fitted[0]
    close(weighted["coefficients"], plain["coefficients"], 1e-10)
    close(weighted["summary"]["deviance"], plain["summary"]["deviance"], 1e-10)
    assert weighted["summary"]["num_instances"] == (repeats > 0).sum()


@pytest.mark.thorough
def test_an_offset_is_exposure(local: Engine) -> None:
    exposure = SAMPLE["w"]
    columns = {**SAMPLE, "o": np.log(exposure), "rate": SAMPLE["poisson"] / exposure}
    counts = fitted(local, "poisson", columns, family="poisson", offset="o").fitted[0]
    rates = fitted(local, "rate", columns, family="poisson", weight="w").fitted[0]
    close(counts["coefficients"], rates["coefficients"], 1e-9)
    close(counts["summary"]["deviance"], rates["summary"]["deviance"], 1e-9)
    close(counts["summary"]["null_deviance"], rates["summary"]["null_deviance"], 1e-9)


@pytest.mark.thorough
def test_a_constant_feature_has_coefficient_0_and_is_named(local: Engine) -> None:
    found = fitted(local, "poisson", {**SAMPLE, "k": [0.1] * ROWS}, family="poisson", features=(*NAMES, "k")).fitted[0]
    plain = fitted(local, "poisson", family="poisson").fitted[0]
    assert found["constant"] == ["k"]
    assert found["coefficients"] == [*plain["coefficients"], 0.0]
    errors = found["summary"]["coefficient_standard_errors"]
    assert errors[3] is None
    assert [*errors[:3], errors[4]] == plain["summary"]["coefficient_standard_errors"]
    assert found["summary"]["rank"] == 4


@pytest.mark.thorough
def test_features_that_explain_each_other_share_a_coefficient(local: Engine) -> None:
    columns = {**SAMPLE, "twice": 2 * SAMPLE["a"]}
    found = fitted(local, "poisson", columns, family="poisson", features=(*NAMES, "twice")).fitted[0]
    plain = fitted(local, "poisson", family="poisson").fitted[0]
    a, b, c, twice = found["coefficients"]
    close([a + 2 * twice, b, c], plain["coefficients"], 1e-8)
    assert found["summary"]["coefficient_standard_errors"] == [None] * 5
    assert found["summary"]["degrees_of_freedom"] == ROWS - 4


@pytest.mark.thorough
def test_features_far_from_zero_cost_no_digits(local: Engine) -> None:
    rounded = {**SAMPLE, **{name: np.round(SAMPLE[name], 4) for name in NAMES}}
    far = {**rounded, **{name: rounded[name] + 2.0**20 for name in NAMES}}
    models = [fitted(local, "gamma", each, family="gamma", link="log").fitted[0] for each in (rounded, far)]
    close(models[1]["coefficients"], models[0]["coefficients"], 1e-8)


def test_no_features_are_a_fit_of_the_intercept(local: Engine) -> None:
    for family, link in (("gaussian", float), ("poisson", np.log), ("binomial", special.logit)):
        model = Pipeline(st.GeneralizedLinearRegression(family, features=[], family=family)).fit(dataset(local))
        mean = float(np.average(SAMPLE[family]))
        assert model.fitted[0]["intercept"] == pytest.approx(link(mean), rel=1e-8)
        made = model.transform(dataset(local)).to_arrow()["prediction"].to_pylist()
        assert made == pytest.approx([mean] * ROWS)
        assert model.predict({})["prediction"] == pytest.approx(mean)


def test_neither_features_nor_an_intercept_is_refused() -> None:
    with pytest.raises(ConfigError, match="neither features nor an intercept"):
        st.GeneralizedLinearRegression("gaussian", features=[], fit_intercept=False)


# Sums


def test_exact_products_are_those_of_fractions_in_any_order() -> None:
    draw = np.random.default_rng(2)
    matrix = draw.normal(size=(3, 700)) * 10.0 ** draw.integers(-3, 3, size=(3, 700)) * [[1e-9], [1.0], [1e200]]
    slices = RowSlices.of(np.abs(matrix).max(axis=1), 700, 700)
    found = slices.join(slices.products(matrix))
    parts = np.array_split(matrix[:, draw.permutation(700)], 5, axis=1)
    np.testing.assert_array_equal(slices.join(sum(slices.products(part) for part in parts)), found)
    for one, other in itertools.combinations_with_replacement(range(2), 2):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(matrix[one], matrix[other], strict=True))
        size = np.abs(matrix[one]).max() * np.abs(matrix[other]).max()
        assert found[one, other] == found[other, one] == pytest.approx(float(exact), rel=1e-15, abs=700 * size / 2**60)
    assert found[2, 2] == np.inf


def test_exact_products_of_numbers_far_below_the_largest_keep_40_bits() -> None:
    draw = np.random.default_rng(4)
    small = draw.normal(size=500) * 1e-6
    slices = RowSlices.of(np.ones(1), 2**13, 10**9)
    products = slices.products(np.append(small, 1.0)[None]) - slices.products(np.ones((1, 1)))
    exact = sum(Fraction(a) ** 2 for a in small)
    assert slices.join(products)[0, 0] == pytest.approx(float(exact), rel=2**-38)


# How it ends


def test_separable_classes_end_and_are_told(local: Engine) -> None:
    columns = {"x": [0.0, 1.0, 2.0, 3.0], "y": [0, 0, 1, 1]}
    model = fitted(local, "y", columns, family="binomial", features=("x",), max_iter=25)
    assert not model.fitted[0]["converged"]
    close(model.transform(dataset(local, columns)).to_arrow()["prediction"].to_numpy().round(6), [0, 0, 1, 1])


@pytest.mark.thorough
def test_units_of_the_label_do_not_decide_when_it_ends(local: Engine) -> None:
    expected = fitted(local, "gamma", family="gamma").fitted[0]["coefficients"]
    for scale in (1e-6, 1.0, 1e6):
        columns = {**SAMPLE, "gamma": SAMPLE["gamma"] * scale}
        found = fitted(local, "gamma", columns, family="gamma", tol=1e-6).fitted[0]
        close(np.array(found["coefficients"]) * scale, expected, 1e-8)


def test_a_perfect_fit_ends_and_has_no_errors(local: Engine) -> None:
    columns = {"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 4.0, 8.0]}
    found = fitted(local, "y", columns, features=("x",), link="log").fitted[0]
    assert found["converged"]
    close([*found["coefficients"], math.exp(found["intercept"])], [math.log(2), 1.0], 1e-12)


def test_a_step_into_impossible_means_is_halved(local: Engine) -> None:
    draw = np.random.default_rng(3)
    x = draw.exponential(size=200)
    columns = {"x": x, "y": draw.poisson(0.05 + 3 * x).astype(float)}
    found = fitted(local, "y", columns, family="poisson", link="identity", features=("x",)).fitted[0]
    mean = np.array(found["coefficients"]) * x + found["intercept"]
    assert found["converged"]
    assert (mean > 0).all()
    score = [((columns["y"] - mean) / mean * each).sum() for each in (np.ones(200), x)]
    np.testing.assert_allclose(score, 0, atol=1e-6)


def test_a_model_without_a_possible_beginning_is_refused(local: Engine) -> None:
    columns = {"x": [-1.0, 1.0, -2.0, 2.0], "y": [1.0, 1.0, 2.0, 2.0]}
    with pytest.raises(DataValueError, match="no coefficients to begin with") as caught:
        fitted(local, "y", columns, family="gamma", features=("x",), fit_intercept=False)
    assert "log link" in str(caught.value.hint)


# Scoring


def test_a_row_without_an_offset_has_nulls(local: Engine) -> None:
    model = fitted(local, "poisson", family="poisson", offset="o", link_prediction="eta")
    made = model.predict({**{name: SAMPLE[name][0] for name in NAMES}, "o": None})
    assert made == {"eta": None, "prediction": None}


@pytest.mark.thorough
def test_predictions_are_such_as_means_can_be(local: Engine) -> None:
    for link, far, expected in (("log", 1e5, np.finfo(float).max), ("identity", -1e5, 1e-16), ("sqrt", -1e5, None)):
        model = fitted(local, "poisson", family="poisson", link=link)
        assert model.fitted[0]["coefficients"][0] > 0
        assert model.predict({"a": far, "b": 0.0, "c": 0.0})["prediction"] == expected, link


def test_features_whose_predictors_overflow_are_refused_and_not_guessed(local: Engine) -> None:
    model = fitted(local, "gaussian", {**SAMPLE, "gaussian": SAMPLE["gaussian"] * 1e9})
    with pytest.raises(DataValueError, match=r"1 row\(s\) have features so large that linear predictors overflow"):
        model.transform(dataset(local, {"a": [1e308, 0.0], "b": [-1e308, 0.0], "c": [0.0, 0.0]})).to_arrow()


def test_the_table_tells_terms_side_by_side(local: Engine) -> None:
    stage = st.GeneralizedLinearRegression("poisson", features=NAMES, family="poisson")
    model = Pipeline(stage).fit(dataset(local))
    table = model.coefficients()
    assert table["feature"].to_pylist() == [*NAMES, "(intercept)"]
    assert table["p_value"].to_pylist() == model.fitted[0]["summary"]["p_values"]


# What is refused


NOT_OF_THE_FAMILY = [
    ({"family": "poisson"}, -0.5, "values of 0 or more"),
    ({"family": "gamma"}, 0.0, "values above 0"),
    ({"family": "binomial"}, 1.5, "values between 0 and 1"),
    ({"family": "tweedie", "variance_power": 1.5}, -1.0, "values of 0 or more"),
    ({"family": "tweedie", "variance_power": 2.5}, 0.0, "values above 0"),
]


def test_a_label_that_the_family_cannot_have_is_told_with_its_row(local: Engine, subtests: Any) -> None:
    for options, bad, expected in NOT_OF_THE_FAMILY:
        label = np.where(np.isin(np.arange(ROWS), (33, 80)), bad, 0.5)
        told = f"label 'y' has 2 value.*{expected}"
        with subtests.test(**options), pytest.raises(DataValueError, match=told) as caught:
            fitted(local, "y", {**SAMPLE, "y": label}, **options)
        assert (caught.value.column, caught.value.row) == ("y", 33)


def test_an_offset_that_is_none_is_refused_with_its_row(local: Engine) -> None:
    for bad, problem in ((None, "null"), (math.inf, "infinite")):
        offset = [bad if row in (33, 50) else value for row, value in enumerate(SAMPLE["o"].tolist())]
        with pytest.raises(DataValueError, match=f"column 'o' has 2 values that are {problem}") as caught:
            fitted(local, "poisson", {**SAMPLE, "o": offset}, family="poisson", offset="o", weight="w")
        assert caught.value.row == 33


def test_labels_that_are_all_at_the_edge_are_refused(local: Engine) -> None:
    for family, value in (("binomial", 1.0), ("binomial", 0.0), ("poisson", 0.0)):
        with pytest.raises(DataValueError, match=rf"label 'y' is {value} in every row") as caught:
            fitted(local, "y", {**SAMPLE, "y": [value] * ROWS}, family=family)
        assert caught.value.column == "y"


def test_a_penalty_needs_a_label_that_varies_or_an_intercept(local: Engine) -> None:
    with pytest.raises(DataValueError, match="a penalty has no scale"):
        fitted(local, "w", {**SAMPLE, "w": np.ones(ROWS)}, reg_param=0.1, fit_intercept=False)


WRONG = [
    {"family": "cauchy"}, {"link": "logit"}, {"reg_param": -1}, {"max_iter": 0}, {"tol": 0}, {"variance_power": 1.5},
    {"link_power": 2.0}, {"family": "tweedie", "variance_power": 0.5}, {"family": "tweedie", "link": "log"},
]  # fmt: skip


def test_a_wrong_parameter_is_refused_when_it_is_given(subtests: Any) -> None:
    for given in WRONG:
        with subtests.test(**given), pytest.raises(ConfigError, match=next(reversed(given))):
            st.GeneralizedLinearRegression("y", **given)


def test_the_offset_is_a_number(local: Engine) -> None:
    with pytest.raises(SchemaError, match="'o' is string"):
        fitted(local, "poisson", {**SAMPLE, "o": ["a"] * ROWS}, offset="o")
