"""Trainers that go on from what they have learned, held to the libraries that can do it too."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost as xgb
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.mixture import GaussianMixture

import penstock as ps
from penstock import stages as st
from penstock.cli.commands import main
from penstock.errors import (
    ArtifactError,
    ConfigError,
    DataValueError,
    EmptyInputError,
    MissingInputError,
    UntrustedArtifactError,
)
from penstock.spmd import Rank, SpmdOptions
from penstock.stages.base import Blob
from penstock.stages.training.trees._matrix import Batches
from penstock.stages.training.trees._quantised import bring_together
from penstock.testing import LocalGang
from penstock.testing.datasets import count_reads

NAMES = ["a", "b", "c"]


def table(seed: int, rows: int = 200) -> pa.Table:
    """Features of few values, so that bins are exact, and labels that hang on them."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 3)).round(1)
    y = x @ [1.0, -2.0, 0.5] + random.normal(size=rows)
    grades = np.digitize(y, [-1.5, 1.5])
    return pa.table({**dict(zip(NAMES, x.T, strict=True)), "y": y, "label": (y > 0).astype(int), "grade": grades})


OLD, NEW, WATCHED = table(1), table(2), table(3)


def matrix(rows: pa.Table, names: list[str] = NAMES, dtype: str = "float64") -> np.ndarray:
    return np.column_stack([rows[name] for name in names]).astype(dtype)


def fit(engine, *stages, rows: pa.Table = OLD, **options) -> ps.PipelineModel:
    return ps.Pipeline(*stages).fit(engine.from_arrow(rows, fragment_bytes=4000), **options)


def warm(model: ps.PipelineModel, engine, rows: pa.Table = NEW, **options) -> ps.PipelineModel:
    return model.refit(engine.from_arrow(rows, fragment_bytes=4000), **{"warm_start": True, **options})


# XGBoost


def values(rows: pa.Table, label: str) -> xgb.DMatrix:
    """A matrix that XGBoost judges by its values: of a `QuantileDMatrix` old trees see the ends of bins."""
    kinds = {"feature_names": NAMES, "feature_types": ["float"] * 3}
    return xgb.DMatrix(matrix(rows, dtype="float32"), rows[label].to_numpy(), nthread=1, **kinds)


def boosted(label: str, parameters: dict, rows: pa.Table, rounds: int, **options) -> xgb.Booster:
    shared = {"tree_method": "hist", "nthread": 1, "max_depth": 3, "seed_per_iteration": True}
    return xgb.train({**shared, **parameters}, values(rows, label), rounds, **options)


BOOSTED = [
    (st.XGBoostClassifier, "label", {"objective": "binary:logistic"}),
    (st.XGBoostClassifier, "grade", {"objective": "multi:softprob", "num_class": 3}),
    (st.XGBoostRegressor, "y", {"objective": "reg:squarederror"}),
]


def booster(stage, label: str, **options):
    return stage(label, features=NAMES, num_boost_round=4, max_depth=3, **options)


@pytest.mark.thorough
@pytest.mark.cpu("trees of a GPU are other ones than those that XGBoost grows here")
@pytest.mark.parametrize(("stage", "label", "parameters"), BOOSTED)
def test_rounds_are_added_as_xgboost_adds_them_to_a_model_and_to_a_file(local, tmp_path, stage, label, parameters):
    first = boosted(label, parameters, OLD, 4)
    first.save_model(tmp_path / "first.ubj")
    expected = boosted(label, parameters, NEW, 4, xgb_model=first)
    begun = fit(local, booster(stage, label, xgb_model=tmp_path / "first.ubj"), rows=NEW)
    for model in (warm(fit(local, booster(stage, label)), local), begun):
        assert model.fitted[0]["booster"].data == bytes(expected.save_raw("ubj"))
        assert model.fitted[0]["rounds"] == 8
    (tmp_path / "first.ubj").unlink()  # a refit needs the file no more
    assert warm(begun, local).fitted[0]["rounds"] == 12


