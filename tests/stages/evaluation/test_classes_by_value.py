"""A class is met by its value: metrics of models against scikit-learn's with ``labels=classes``, whatever rows lack."""

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics as sk
from sklearn.tree import DecisionTreeClassifier

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError, DataValueError, SchemaError

SEVERAL = {"from 1": [1, 2, 3], "with gaps": [-1, 2, 5], "texts": ["maybe", "no", "yes"], "floats": [0.0, 3.0, 7.0]}
TWO = {"logistic": [1, 2], "xgboost": ["no", "yes"], "bayes": [False, True], "discriminant": [-1, 1]}
TRAINERS = {
    "logistic": lambda: st.LogisticRegression("label", features=["x"], reg_param=0.01),
    "xgboost": lambda: st.XGBoostClassifier("label", features=["x"], num_boost_round=3),
    "forest": lambda: st.RandomForestClassifier("label", features=["x"], num_trees=3),
    "bayes": lambda: st.NaiveBayes("label", features=["x"], model_type="gaussian"),
    "discriminant": lambda: st.LinearDiscriminantAnalysis("label", features=["x"]),
    "sklearn": lambda: st.SklearnEstimator(DecisionTreeClassifier(max_depth=2), "label", features=["x"]),
}
MULTICLASS, BINARY = st.MulticlassClassificationEvaluator, st.BinaryClassificationEvaluator


def rows(local, classes, keep=None, size=120):
    """Return rows of classes that a number tells apart in part, of some of the classes alone."""
    rng = np.random.default_rng(2)
    code = rng.integers(0, len(classes), size)
    x = rng.normal(size=size) + code
    kept = np.isin(code, range(len(classes)) if keep is None else keep)
    label = pa.array(classes).take(pa.array(code[kept]))
    return local.from_arrow(pa.table({"x": x[kept], "label": label, "shop": code[kept]}), fragment_bytes=400)


def probabilities(model, data):
    """Return the labels of rows, and what a model says of each of its classes."""
    scored = model.transform(data).to_arrow()
    found = np.array(scored["probability"].to_pylist(), dtype=float)
    label = scored["label"].to_pylist()
    return label, np.clip(np.column_stack([1 - found, found]) if found.ndim == 1 else found, 1e-15, 1 - 1e-15)


def with_a_rare_class(engine, classes):
    """Return rows of three shops, of which one alone has the class in the middle, and not the last."""
    rng = np.random.default_rng(4)
    code = np.concatenate([rng.choice([0, 2], 80), rng.choice([0, 1], 20)])
    shop = np.concatenate([np.arange(80) % 2, np.full(20, 2)])
    table = pa.table({"x": rng.normal(size=100) + code, "label": pa.array(classes).take(pa.array(code)), "shop": shop})
    return engine.from_arrow(table, fragment_bytes=400)


def log_loss(label, probability, classes):
    """Return scikit-learn's, which wants rows that sum to 1, as clipped ones do but for rounding."""
    return sk.log_loss(label, probability / probability.sum(axis=1, keepdims=True), labels=classes)


@pytest.mark.thorough
@pytest.mark.parametrize("trainer", TRAINERS)
def test_several_classes_have_scikit_learns_scores_whatever_rows_lack(local, subtests, trainer):
    kind = list(SEVERAL)[list(TRAINERS).index(trainer) % len(SEVERAL)]
    for classes in (SEVERAL[kind], SEVERAL["texts"])[: 1 + (trainer == "logistic")]:
        model = ps.Pipeline(TRAINERS[trainer]()).fit(rows(local, classes))
        for keep in ([1, 2], [0, 2], [0, 1], [2])[:: 1 if trainer == "logistic" else 2]:
            data = rows(local, classes, keep)
            label, probability = probabilities(model, data)
            place = np.array([classes.index(each) for each in label])
            own = probability[np.arange(len(label)), place]
            with subtests.test(classes=classes, keep=keep):
                found = model.evaluate(data, MULTICLASS(top_k=1))
                assert found["logLoss"] == pytest.approx(log_loss(label, probability, classes), rel=1e-9)
                assert found["topKAccuracy"] == pytest.approx(np.mean(own >= probability.max(axis=1)))
                assert found.labels["recallByLabel"] == classes[0]


