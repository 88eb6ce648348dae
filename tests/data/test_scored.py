"""The generator of scored rows: the same rows however they are asked for, and predictions of every kind to evaluate."""

from __future__ import annotations

from pathlib import Path

import _write
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scored
from polars.testing import assert_frame_equal
from sklearn.metrics import log_loss, r2_score, roc_auc_score


def frame(rows: int, seed: int = 0) -> pl.DataFrame:
    return pl.DataFrame(pa.concat_tables(scored.generate(rows, seed)))


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return frame(20_000)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_write, "CHUNK_ROWS", 100)


def test_another_seed_gives_other_rows() -> None:
    assert not frame(300, 7).equals(frame(300, 8))


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 250])
def test_first_rows_do_not_depend_on_how_many_follow(rows: int, small_chunks: None) -> None:
    assert_frame_equal(frame(rows), frame(320).head(rows))


def test_file_sizes_do_not_change_the_rows(tmp_path: Path, small_chunks: None) -> None:
    paths = scored.write(tmp_path / "out", 250, rows_per_file=70, row_group_rows=30)
    assert len(paths) == 4
    assert_frame_equal(pl.concat(pl.DataFrame(pq.read_table(path)) for path in paths), frame(250))


def test_tables_have_the_schema_and_no_null() -> None:
    (table,) = scored.generate(200)
    assert table.schema == scored.SCHEMA
    assert sum(column.null_count for column in table.columns) == 0


def test_json_lines_have_lists(tmp_path: Path) -> None:
    (path,) = scored.write(tmp_path / "out", 20, format="jsonl")
    assert_frame_equal(pl.read_ndjson(path, schema=frame(0).schema), frame(20))


def test_csv_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format is 'csv', which has no lists; expected parquet or jsonl"):
        scored.write(tmp_path / "out", 20, format="csv")


def test_scores_are_distinct(rows: pl.DataFrame) -> None:
    assert rows["rawPrediction"].is_unique().all()


def test_probability_prediction_and_margin_agree(rows: pl.DataFrame) -> None:
    np.testing.assert_allclose(np.log(rows["probability"] / (1 - rows["probability"])), rows["rawPrediction"])
    assert (rows["prediction"] == (rows["probability"] > 0.5)).all()


def test_margins_tell_the_labels_apart_but_claim_too_much(rows: pl.DataFrame) -> None:
    truth, claimed = rows["label"].to_numpy(), rows["probability"].to_numpy()
    assert 0.78 < roc_auc_score(truth, claimed) < 0.85
    margin = rows["rawPrediction"].to_numpy() / 1.3
    assert log_loss(truth, 1 / (1 + np.exp(-margin))) < log_loss(truth, claimed)


def test_classes_are_the_likeliest_of_five(rows: pl.DataFrame) -> None:
    probability = np.array(rows["class_probability"].to_list())
    assert probability.shape == (20_000, 5)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), rows["class_prediction"])
    assert set(rows["class_label"]) == set(rows["class_prediction"]) == {0.0, 1.0, 2.0, 3.0, 4.0}
    assert 0.45 < (rows["class_label"] == rows["class_prediction"]).mean() < 0.65


def test_amounts_are_predicted_with_errors(rows: pl.DataFrame) -> None:
    assert 0.5 < r2_score(rows["amount"], rows["predicted"]) < 0.9
    assert rows["weight"].is_between(0.5, 1.5).all()


@pytest.mark.parametrize(
    ("column", "sizes", "values"),
    [
        ("tags", {1, 2, 3, 4}, 20),
        ("predicted_tags", {1, 2, 3, 4}, 20),
        ("relevant", {1, 2, 3}, 30),
        ("ranked", {10}, 30),
    ],
)
def test_lists_hold_distinct_numbers(rows: pl.DataFrame, column: str, sizes: set[int], values: int) -> None:
    lists = rows[column]
    assert set(lists.list.len()) == sizes
    assert (lists.list.n_unique() == lists.list.len()).all()
    assert set(lists.explode(empty_as_null=False)) == set(map(float, range(values)))


@pytest.mark.thorough
@pytest.mark.parametrize("column", ["tags", "predicted_tags"])
def test_tags_ascend(rows: pl.DataFrame, column: str) -> None:
    assert (rows[column].list.sort() == rows[column]).all()


@pytest.mark.parametrize(("truth", "predicted"), [("tags", "predicted_tags"), ("relevant", "ranked")])
def test_predicted_lists_find_more_than_chance_and_not_all(rows: pl.DataFrame, truth: str, predicted: str) -> None:
    found = rows.select(pl.col(truth).list.set_intersection(predicted).list.len() / pl.col(truth).list.len())
    by_chance = rows[predicted].list.len().mean() / rows[predicted].explode(empty_as_null=False).n_unique()
    assert 2 * by_chance < found.to_series().mean() < 0.95


def test_rows_lie_around_the_centre_of_their_cluster(rows: pl.DataFrame) -> None:
    features = rows.select(scored.FEATURES).to_numpy()
    centres = np.array([features[rows["cluster"] == cluster].mean(axis=0) for cluster in range(scored.CLUSTERS)])
    nearest = ((features[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert 0.5 < (nearest == rows["cluster"].to_numpy()).mean() < 0.95