@pytest.mark.parametrize("fragment_bytes", [4000, 10**6], ids=["both", "one without rows"])
def test_ranks_add_rounds_together(distributed_engine, fragment_bytes):
    options = SpmdOptions(world_size=2, allow_insecure=True, timeout=60)
    before = fit(distributed_engine, booster(st.XGBoostRegressor, "y"), options=options)
    new = distributed_engine.from_arrow(NEW, fragment_bytes=fragment_bytes)
    model = before.refit(new, warm_start=True, options=options)
    rows = xgb.DMatrix(matrix(NEW), feature_names=NAMES)
    expected = boosted("y", {}, NEW, 4, xgb_model=boosted("y", {}, OLD, 4)).predict(rows)
    found = xgb.Booster(model_file=bytearray(model.fitted[0]["booster"].data)).predict(rows)
    np.testing.assert_allclose(found, expected, atol=1e-4)


RANKED = {"objective": "rank:pairwise", "lambdarank_num_pair_per_sample": 50}


def ranker() -> st.XGBoostRanker:
    params = {"lambdarank_num_pair_per_sample": 50}
    return booster(st.XGBoostRanker, "grade", group="query", objective="rank:pairwise", params=params)


def with_queries(rows: pa.Table) -> pa.Table:
    return rows.append_column("query", pa.array(np.arange(len(rows)) % 20))


def ranked(rows: pa.Table, before: xgb.Booster | None) -> xgb.Booster:
    """Train with XGBoost itself, which wants the rows of a query together."""
    order = np.argsort(with_queries(rows)["query"], kind="stable")
    data = values(rows.take(order), "grade")
    data.set_info(qid=with_queries(rows)["query"].to_numpy()[order])
    shared = {"tree_method": "hist", "nthread": 1, "max_depth": 3, "seed_per_iteration": True}
    return xgb.train({**shared, **RANKED}, data, 4, xgb_model=before)