@pytest.mark.thorough
@pytest.mark.parametrize(("trainer", "classes"), TWO.items(), ids=TWO)
def test_two_classes_have_every_metric_whatever_their_values(local, subtests, trainer, classes):
    model = ps.Pipeline(TRAINERS[trainer]()).fit(rows(local, classes))
    label, probability = probabilities(model, whole := rows(local, classes))
    found, several = model.evaluate(whole, BINARY()), model.evaluate(whole, MULTICLASS())
    positive = np.array([each == classes[1] for each in label])
    assert {**found.reasons, **several.reasons} == {}
    assert found["areaUnderROC"] == pytest.approx(sk.roc_auc_score(positive, probability[:, 1]))
    assert found["brierScore"] == pytest.approx(np.mean((probability[:, 1] - positive) ** 2))
    predicted = model.transform(whole).to_arrow()["prediction"].to_pylist()
    recall = sk.recall_score(label, predicted, labels=[classes[0]], average=None)[0]
    assert (several["recallByLabel"], several.labels["recallByLabel"]) == (pytest.approx(recall), classes[0])
    for keep in ([0, 1], [0], [1]):
        label, probability = probabilities(model, data := rows(local, classes, keep))
        with subtests.test(keep=keep):
            expected = pytest.approx(log_loss(label, probability, classes), rel=1e-9)
            assert model.evaluate(data, BINARY(metrics="logLoss")) == {"logLoss": expected}
            assert model.evaluate(data, MULTICLASS(metrics="logLoss")) == {"logLoss": expected}


@pytest.mark.thorough
def test_a_class_that_a_fold_has_not_seen_has_probability_0_there(local):
    classes, data = SEVERAL["texts"], with_a_rare_class(local, SEVERAL["texts"])
    folds = data.folds(3, group="shop")
    found = ps.cross_validate(ps.Pipeline(TRAINERS["logistic"]()), data, MULTICLASS(metrics="logLoss"), folds=folds)
    lacking = 0
    for fold, model, metrics in zip(folds, found.models, found.evaluations, strict=True):
        label, probability = probabilities(model, fold.validation)
        known = model.classes["probability"]
        own = [probability[row, known.index(each)] if each in known else 1e-15 for row, each in enumerate(label)]
        lacking += len(known) < len(classes)
        assert metrics["logLoss"] == pytest.approx(-np.mean(np.log(own)), rel=1e-9)
    assert lacking == 1


@pytest.mark.thorough
@pytest.mark.one_cluster
def test_predictions_of_folds_are_aligned_by_class(engine):
    classes, data = SEVERAL["from 1"], with_a_rare_class(engine, SEVERAL["from 1"])
    folds = data.folds(3, group="shop")
    found = ps.cross_validate(ps.Pipeline(TRAINERS["logistic"]()), data, MULTICLASS(metrics="logLoss"), folds=folds)
    rows = {row["x"]: row for row in found.predictions.to_arrow().to_pylist()}
    for fold, model in zip(folds, found.models, strict=True):
        known = model.classes["probability"]
        x_of, scored = fold.validation.to_arrow()["x"].to_pylist(), probabilities(model, fold.validation)[1]
        for x, one in zip(x_of, scored, strict=True):
            expected = [one[known.index(each)] if each in known else 0.0 for each in classes]
            assert rows[x]["probability"] == pytest.approx(expected)
            assert (rows[x]["rawPrediction"] is None) == (known != tuple(classes))
    whole = MULTICLASS(metrics="logLoss").evaluate(found.predictions)["logLoss"]
    sizes = [len(fold.validation.to_arrow()) for fold in folds]
    assert whole == pytest.approx(np.average([each["logLoss"] for each in found.evaluations], weights=sizes))


def test_classes_stay_with_scores_through_the_verbs_of_a_dataset(local, subtests):
    data = rows(local, SEVERAL["from 1"], size=40)
    scored = ps.Pipeline(TRAINERS["logistic"]()).fit(data).transform(data)
    part = scored.filter(nw.col("label") != 1)
    expected = MULTICLASS(metrics="logLoss").evaluate(part)["logLoss"]
    for name, made in {
        "with_columns": part.with_columns(z=nw.col("x") + 1),
        "rename": part.rename({"probability": "chances"}).rename({"chances": "probability"}),
        "cast": part.cast({"x": "float32"}),
        "sort": part.sort("x"),
        "join": part.join(data.select("x"), on="x"),
        "union": part.union(part),
        "sql": local.sql("SELECT * FROM part", part=part),
        "persist": part.persist(),
        "arrow": local.from_arrow(part.to_arrow()),
        "stage": ps.Pipeline(st.StandardScaler("x")).fit(part).transform(part),
    }.items():
        with subtests.test(name):
            assert MULTICLASS(metrics="logLoss").evaluate(made)["logLoss"] == pytest.approx(expected)
    other = part.with_columns(probability=nw.col("x"))
    assert other.schema.field("probability").metadata is None


