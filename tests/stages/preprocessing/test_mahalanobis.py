"""Mahalanobis distances against scikit-learn and closed forms, and rows dropped by them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from sklearn import covariance as sk

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError

NAMES = ("a", "b", "c")


def sample(rows: int = 400) -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.normal(size=(rows, 3)) @ rng.normal(size=(3, 3)) * np.array([1.0, 100.0, 0.01]) + 7


def dataset(local: Any, x: np.ndarray) -> Any:
    table = pa.table(dict(zip(NAMES, x.T, strict=True)))
    return local.from_arrow(table, fragment_bytes=table.nbytes // 3)


def test_distances_are_scikit_learns(local, subtests):
    x = sample()
    for shrinkage, estimator in [
        (None, sk.EmpiricalCovariance()),
        (0.3, sk.ShrunkCovariance(shrinkage=0.3)),
        ("oas", sk.OAS()),
    ]:
        with subtests.test(shrinkage=shrinkage, estimator=estimator):
            model = ps.Pipeline(st.MahalanobisDistance(NAMES, shrinkage=shrinkage)).fit(dataset(local, x))
            found = model.transform(dataset(local, x)).to_arrow()["mahalanobis"].to_numpy()
            np.testing.assert_allclose(found, estimator.fit(x).mahalanobis(x), rtol=1e-7)


def test_ledoit_and_wolf_shrink_standardised_columns(local):
    x = sample(30)
    model = ps.Pipeline(st.MahalanobisDistance(NAMES, shrinkage="auto")).fit(dataset(local, x))
    found = model.transform(dataset(local, x)).to_arrow()["mahalanobis"].to_numpy()
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(found, sk.LedoitWolf().fit(standard).mahalanobis(standard), rtol=1e-9)


def test_outliers_are_beyond_the_quantile_of_chi_square(local):
    x = sample()
    stage = st.MahalanobisDistance(NAMES, outlier_column="odd", quantile=0.9)
    table = ps.Pipeline(stage).fit(dataset(local, x)).transform(dataset(local, x)).to_arrow()
    limit = scipy.stats.chi2.ppf(0.9, 3)
    assert table["odd"].to_pylist() == (table["mahalanobis"].to_numpy() > limit).tolist()
    assert 20 <= sum(table["odd"].to_pylist()) <= 60  # 40 expected of normal rows


def test_rows_far_away_are_dropped_and_counted(local):
    x = sample()
    x[5] = [0.0, -500.0, 1.0]
    pipeline = ps.Pipeline(st.DropMahalanobisOutliers(NAMES, quantile=0.9999))
    scored = pipeline.fit(dataset(local, x)).transform(dataset(local, x)).to_arrow()
    expected = sk.EmpiricalCovariance().fit(x).mahalanobis(x) <= scipy.stats.chi2.ppf(0.9999, 3)
    assert scored["a"].to_pylist() == x[expected, 0].tolist()
    assert not expected[5]


def test_a_row_with_a_null_has_no_distance_and_stays(local):
    data = dataset(local, sample())
    null = local.from_arrow(pa.table({"a": [None, 7.0], "b": [7.0, 7.0], "c": [1e9, 7.0]}))
    measured = ps.Pipeline(st.MahalanobisDistance(NAMES, outlier_column="odd")).fit(data).transform(null).to_arrow()
    assert measured.select(["mahalanobis", "odd"]).slice(0, 1).to_pylist() == [{"mahalanobis": None, "odd": None}]
    assert len(ps.Pipeline(st.DropMahalanobisOutliers(NAMES)).fit(data).transform(null).to_arrow()) == 2


def test_an_infinity_after_the_fit_is_dropped_and_refused_a_distance(local):
    data = dataset(local, sample())
    far = local.from_arrow(pa.table({"a": [float("inf"), 7.0], "b": [7.0, 7.0], "c": [7.0, 7.0]}))
    assert len(ps.Pipeline(st.DropMahalanobisOutliers(NAMES)).fit(data).transform(far).to_arrow()) == 1
    with pytest.raises(DataValueError, match="column 'a'"):
        ps.Pipeline(st.MahalanobisDistance(NAMES)).fit(data).transform(far).to_arrow()


def test_a_distance_that_overflows_is_refused_of_a_row_and_of_a_frame(local):
    model = ps.Pipeline(st.MahalanobisDistance(NAMES)).fit(dataset(local, sample()))
    row = {"a": 1e200, "b": 7.0, "c": 7.0}
    with pytest.raises(DataValueError, match="so far from the mean that their distance overflows"):
        model.predict(row)
    with pytest.raises(DataValueError, match="so far from the mean that their distance overflows"):
        model.transform(local.from_arrow(pa.table({name: [value] for name, value in row.items()}))).to_arrow()


def test_a_covariance_without_inverse_is_refused_unless_it_is_shrunk(local, subtests):
    for column, problem in [(np.full(9, 3.0), "column 'c' is constant"), (2 * np.arange(9.0), "columns explain each")]:
        with subtests.test(column=column):
            x = np.column_stack([np.arange(9.0), np.arange(9.0) % 4, column])
            with pytest.raises(DataValueError, match=problem):
                ps.Pipeline(st.MahalanobisDistance(NAMES)).fit(dataset(local, x))
            model = ps.Pipeline(st.MahalanobisDistance(NAMES, shrinkage=0.1)).fit(dataset(local, x))
            assert model.predict({"a": 4.0, "b": 1.0, "c": 3.0})["mahalanobis"] > 0


def test_wrong_parameters_are_refused(subtests):
    for options, message in [
        ({"quantile": 1.0}, "quantile"),
        ({"quantile": 0}, "quantile"),
        ({"shrinkage": -1}, "shrinkage"),
    ]:
        with subtests.test(options=options), pytest.raises(ConfigError, match=f"{message} of MahalanobisDistance"):
            st.MahalanobisDistance(NAMES, **options)