@pytest.mark.thorough
def test_rounds_of_a_ranker_are_added_as_xgboost_adds_them(local):
    model = warm(fit(local, ranker(), rows=with_queries(OLD)), local, with_queries(NEW))
    expected = ranked(NEW, ranked(OLD, None)).predict(values(NEW, "grade"))
    found = model.transform(local.from_arrow(with_queries(NEW))).to_arrow()["prediction"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
def test_margins_go_to_the_rank_of_their_group():
    whole = with_queries(NEW)
    learned = fit(ps.LocalEngine(device="cpu"), ranker(), rows=with_queries(OLD)).fitted[0]
    gang = LocalGang(2, options=SpmdOptions(allow_insecure=True))
    stage = ranker().bind(whole.schema)

    def shown(rank: Rank) -> list[tuple[np.ndarray, np.ndarray]]:
        batches = Batches(rank, "train", replace(stage._converter(learned), numbered=False))
        with rank.collective():
            bring_together(rank, batches)
        return [(batch.features, batch.margin) for batch in batches.each()]

    parts = gang.run(shown, {"train": ps.LocalEngine(device="cpu").from_arrow(whole, fragment_bytes=2000)})
    pairs = [pair for part in parts for pair in part]
    assert (len(pairs), sum(len(margin) for _, margin in pairs)) == (2, 200)
    old = xgb.Booster(model_file=bytearray(learned["booster"].data))
    for features, margin in pairs:
        np.testing.assert_array_equal(
            margin, old.inplace_predict(features, predict_type="margin", validate_features=False)
        )


@pytest.mark.thorough
def test_trees_that_there_are_stay_as_they_are(local, subtests):
    rows, y = xgb.DMatrix(matrix(NEW), feature_names=NAMES), NEW["y"].to_numpy()
    old, new = (part.append_column("w", pa.array(np.arange(200) % 3 + 0.5)) for part in (OLD, NEW))
    for more in ({"external_memory": True}, {"weight": "w"}, {"params": {"booster": "dart"}}):
        with subtests.test(more=more):
            before = fit(local, booster(st.XGBoostRegressor, "y", **more), rows=old)
            models = before, warm(before, local, new)
            first, whole = (xgb.Booster(model_file=bytearray(each.fitted[0]["booster"].data)) for each in models)
            np.testing.assert_array_equal(whole[:4].predict(rows), first.predict(rows))
            weight = new["w"].to_numpy() if "weight" in more else None
            errors = [np.average((each.predict(rows) - y) ** 2, weights=weight) for each in (first, whole)]
            assert errors[1] < 0.8 * errors[0]


def test_values_at_a_split_are_on_the_side_where_they_belong(local):
    # XGBoost's own continuation of quantised rows takes the lower ends of bins: of 3.0, what is left of a split there.
    old, new = (pa.table({"x": x * 20, "y": y * 20}) for x, y in (([2.0, 3.0], [1.0, 5.0]), ([3.0, 4.0], [5.0, 9.0])))
    stage = st.XGBoostRegressor("y", num_boost_round=30, learning_rate=0.5)
    model = warm(fit(local, stage, rows=old), local, new)
    assert model.transform(local.from_arrow(new.slice(0, 2))).to_arrow()["prediction"].to_pylist() == pytest.approx(
        [5.0, 9.0], abs=0.01
    )


@pytest.mark.thorough
def test_early_stopping_keeps_the_best_of_the_rounds_that_are_added(local):
    options = {"learning_rate": 0.9, "num_boost_round": 40, "early_stopping_rounds": 3, "max_depth": 3}
    stage, watched = st.XGBoostRegressor("y", features=NAMES, **options), local.from_arrow(WATCHED)
    before = fit(local, st.XGBoostRegressor("y", features=NAMES, **{**options, "early_stopping_rounds": None}))
    model = ps.Pipeline(stage).fit(local.from_arrow(OLD), validation=watched)
    first = model.fitted[0]["rounds"]
    model = warm(model, local, validation=watched)
    train = values(NEW, "y")
    expected = xgb.train(
        {"tree_method": "hist", "nthread": 1, "learning_rate": 0.9, "max_depth": 3}, train, 40, verbose_eval=False,
        evals=[(values(WATCHED, "y"), "validation")], early_stopping_rounds=3,
        xgb_model=xgb.Booster(model_file=bytearray(before.fitted[0]["booster"].data))[:first],
    )  # fmt: skip
    assert first < model.fitted[0]["rounds"] == expected.best_iteration + 1 < first + 40
    with pytest.raises(ConfigError, match="no validation data to watch"):
        warm(model, local)


class Interrupted(KeyboardInterrupt):
    """Ends the process, as far as training can tell."""


@pytest.mark.thorough
def test_a_training_that_goes_on_twice_trains_no_round_twice(local, tmp_path, monkeypatch):
    model = fit(local, booster(st.XGBoostRegressor, "y", subsample=0.5))
    options, report, told = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=1), Rank.report, []

    def interrupt(rank: Rank, rounds: int, detail: str = "") -> None:
        told.append(rounds)
        report(rank, rounds, detail)
        if len(told) == 3:
            raise Interrupted

    monkeypatch.setattr(Rank, "report", interrupt)
    with pytest.raises(Interrupted):
        warm(model, local, options=options)
    resumed = warm(model, local, options=options)
    assert told == [1, 2, 3, 3, 4]
    undisturbed = warm(model, local, options=SpmdOptions(checkpoint_interval=1))
    assert (resumed.digest, resumed.fitted[0]["rounds"]) == (undisturbed.digest, 8)


def test_models_of_one_length_are_told_apart():
    # Checkpoints go by it: one of a training that began elsewhere is not gone on from.
    assert repr(Blob("safetensors", b"abc")) != repr(Blob("safetensors", b"abd"))