def test_scores_without_known_classes_are_no_guess(local):
    table = {"label": [1, 2, 1], "prediction": [1, 2, 1], "probability": [[0.5, 0.25, 0.25]] * 3}
    data = local.from_arrow(pa.table(table))
    found = MULTICLASS(metrics="logLoss").evaluate(data)
    assert found.reasons == {"logLoss": "no row of 'label' is 0, and labels may be counted from 1: name the classes"}
    named = MULTICLASS(metrics="logLoss", classes=[1, 2, 3]).evaluate(data)["logLoss"]
    assert named == pytest.approx(-(2 * np.log(0.5) + np.log(0.25)) / 3)
    texts = local.from_arrow(pa.table({"label": ["no", "yes"], "rawPrediction": [0.1, 0.9]}))
    with pytest.raises(SchemaError, match="'label' is string"):
        BINARY(metrics="areaUnderROC").evaluate(texts)
    assert BINARY(metrics="areaUnderROC", classes=("no", "yes")).evaluate(texts) == {"areaUnderROC": 1.0}


def test_what_cannot_be_met_by_value_is_refused_by_name(local, subtests):
    def scored(classes):
        data = rows(local, classes, size=60)
        return ps.Pipeline(TRAINERS["bayes"]()).fit(data).transform(data)

    two, three, texts = scored([1, 2]), scored([1, 2, 3]), scored(["no", "yes"])
    for data, evaluator, error, message in [
        (three, BINARY(), ConfigError, "takes scores of two classes, and the model has 3: 1, 2, 3"),
        (two, BINARY(classes=(0, 1)), SchemaError, "has scores of the classes 1, 2, expected 0, 1"),
        (texts, BINARY(label="shop"), SchemaError, "'shop' is int64, but .* labels among the classes 'no', 'yes'"),
        (two, BINARY(label="shop"), DataValueError, "'shop' has .* not a class, expected one of the classes 1, 2"),
    ]:
        with subtests.test(message), pytest.raises(error, match=message):
            evaluator.evaluate(data)
    for classes in ("ab", (1, "b"), (1, 1.0), (1,), (2**53, 2**53 + 1)):
        with subtests.test(classes=classes), pytest.raises(ConfigError, match="2 or more different texts, or numbers"):
            MULTICLASS(classes=classes)


def test_evaluators_of_texts_fit_a_plan_before_anything_is_learned(local):
    data = rows(local, ["no", "yes"], size=20)
    for trainer, fits in ((TRAINERS["bayes"](), True), (st.KMeans(k=2, features=["x"]), False)):
        schema = ps.Pipeline(trainer).plan(data).schemas[-1]
        evaluator = BINARY(raw_prediction="rawPrediction" if fits else "x", probability=None, metrics="areaUnderROC")
        if fits:
            assert evaluator.bind(schema).label == "label"
        else:
            with pytest.raises(SchemaError, match="'label' is string"):
                evaluator.bind(schema)


def test_a_calibrator_refuses_rows_of_other_classes_than_its_scores(local):
    model = ps.Pipeline(TRAINERS["bayes"]()).fit(rows(local, [1, 2], size=60))
    other = model.transform(rows(local, [1, 3], size=60))
    for stage in (st.ProbabilityCalibrator("label"), st.ThresholdTuner("label")):
        with pytest.raises(DataValueError, match="scores of the classes 1, 2; label 'label' has 1, 3"):
            ps.Pipeline(stage).fit(other)


def test_keys_of_different_classes_have_no_model_together(local):
    rng = np.random.default_rng(1)
    x, code = rng.normal(size=80), rng.integers(0, 2, 80)
    label = np.where(np.arange(80) < 40, code, 2 * code)
    data = local.from_arrow(pa.table({"x": x + code, "label": label, "key": np.arange(80) // 40}))
    with pytest.raises(DataValueError, match="learned different classes: 0, 1, and 0, 2"):
        ps.Pipeline(st.PerKey(TRAINERS["bayes"](), by="key")).fit(data)
