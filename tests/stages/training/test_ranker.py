"""Ranking: XGBoost's own model where one rank has all rows, and whole groups wherever rows lie."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb
from sklearn.metrics import ndcg_score

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.errors import DataValueError, SchemaError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.spmd import Rank, SpmdOptions
from penstock.stages.training.trees._matrix import Batch
from penstock.stages.training.trees._quantised import bring_together
from penstock.testing import LocalGang

ROWS, GROUPS = 600, 40
ALL_PAIRS = {"objective": "rank:pairwise", "params": {"lambdarank_num_pair_per_sample": 100}}


@pytest.fixture
def group() -> np.ndarray:
    """Groups of about fifteen rows, each scattered over all fragments."""
    return np.random.default_rng(4).integers(0, GROUPS, ROWS)


@pytest.fixture
def grade(y: np.ndarray) -> np.ndarray:
    return np.digitize(y, [-1.5, 0, 1])


def predicted(model: PipelineModel, data: Dataset) -> np.ndarray:
    return model.transform(data).to_arrow()["prediction"].to_numpy()


def own(x: np.ndarray, grade: np.ndarray, group: np.ndarray, weight: Any = None, **options: Any) -> np.ndarray:
    """Return the predictions of XGBoost's ranker, trained on rows sorted by group, in the order of `x`."""
    order = np.argsort(group, kind="stable")
    model = xgb.XGBRanker(n_estimators=8, max_depth=3, tree_method="hist", n_jobs=1, **options)
    rows = x.astype("float32")
    model.fit(rows[order], grade[order], qid=group[order], sample_weight=weight)
    return model.predict(rows)


# One rank


@pytest.mark.thorough
@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_scores_are_those_of_xgboost(make, x, grade, group, objective):
    label = np.minimum(grade, 1) if objective == "rank:map" else grade
    wanted = own(x, label, group, objective=objective)
    for names in (group, [f"query {value:02}" for value in group]):
        stage = st.XGBoostRanker("grade", group="q", objective=objective, num_boost_round=8, max_depth=3)
        model = Pipeline(stage).fit(make(grade=label, q=names))
        assert model.stages[0].inputs() == ("f0", "f1", "f2")
        np.testing.assert_array_equal(predicted(model, make()), wanted)


def test_a_group_counts_as_the_mean_of_its_weights(make, x, grade, group):
    weight = np.random.default_rng(5).random(GROUPS).astype("float32")
    stage = st.XGBoostRanker("grade", group="q", weight="w", num_boost_round=8, max_depth=3)
    found = predicted(Pipeline(stage).fit(make(grade=grade, q=group, w=weight[group])), make())
    np.testing.assert_allclose(found, own(x, grade, group, weight, objective="rank:ndcg"), rtol=1e-4, atol=1e-5)


def test_validation_stops_ranking_early(make, grade, group):
    stage = st.XGBoostRanker("grade", group="q", num_boost_round=60, early_stopping_rounds=3)
    watched = make(grade=np.random.default_rng(6).permutation(grade), q=group)
    fitted = Pipeline(stage).fit(make(grade=grade, q=group), validation=watched).fitted[0]
    (history,) = fitted["history"].values()
    assert fitted["rounds"] == int(np.argmax(history)) + 1 == len(history) - 3


# Several ranks


class Held:
    """Batches in memory, as `bring_together` takes and leaves them."""

    def __init__(self, batches: list[Batch]) -> None:
        self.batches: list[Batch] = batches

    def take(self) -> list[Batch]:
        return self.batches

    def put(self, batch: Batch | None) -> None:
        self.batches = [] if batch is None else [batch]