@pytest.mark.thorough
def test_features_of_a_vector_that_come_anew_are_added(local):
    def rows(first: int) -> pa.Table:
        random = np.random.default_rng(first)
        indices = [sorted(random.choice(np.arange(first, first + 6), 3, replace=False)) for _ in range(120)]
        numbers = [[float(index % 3)] * 3 for index, *_ in indices]
        kinds = {"v_indices": pa.list_(pa.int32()), "v_values": pa.list_(pa.float64()), "y": pa.float64()}
        y = [sum(held) + first for held in indices]
        return pa.table({"v_indices": indices, "v_values": numbers, "y": y}, pa.schema(list(kinds.items())))

    def dense(table: pa.Table) -> np.ndarray:
        found = np.full((len(table), 12), np.nan)
        for row, held in enumerate(table.to_pylist()):
            found[row, held["v_indices"]] = held["v_values"]
        return found

    stage = st.XGBoostRegressor("y", features=["v_indices", "v_values"], num_boost_round=3, max_depth=3)
    model = warm(fit(local, stage, rows=rows(0)), local, rows(4))
    shared, booster = {"tree_method": "hist", "nthread": 1, "max_depth": 3, "seed_per_iteration": True}, None
    for part in (rows(0), rows(4)):
        booster = xgb.train(shared, xgb.DMatrix(dense(part), part["y"].to_numpy()), 3, xgb_model=booster)
    both = pa.concat_tables([rows(0), rows(4)])
    found = model.transform(local.from_arrow(both)).to_arrow()["prediction"].to_numpy()
    np.testing.assert_allclose(found, booster.predict(xgb.DMatrix(dense(both))), rtol=1e-5)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    boosted("label", {"objective": "binary:logistic"}, OLD, 2).save_model(tmp_path / "first.ubj")
    return tmp_path / "first.ubj"


def test_a_booster_that_was_trained_for_something_else_is_refused(local, first, subtests):
    for stage, problem in [
        (st.XGBoostRegressor("label", features=NAMES), "has the objective 'binary:logistic', expected 'reg:squar"),
        (st.XGBoostClassifier("grade", features=NAMES), "has the objective 'binary:logistic', expected 'multi:s"),
        (st.XGBoostClassifier("label", features=NAMES, params={"booster": "dart"}), "has the booster 'gbtree', exp"),
        (st.XGBoostClassifier("label", features=NAMES, params={"num_parallel_tree": 2}), "has num_parallel_tree 1"),
    ]:
        with subtests.test(problem=problem), pytest.raises(ConfigError, match=problem):
            fit(local, ps.Pipeline(stage).with_params({f"{stage.title}.xgb_model": str(first)}).stages[0], rows=NEW)
    for features in (["a", "b"], ["b", "a", "c"]):
        with subtests.test(features=features), pytest.raises(ArtifactError, match="was trained on 3 features"):
            fit(local, st.XGBoostClassifier("label", features=features, xgb_model=first))


def test_a_file_that_is_no_booster_is_not_shown_to_xgboost(local, tmp_path):
    (tmp_path / "no.ubj").write_bytes(b"{}{}")
    with pytest.raises(UntrustedArtifactError, match="not an XGBoost model") as caught:
        fit(local, booster(st.XGBoostRegressor, "y", xgb_model=tmp_path / "no.ubj"))
    assert "save_model" in caught.value.hint
    with pytest.raises(MissingInputError):
        fit(local, booster(st.XGBoostRegressor, "y", xgb_model=tmp_path / "none.ubj"))


def test_a_booster_to_begin_with_keeps_its_base_score_and_its_rounds(first):
    with pytest.raises(ConfigError, match="has base_score"):
        st.XGBoostClassifier("label", xgb_model=first, params={"base_score": 0.3})
    stage = booster(st.XGBoostClassifier, "label", xgb_model=first, early_stopping_rounds=2)
    assert stage.without_validation([{"rounds": 9}, {"rounds": 11}]).num_boost_round == 10 - 2


# Classes


def test_classes_that_were_not_learned_are_named(local):
    rows = NEW.select([*NAMES, "grade"])
    odd = rows.set_column(3, "grade", pa.array([7] * 3 + [1] * 197))
    for stage in (st.XGBoostClassifier("grade", num_boost_round=1), st.LogisticRegression("grade", max_iter=3)):
        model = fit(local, stage, rows=OLD.select(rows.column_names))
        with pytest.raises(DataValueError, match=r"1 class.* has not learned: 7 \(3\); it knows 0, 1, 2") as told:
            warm(model, local, odd)
        assert told.value.place["row"] == 0


