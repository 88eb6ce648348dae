"""The generator of measurements: something to learn from its rows."""

import measurements
import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from tests.data.conftest import frame

FEATURES = list(measurements.FEATURES)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return frame(measurements, 20_000)


@pytest.fixture(scope="module")
def standard(rows: pl.DataFrame) -> np.ndarray:
    return StandardScaler().fit_transform(rows.select(FEATURES).to_numpy())


def test_features_differ_in_scale(rows: pl.DataFrame) -> None:
    deviations = rows.select(pl.col(FEATURES).std()).row(0)
    assert max(deviations) > 50 * min(deviations)


def test_features_are_correlated_but_not_determined_by_each_other(standard: np.ndarray) -> None:
    correlations = np.corrcoef(standard.T)
    assert np.abs(correlations - np.eye(20)).mean() > 0.2
    assert np.linalg.eigvalsh(correlations)[0] > 0.05


def test_few_factors_are_behind_the_features(standard: np.ndarray) -> None:
    shares = np.linalg.eigvalsh(np.corrcoef(standard.T))[::-1] / 20
    assert shares[: measurements.FACTORS].sum() > 0.6
    assert shares[measurements.FACTORS] < 0.5 * shares[measurements.FACTORS - 1]


def test_amount_is_linear_but_for_noise(rows: pl.DataFrame, standard: np.ndarray) -> None:
    model = LinearRegression().fit(standard, rows["amount"])
    assert 0.8 < model.score(standard, rows["amount"]) < 0.95
    assert np.std(rows["amount"].to_numpy() - model.predict(standard)) == pytest.approx(4.0, rel=0.02)


def test_labels_overlap_and_follow_the_features(rows: pl.DataFrame, standard: np.ndarray) -> None:
    assert set(rows["label"]) == {0, 1}
    assert 0.4 < rows["label"].mean() < 0.6
    model = LogisticRegression().fit(standard, rows["label"])
    assert 0.8 < roc_auc_score(rows["label"], model.decision_function(standard)) < 0.92


def test_log_odds_are_right_throughout(rows: pl.DataFrame, standard: np.ndarray) -> None:
    claimed = LogisticRegression().fit(standard, rows["label"]).predict_proba(standard)[:, 1]
    order = np.argsort(claimed)
    seen, expected = (values[order].reshape(10, -1).mean(axis=1) for values in (rows["label"].to_numpy(), claimed))
    np.testing.assert_allclose(seen, expected, atol=0.04)  # tenths of 2,000 rows: at least 3.5 standard deviations


def test_folds_are_dealt_evenly_and_apart_from_the_rest(rows: pl.DataFrame) -> None:
    sizes = rows["fold"].value_counts().sort("fold")
    assert sizes["fold"].to_list() == list(range(measurements.FOLDS))
    assert sizes["count"].is_between(3_700, 4_300).all()  # 5 standard deviations are 283
    assert abs(rows.select(pl.corr("fold", "amount")).item()) < 0.035


@pytest.mark.thorough
def test_clusters_from_other_starts_fit_about_as_well(rows: pl.DataFrame) -> None:
    features = rows.head(5_000).select(FEATURES).to_numpy()
    costs = [KMeans(measurements.CLUSTERS, n_init=1, random_state=seed).fit(features).inertia_ for seed in range(4)]
    assert max(costs) < 1.02 * min(costs)
