"""The generator of measurements: the same rows however they are asked for, and something to learn from them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import _write
import measurements
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

FEATURES = list(measurements.FEATURES)


def frame(rows: int, seed: int = 0) -> pl.DataFrame:
    return pl.DataFrame(pa.concat_tables(measurements.generate(rows, seed)))


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return frame(20_000)


@pytest.fixture(scope="module")
def standard(rows: pl.DataFrame) -> np.ndarray:
    return StandardScaler().fit_transform(rows.select(FEATURES).to_numpy())


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_write, "CHUNK_ROWS", 100)


def test_same_seed_gives_same_rows() -> None:
    assert frame(300, 7).equals(frame(300, 7))


def test_another_seed_gives_other_rows() -> None:
    assert not frame(300, 7).equals(frame(300, 8))


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 250])
def test_first_rows_do_not_depend_on_how_many_follow(rows: int, small_chunks: None) -> None:
    assert_frame_equal(frame(rows), frame(320).head(rows), check_exact=True)


def test_chunks_differ(small_chunks: None) -> None:
    first, second = measurements.generate(200, 0)
    assert not first.equals(second)


def test_file_sizes_do_not_change_the_rows(tmp_path: Path, small_chunks: None) -> None:
    paths = measurements.write(tmp_path / "out", 250, rows_per_file=70, row_group_rows=30)
    assert len(paths) == 4
    assert_frame_equal(pl.concat(pl.DataFrame(pq.read_table(path)) for path in paths), frame(250), check_exact=True)


def test_csv_has_the_same_rows(tmp_path: Path) -> None:
    (path,) = measurements.write(tmp_path / "out", 50, format="csv")
    assert_frame_equal(pl.read_csv(path, schema=frame(0).schema), frame(50), check_exact=True)


@pytest.mark.thorough
def test_script_writes_what_the_function_writes(tmp_path: Path) -> None:
    flags = ["--rows", "50", "--seed", "3", "--rows-per-file", "40", "--out", tmp_path / "a"]
    subprocess.run([sys.executable, measurements.__file__, *flags], capture_output=True, check=True)
    expected = measurements.write(tmp_path / "b", 50, seed=3, rows_per_file=40)
    assert [(tmp_path / "a" / path.name).read_bytes() for path in expected] == [p.read_bytes() for p in expected]


def test_tables_have_the_schema_and_no_null() -> None:
    (table,) = measurements.generate(200)
    assert table.schema == measurements.SCHEMA
    assert sum(column.null_count for column in table.columns) == 0


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