@pytest.mark.cpu("trees of a GPU are other ones than those that XGBoost grows here")
def test_classes_that_the_new_rows_lack_stay(local):
    old, new = (part.select([*NAMES, "grade"]) for part in (OLD, NEW))
    one = new.set_column(3, "grade", pa.array([1] * 200))
    model = warm(fit(local, st.XGBoostClassifier("grade", num_boost_round=4, max_depth=3), rows=old), local, one)
    parameters = {"objective": "multi:softprob", "num_class": 3}
    expected = boosted("grade", parameters, one, 4, xgb_model=boosted("grade", parameters, old, 4))
    assert model.fitted[0]["booster"].data == bytes(expected.save_raw("ubj"))


# Clusters


def test_centres_go_on_from_where_they_were(local):
    stage = st.KMeans(["a", "b"], k=3, tol=0.0, max_iter=100)
    before = fit(local, stage)
    model = warm(before, local)
    start = matrix(before.fitted[0]["centres"], ["a", "b"])
    expected = KMeans(3, init=start, n_init=1, tol=0, algorithm="lloyd").fit(matrix(NEW, ["a", "b"]))
    np.testing.assert_allclose(matrix(model.fitted[0]["centres"], ["a", "b"]), expected.cluster_centers_, rtol=1e-12)


CENTRES = np.array([[0.0, 1.0], [1.0, -1.0], [-1.0, -0.5]])


def test_centres_to_begin_with_are_given_as_to_scikit_learn(local):
    expected = KMeans(3, init=CENTRES, n_init=1, tol=0, max_iter=20, algorithm="lloyd").fit(matrix(OLD, ["a", "b"]))
    for init in (CENTRES, CENTRES.tolist(), pa.table({"b": CENTRES[:, 1], "a": CENTRES[:, 0]})):
        stage = st.KMeans(["a", "b"], k=3, init=init, tol=0.0)
        found = matrix(fit(local, stage).fitted[0]["centres"], ["a", "b"])
        np.testing.assert_allclose(found, expected.cluster_centers_, rtol=1e-12, err_msg=str(type(init)))
        assert st.KMeans.from_parameters(stage.parameters()) == stage


def test_centres_may_begin_far_from_the_rows(local):
    stage = st.KMeans(["a"], k=2, init=[[-1e6], [1e6]], max_iter=0)
    found = fit(local, stage, rows=pa.table({"a": [-1.0, 1.0, 3.0]})).fitted[0]
    assert found["sizes"] == [1, 2]
    assert found["cost"] == (1e6 - 1) ** 2 * 2 + (1e6 - 3) ** 2


def test_centres_that_are_none_are_refused(local, subtests):
    for options, problem in [
        ({"init": [[1.0, 2.0]]}, "k is 2"),
        ({"init": [[1.0, 2.0], [3.0, np.nan]]}, "finite numbers"),
        ({"init": "k-means++"}, "expected an array"),
        ({"init": [[1.0], [2.0]]}, "has 1 coordinates, expected one for each of the 2 features: a, b"),
        ({"init": {"a": [1.0, 2.0], "z": [1.0, 2.0]}}, "has columns a, z"),
        ({"init": [[1.0, 2.0], [3.0, 4.0]], "init_mode": "random"}, "there are centres in init"),
        ({"init": [[0.0, 0.0], [3.0, 4.0]], "distance_measure": "cosine"}, "a centre of nothing but 0"),
    ]:
        with subtests.test(options=options), pytest.raises(ConfigError, match=problem):
            ps.Pipeline(st.KMeans(["a", "b"], k=2, **options)).plan(local.from_arrow(OLD))


