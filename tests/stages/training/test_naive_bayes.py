"""Naive Bayes against scikit-learn; what it refuses, and what it makes of odd rows."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from class_scores import scored
from sklearn import naive_bayes as sk

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline

ROWS = 500
FEATURES = ("f0", "f1", "f2", "f3")
TYPES = ("multinomial", "complement", "bernoulli", "gaussian")
SKLEARN = {
    "multinomial": sk.MultinomialNB,
    "complement": sk.ComplementNB,
    "bernoulli": sk.BernoulliNB,
    "gaussian": sk.GaussianNB,
}


def features(model_type: str, label: np.ndarray) -> np.ndarray:
    """Return four columns in the domain of a model, which differ a little between classes."""
    rng = np.random.default_rng(3)
    shift = np.arange(label.max() + 1)[label][:, None] * np.array([0.4, -0.3, 0.0, 0.2])
    noise = rng.normal(size=(len(label), 4))
    if model_type == "gaussian":
        return 5 + (noise + shift) * np.array([1, 20, 0.05, 3])
    if model_type == "bernoulli":
        return (noise + shift > 0.3).astype(float)
    return np.floor(np.exp(noise + shift))


def sample(model_type: str, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    label = np.minimum(rng.geometric(0.5, ROWS) - 1, classes - 1)
    return features(model_type, label), label, rng.integers(1, 5, ROWS) / 2


def dataset(local: Engine, x: np.ndarray, **more: Any) -> Dataset:
    """Return the features and more columns in four fragments."""
    table = pa.table({**dict(zip(FEATURES, x.T, strict=True)), **more})
    return local.from_arrow(table, fragment_bytes=table.nbytes // 4)


def stage(model_type: str, weighted: bool = False, **options: Any) -> st.NaiveBayes:
    weight = "w" if weighted else None
    return st.NaiveBayes("label", features=FEATURES, weight=weight, model_type=model_type, **options)


# Learned and scored as elsewhere


@pytest.mark.thorough
@pytest.mark.parametrize("model_type", TYPES)
def test_scores_are_those_of_scikit_learn(local, model_type, subtests):
    for classes, weighted in ((2, False), (4, True)):
        x, label, weight = sample(model_type, classes)
        data = dataset(local, x, label=label, w=weight)
        model = Pipeline(stage(model_type, weighted, smoothing=0.7)).fit(data)
        raw, probability, prediction = scored(model, data)

        weight = weight if weighted else np.ones(ROWS)
        priors = np.bincount(label, weight) + 0.7  # scikit-learn smooths none
        if model_type == "gaussian":
            # The same variance is added, but scikit-learn takes it from rows without weights.
            variance = np.cov(x.T, aweights=weight, ddof=0).diagonal().max()
            oracle = sk.GaussianNB(var_smoothing=1e-9 * variance / x.var(axis=0).max())
        else:
            oracle = SKLEARN[model_type](alpha=0.7, class_prior=priors / priors.sum())
        oracle.fit(x, label, sample_weight=weight)
        joint = oracle.predict_joint_log_proba(x)
        if model_type == "gaussian":
            joint += 2 * np.log(2 * np.pi)  # half of it for each of four features
        if model_type == "complement":
            joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
        expected, two = oracle.predict_proba(x), classes == 2
        with subtests.test(classes=classes):
            np.testing.assert_allclose(raw, joint[:, 1] - joint[:, 0] if two else joint, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(probability, expected[:, 1] if two else expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(prediction, oracle.predict(x))


def test_densities_do_not_depend_on_the_offset(local):
    # Of multiples of 1/64 all differences are exact; sums of squares would lose all but a digit of a variance.
    x, label, _ = sample("gaussian", 3)
    x = np.round(x * 64) / 64
    near, far = (dataset(local, x + offset, label=label) for offset in (0.0, 2.0**20))
    found, expected = (scored(Pipeline(stage("gaussian")).fit(data), data) for data in (far, near))
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
    np.testing.assert_array_equal(found[2], expected[2])


def test_a_row_is_scored_as_if_alone(local, subtests):
    for model_type in TYPES:
        x, label, _ = sample(model_type, 3)
        model = Pipeline(stage(model_type)).fit(dataset(local, x, label=label))
        few = model.transform(local.from_arrow(pa.table(dict(zip(FEATURES, x.T, strict=True))))).to_arrow()
        many = np.tile(x, (20, 1))
        found = model.transform(local.from_arrow(pa.table(dict(zip(FEATURES, many.T, strict=True))))).to_arrow()
        with subtests.test(model_type):
            assert len(found) == 20 * ROWS
            assert all(found.slice(first, ROWS).equals(few) for first in range(0, len(found), ROWS))


# Columns


def test_long_documents_have_probabilities_of_zero_and_one(local):
    for classes in (2, 3):
        x, label, _ = sample("multinomial", classes)
        model = Pipeline(stage("multinomial")).fit(dataset(local, x, label=label))
        raw, probability, prediction = scored(model, dataset(local, np.diag([1e9, 1e9, 1e9, 1e9])))
        assert np.isfinite(raw).all()
        assert np.abs(raw).max() > 1e7  # whose exponential is 0, or overflows
        assert set(probability.ravel()) == {0.0, 1.0}
        expected = raw > 0 if classes == 2 else raw.argmax(axis=1)
        np.testing.assert_array_equal(prediction, expected)


# What is refused


BAD_FEATURES = [
    ("multinomial", -1.0, "negative, expected numbers of 0 or more"),
    ("complement", -1e-300, "negative, expected numbers of 0 or more"),
    ("bernoulli", 2.0, "not binary, expected 0 and 1, or booleans"),
    ("bernoulli", 0.5, "not binary, expected 0 and 1, or booleans"),
    ("gaussian", float("inf"), "infinite, expected finite numbers"),
    ("multinomial", float("inf"), "infinite, expected finite numbers"),
]


def test_a_feature_out_of_the_domain_is_told_with_its_row_at_fit_and_when_it_is_scored(local, subtests):
    label = np.arange(60) % 2
    good = pa.table({"x": label.astype(float), "label": label, "more": label})
    for model_type, bad, problem in BAD_FEATURES:
        x = np.where(np.isin(np.arange(60), (43, 50)), bad, label)
        data = local.from_arrow(good.set_column(0, "x", pa.array(x)), fragment_bytes=8 * 3 * 45)
        pipeline = Pipeline(st.NaiveBayes("label", model_type=model_type))
        model = pipeline.fit(local.from_arrow(good))
        for read, count in ((pipeline.fit, 2), (lambda rows, model=model: model.transform(rows).to_arrow(), 1)):
            told = f"column 'x' has {count} values that are {problem}"
            with subtests.test(model_type, bad=bad, count=count), pytest.raises(DataValueError, match=told) as caught:
                read(data)
            assert (caught.value.row, caught.value.stage) == (43, "NaiveBayes")


def test_too_many_classes_are_a_regression(local):
    table = pa.table({"label": range(10_001), "x": np.ones(10_001)})
    with pytest.raises(DataValueError, match="'label' has 10001 or more distinct values, expected at most 10000"):
        Pipeline(st.NaiveBayes("label")).fit(local.from_arrow(table))
    assert Pipeline(st.NaiveBayes("label")).fit(local.from_arrow(table.slice(1))).fitted[0]["theta"].num_rows == 10_000


def test_without_smoothing_a_probability_of_zero_is_refused(local):
    for model_type, rows, name in (
        ("multinomial", [[1, 0, 1, 1], [1, 1, 1, 1]], "f1"),
        ("complement", [[1, 1, 1, 1], [1, 1, 0, 1]], "f2"),
        ("bernoulli", [[1, 0, 1, 0], [0, 1, 0, 1]], "f0"),
        ("multinomial", [[0, 0, 0, 0], [1, 1, 1, 1]], "f0"),
    ):
        data = dataset(local, np.array(rows, dtype=float), label=["a", "b"])
        with pytest.raises(DataValueError, match=rf"'{name}' gives class 'a' a probability of 0, and smoothing is 0"):
            Pipeline(stage(model_type, smoothing=0)).fit(data)
        Pipeline(stage(model_type, smoothing=1e-9)).fit(data)


def test_constant_features_have_no_density(local):
    data = dataset(local, np.full((4, 4), 0.1), label=[0, 1, 0, 1])
    with pytest.raises(DataValueError, match="every feature is constant: f0, f1, f2, f3"):
        Pipeline(stage("gaussian")).fit(data)


def test_scores_that_overflow_are_refused(local, subtests):
    told = r"1 row\(s\) have features so far from those of training.*f0, f1, f2, f3"
    for model_type, large, larger in (
        ("gaussian", 1e150, 1e200), ("multinomial", 1e307, 1.7e308), ("complement", 1e307, 1.7e308),
    ):  # fmt: skip
        for classes in (2, 3):
            x, label, _ = sample(model_type, classes)
            model = Pipeline(stage(model_type)).fit(dataset(local, x, label=label))
            far, too_far = (dataset(local, np.array([[1.0, 1, 1, 1], [each, 1, 1, each]])) for each in (large, larger))
            with subtests.test(model_type, classes=classes):
                assert np.isfinite(scored(model, far)[0]).all()
                with pytest.raises(DataValueError, match=told):
                    scored(model, too_far)


def test_a_wrong_parameter_is_refused_when_it_is_given():
    for given, message in (
        ({"model_type": "gausian"}, "model_type of NaiveBayes is 'gausian', .* Did you mean 'gaussian'?"),
        ({"smoothing": -0.1}, "smoothing of NaiveBayes is -0.1, expected a number >= 0"),
        ({"smoothing": float("nan")}, "smoothing of NaiveBayes is nan"),
    ):
        with pytest.raises(ConfigError, match=message):
            st.NaiveBayes("label", **given)
