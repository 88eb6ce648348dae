"""The generator of scored rows, for each type of evaluator."""

import numpy as np
import polars as pl
import pytest
import scored
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from tests.data.conftest import frame


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return frame(scored, 20_000)


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


def test_lists_hold_distinct_numbers(rows: pl.DataFrame) -> None:
    tags = {1, 2, 3, 4}
    for column, sizes, values in (
        ("tags", tags, 20), ("predicted_tags", tags, 20), ("relevant", {1, 2, 3}, 30), ("ranked", {10}, 30),
    ):  # fmt: skip
        lists = rows[column]
        assert set(lists.list.len()) == sizes, column
        assert (lists.list.n_unique() == lists.list.len()).all(), column
        assert set(lists.explode(empty_as_null=False)) == set(map(float, range(values))), column


@pytest.mark.thorough
def test_tags_ascend(rows: pl.DataFrame) -> None:
    for column in ("tags", "predicted_tags"):
        assert (rows[column].list.sort() == rows[column]).all(), column


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