@pytest.mark.thorough
def test_a_mixture_goes_on_from_where_it_was(local):
    stage = st.GaussianMixture(["a", "b"], k=2, tol=1e-9, max_iter=3, reg_covar=0.0)
    before = fit(local, stage)
    model = warm(before, local)
    begun = before.stages[0]._mixture(before.fitted[0])
    theirs = GaussianMixture(
        2, weights_init=begun.weights, means_init=begun.means, precisions_init=np.linalg.inv(begun.covariances),
        max_iter=3, tol=1e-30, reg_covar=0.0,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="did not converge"):
        expected = theirs.fit(matrix(NEW, ["a", "b"]))
    np.testing.assert_allclose(matrix(model.fitted[0]["means"], ["a", "b"]), expected.means_, rtol=1e-9)


# Linear models


@pytest.mark.thorough
@pytest.mark.parametrize("label", ["label", "grade"])
def test_logistic_regression_reaches_the_optimum_of_the_new_rows_in_fewer_steps(local, label):
    stage = st.LogisticRegression(label, features=NAMES, reg_param=0.01, standardization=False, tol=1e-10)
    model = warm(fit(local, stage, rows=table(5, 2000)), local)
    theirs = LogisticRegression(C=1 / (200 * 0.01), tol=1e-12, max_iter=1000)
    expected = theirs.fit(matrix(NEW), NEW[label])
    found = matrix(model.fitted[0]["coefficients"])
    np.testing.assert_allclose(found, expected.coef_, rtol=1e-6, atol=1e-7)
    again, cold = warm(model, local), fit(local, stage, rows=NEW)
    steps = [each.fitted[0]["iterations"] for each in (again, model, cold)]
    assert steps[0] == 0 < steps[1] < steps[2]


@pytest.mark.thorough
def test_logistic_regression_goes_on_at_the_indices_of_a_vector(local):
    def rows(first: int) -> pa.Table:
        random = np.random.default_rng(first)
        indices = [sorted(random.choice(np.arange(first, first + 4), 2, replace=False)) for _ in range(200)]
        kinds = {"v_indices": pa.list_(pa.int32()), "v_values": pa.list_(pa.float64()), "y": pa.int64()}
        y = [int(sum(held) + random.normal() > 2 * first + 3) for held in indices]
        return pa.table({"v_indices": indices, "v_values": [[1.0, 1.0]] * 200, "y": y}, pa.schema(list(kinds.items())))

    stage = st.LogisticRegression("y", reg_param=0.01, features=["v_indices", "v_values"], tol=1e-10)
    model = warm(fit(local, stage, rows=rows(0)), local, rows(2))
    cold = fit(local, stage, rows=rows(2))
    found, expected = (each.fitted[0]["vector_coefficients"].to_pydict() for each in (model, cold))
    assert found["index"] == expected["index"] == [2, 3, 4, 5]
    np.testing.assert_allclose(found["0"], expected["0"], rtol=1e-6)
    assert warm(model, local, rows(2)).fitted[0]["iterations"] == 0


@pytest.mark.thorough
def test_a_generalised_linear_model_reaches_the_optimum_of_the_new_rows(local):
    counts = [part.append_column("n", pa.array(np.exp(np.clip(part["y"], -2, 2)).round())) for part in (OLD, NEW)]
    stage = st.GeneralizedLinearRegression("n", features=NAMES, family="poisson", tol=1e-10)
    model = warm(fit(local, stage, rows=counts[0]), local, counts[1])
    expected = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000).fit(matrix(NEW), counts[1]["n"])
    assert model.fitted[0]["coefficients"] == pytest.approx(expected.coef_, rel=1e-6)
    assert warm(model, local, counts[1]).fitted[0]["iterations"] == 1  # which finds that there is nowhere to go


def test_coefficients_that_give_impossible_means_are_not_begun_with(local):
    old, new = (pa.table({"x": x, "n": [1.0 + 2.0 * abs(v) for v in x]}) for x in ([0.0, 1.0, 2.0], [-3.0, -1.0, 0.0]))
    stage = st.GeneralizedLinearRegression("n", features=["x"], family="poisson", link="identity")
    model = warm(fit(local, stage, rows=old), local, new)  # 1 + 2 x is negative there
    assert [*model.fitted[0]["coefficients"], model.fitted[0]["intercept"]] == pytest.approx([-2.0, 1.0])