def batches(rows: np.ndarray, group: np.ndarray) -> Iterator[Batch]:
    """Yield rows in batches of at most 70; the feature of a row is its number."""
    for start in range(0, len(rows), 70):
        part = rows[start : start + 70].astype("float32")
        names = pa.array([f"q{value}" for value in group[start : start + 70]])
        yield Batch(part[:, None], part % 3, part / 2, group=names)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_every_group_is_whole_on_one_rank(group, size):
    dealt = np.array_split(np.arange(ROWS), size + 1)[:size]  # the rows that are left over are no one's
    held = [Held(list(batches(rows, group[rows]))) for rows in dealt]

    def exchange(rank: Rank) -> list[Batch]:
        with rank.collective():
            bring_together(rank, held[rank.index])  # type: ignore[arg-type]
        return held[rank.index].batches

    gang = LocalGang(size, options=SpmdOptions(allow_insecure=True))
    parts = [part for batches in gang.run(exchange, {}) for part in batches]
    found: dict[int, list[list[int]]] = {}
    for part in parts:
        places = np.asarray(part.group)
        assert (np.diff(places) >= 0).all()
        for place in np.unique(places):
            numbers = part.features[places == place, 0].astype(int)
            np.testing.assert_array_equal(part.label[places == place], numbers % 3)
            assert part.weight[place] == pytest.approx(numbers.mean() / 2, rel=1e-6)
            found.setdefault(int(group[numbers[0]]), []).append(numbers.tolist())
    everything = np.concatenate(dealt)
    wanted = {value: [everything[group[everything] == value].tolist()] for value in np.unique(group[everything])}
    assert found == wanted


def ndcg(score: np.ndarray, grade: np.ndarray, group: np.ndarray) -> float:
    members = [group == value for value in np.unique(group)]
    return float(np.mean([ndcg_score([2.0 ** grade[rows] - 1], [score[rows]], k=10) for rows in members]))


@pytest.mark.cpu("one GPU is for one rank")
def test_two_ranks_learn_what_one_does(dask, make, grade, group):
    table = make(grade=grade, q=group).to_arrow()
    data = dask.from_arrow(table, fragment_bytes=4000)
    options = SpmdOptions(world_size=2, allow_insecure=True, timeout=60)
    stage = st.XGBoostRanker("grade", group="q", num_boost_round=8, max_depth=3, **ALL_PAIRS)
    found = predicted(Pipeline(stage).fit(data, options=options), make())
    alone = predicted(Pipeline(stage).fit(make(grade=grade, q=group)), make())
    np.testing.assert_allclose(found, alone, rtol=1e-3, atol=1e-3)
    assert ndcg(found, grade, group) == pytest.approx(ndcg(alone, grade, group), abs=1e-3)
    assert ndcg(found, grade, group) > ndcg(np.zeros(ROWS), grade, group) + 0.1


@pytest.mark.cpu("one GPU is for one rank")
def test_a_rank_without_a_group_takes_part(dask, make, grade):
    table = make(grade=grade, q=np.zeros(ROWS, dtype=int)).to_arrow()
    stage = st.XGBoostRanker("grade", group="q", num_boost_round=2, max_depth=3, **ALL_PAIRS)
    options = SpmdOptions(world_size=2, allow_insecure=True, timeout=60)
    found = predicted(Pipeline(stage).fit(dask.from_arrow(table, fragment_bytes=4000), options=options), make())
    alone = predicted(Pipeline(stage).fit(make(grade=grade, q=np.zeros(ROWS, dtype=int))), make())
    np.testing.assert_allclose(found, alone, rtol=1e-3, atol=1e-3)


# What is refused


def test_a_null_group_is_told_with_its_row(make, grade):
    group = pa.array([None if row in (433, 500) else row // 10 for row in range(ROWS)])
    with pytest.raises(DataValueError, match="column 'q' has 2 values that are null") as caught:
        Pipeline(st.XGBoostRanker("grade", group="q")).fit(make(grade=grade, q=group))
    assert caught.value.row == 433


def test_a_fraction_names_no_group(make, grade, y):
    with pytest.raises(SchemaError, match="group 'q' is double, expected integers or strings"):
        Pipeline(st.XGBoostRanker("grade", group="q")).plan(make(grade=grade, q=y))