# Networks


@pytest.mark.thorough
def test_weights_go_on_from_where_they_were(local):
    import torch
    from safetensors.torch import load

    stage = st.TorchRegressor(
        "y", features=NAMES, module_options={"hidden": [4], "activation": "tanh"}, optimizer="sgd", learning_rate=0.1,
        epochs=3, batch_size=200,
    )  # fmt: skip
    before = fit(local, stage)
    model = warm(before, local)
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    start = load(before.fitted[0]["weights"].data)
    layers.load_state_dict(start)
    x, y = torch.tensor(matrix(NEW, dtype="float32")), torch.tensor(matrix(NEW, ["y"], "float32"))
    steps = torch.optim.SGD(layers.parameters(), lr=0.1)
    for _ in range(3):
        steps.zero_grad()
        torch.nn.functional.mse_loss(layers(x), y).backward()
        steps.step()
    found = load(model.fitted[0]["weights"].data)
    for name, weights in layers.state_dict().items():
        torch.testing.assert_close(found[name], weights, rtol=1e-4, atol=1e-6)
        assert not torch.equal(found[name], start[name])


@pytest.mark.thorough
def test_codes_that_a_network_has_not_seen_stay_unseen(local):
    index = st.StringIndexer("s", order="append", output_columns=["code"])
    network = st.TorchRegressor("y", module="tabular", features=["a"], categories=["code"], epochs=1)
    old, new = (part.append_column("s", pa.array(list(words) * 50)) for part, words in ((OLD, "uvuv"), (NEW, "uvwx")))
    before = fit(local, index, ("net", network), rows=old, keep_statistics=True)
    model = warm(before, local, new)
    assert model.fitted[1]["cardinalities"] == before.fitted[1]["cardinalities"] == [5]
    assert model.fitted[0]["categories"]["s"]["value"].to_pylist() == ["u", "v", "w", "x"]
    assert model.transform(local.from_arrow(new)).to_arrow()["prediction"].null_count == 0


# What a warm start is behind, and what it is not


def test_new_rows_are_read_twice_and_nothing_else_is(local):
    model = fit(local, st.StandardScaler(["a"]), ("model", st.KMeans(["a", "b"])), keep_statistics=True)
    new, source = count_reads(local.from_arrow(NEW))
    learned = model.refit(new, freeze="StandardScaler", warm_start="model")
    assert (source.times, learned.fitted[0]) == (2, model.fitted[0])
    assert learned.statistics == {}
    assert learned.report.notes == ["model (KMeans): goes on from what it had learned, on 200 new rows alone"]


def test_features_that_are_learned_anew_are_refused_before_anything_is_read(local, subtests):
    for fresh in [False, True]:
        with subtests.test(fresh=fresh):
            model = fit(
                local, ("scale", st.StandardScaler(["a"])), ("model", st.KMeans(["a", "b"])), keep_statistics=True
            )
            new, source = count_reads(local.from_arrow(NEW))
            with pytest.raises(
                ConfigError, match=r"model \(KMeans\), whose features come from scale \(StandardScaler\)"
            ) as told:
                model.refit(new, warm_start="model", fresh=fresh)
            assert source.times == 0
            assert "freeze=['scale']" in told.value.hint


@pytest.mark.thorough
def test_values_and_codes_that_are_learned_anew_are_refused(local):
    gaps = OLD.set_column(0, "a", pa.array([None, *OLD["a"].to_pylist()[1:]]))
    model = fit(local, ("fill", st.Imputer("a")), ("model", st.KMeans(["a"])), rows=gaps, keep_statistics=True)
    with pytest.raises(ConfigError, match=r"model \(KMeans\), whose features come from fill \(Imputer\)"):
        warm(model, local, gaps)
    assert warm(model, local, gaps, freeze="fill").fitted[0] == model.fitted[0]
    words = OLD.append_column("s", pa.array(list("uvwx") * 50))
    stages = ("index", st.StringIndexer("s")), ("model", st.XGBoostRegressor("y", num_boost_round=1))
    with pytest.raises(ConfigError, match=r"features come from index \(StringIndexer\)"):
        warm(fit(local, *stages, rows=words, keep_statistics=True), local, words)


@pytest.mark.thorough
def test_what_learns_from_scores_has_to_be_frozen(local):
    model = fit(
        local,
        ("model", st.XGBoostClassifier("label", features=NAMES, num_boost_round=1)),
        ("calibrate", st.ProbabilityCalibrator("label", raw_prediction="rawPrediction")),
        keep_statistics=True,
    )
    with pytest.raises(ConfigError, match=r"calibrate \(ProbabilityCalibrator\), which learns from what") as told:
        warm(model, local)
    assert "freeze=['calibrate']" in told.value.hint
    assert warm(model, local, freeze="calibrate").fitted[0]["rounds"] == 2


@pytest.mark.thorough
def test_a_trainer_that_cannot_go_on_is_named(local):
    forest = st.SklearnEstimator(HistGradientBoostingClassifier(max_iter=2), label="label", features=NAMES)
    model = fit(local, ("forest", forest), ("clusters", st.KMeans(["a"])))
    with pytest.raises(ConfigError, match=r"forest \(SklearnEstimator\) cannot start warm, expected some of: clusters"):
        warm(model, local, warm_start="forest")
    with pytest.raises(ConfigError, match="'clusters' is in freeze and in warm_start"):
        warm(model, local, warm_start="clusters", freeze=["clusters", "forest"])
    with pytest.raises(ConfigError, match=r"forest \(SklearnEstimator\), which is trained on rows"):
        warm(model, local)
    with pytest.raises(ConfigError, match=r"no stage is called 'cluster'.*clusters"):
        warm(model, local, warm_start="cluster")
    alone = fit(local, ("clusters", st.KMeans(["a"])), keep_statistics=True)
    with pytest.raises(ConfigError) as told:
        alone.refit(local.from_arrow(NEW))
    assert "warm_start=['clusters']" in told.value.hint
    with pytest.raises(EmptyInputError, match="no row is left"):
        warm(alone, local, NEW.slice(0, 0))


@pytest.mark.thorough
def test_vectors_of_another_length_are_refused(local):
    def vectors(length: int) -> pa.Table:
        return pa.table({"v": pa.array([[float(row)] * length for row in range(9)], pa.list_(pa.float64()))})

    model = fit(local, st.KMeans("v"), rows=vectors(2))
    assert warm(model, local, vectors(2)).fitted[0]["vector_sizes"] == {"v": 2}
    with pytest.raises(DataValueError, match=r"vectors are of lengths \{'v': 3\}, and KMeans has learned"):
        warm(model, local, vectors(3))


@pytest.mark.thorough
def test_the_command_line_starts_warm_and_watches_a_share_of_the_rows(local, tmp_path, monkeypatch, capsys):
    stage = st.XGBoostRegressor("y", features=NAMES, num_boost_round=5, early_stopping_rounds=2, max_depth=3)
    model = ps.Pipeline(("model", stage)).fit(local.from_arrow(OLD), validation=local.from_arrow(WATCHED))
    model.save(tmp_path / "m")
    pq.write_table(NEW, tmp_path / "new.parquet")
    monkeypatch.chdir(tmp_path)
    shared = ("--data", "new.parquet", "--warm-start", "model", "--json", "--device", "cpu", "--out", "n")
    assert main(["refit", "m", *shared]) == 2
    assert main(["refit", "m", *shared, "--validation-fraction", "1.5"]) == 2
    assert "validation_fraction is 1.5" in capsys.readouterr().err
    assert main(["refit", "m", *shared, "--validation-fraction", "0.25", "--seed", "3"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    train, watched = local.from_arrow(NEW).split([0.75, 0.25], seed=3)
    expected = model.refit(train, warm_start=True, validation=watched)
    assert (told["warm_started"], told["frozen"]) == (["model"], [])
    assert (told["digest"], told["rows"]) == (expected.digest, train.count())
