"""Metrics of several classes against PySpark's evaluator and scikit-learn, on columns of every kind."""

import math

import numpy as np
import pyarrow as pa
import pytest
from mllib_metrics import frame_of, metrics_of
from sklearn import metrics as sk

from penstock.errors import ConfigError, SchemaError
from penstock.stages.evaluation.multiclass import MulticlassClassificationEvaluator
from penstock.stages.evaluation.shared_scan import evaluate

OURS = ("matthewsCorrelation", "cohensKappa", "balancedAccuracy", "topKAccuracy")
MLLIBS = tuple(name for name in MulticlassClassificationEvaluator.larger_better if name not in OURS)
BY_LABEL = tuple(name for name in MLLIBS if name.endswith("ByLabel"))


def data(case="random"):
    rng = np.random.default_rng(3)
    label = rng.integers(0, 4, 400).astype(float)
    prediction = np.where(rng.random(400) < 0.5, label, rng.integers(0, 4, 400))
    if case == "unpredicted":
        prediction[prediction == 2] = 3.0
    if case == "unknown":  # class 3 is predicted, and no row's label
        label[label == 3] = 0.0
    probability = rng.dirichlet(np.full(4, 0.3), 400)
    probability[0] = [1.0, 0.0, 0.0, 0.0]
    weight = rng.exponential(size=400)
    return {"label": label, "prediction": prediction, "weight": weight, "probability": probability.tolist()}


def evaluated(local, evaluator, columns):
    return evaluator.evaluate(local.from_arrow(pa.table(columns), fragment_bytes=4000))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("random", {"weight": "weight", "metric_label": 3.0, "beta": 0.5, "eps": 0.05}),
        ("unpredicted", {"metric_label": 2.0, "beta": 2.0}),
        ("unknown", {"weight": "weight", "metric_label": 1.0}),
    ],
)
def test_metrics_are_mllibs(local, spark, case, options):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator as Mllibs

    columns = data(case)
    spelt = {"weight": "weightCol", "metric_label": "metricLabel"}
    theirs = {spelt.get(name, name): value for name, value in options.items()}
    expected = metrics_of(Mllibs(**theirs), frame_of(spark, columns), MLLIBS)
    found = evaluated(local, MulticlassClassificationEvaluator(metrics=MLLIBS, **options), columns)
    assert list(found) == list(expected)
    assert found == {name: pytest.approx(value, rel=1e-12) for name, value in expected.items()}
    better = {name: MulticlassClassificationEvaluator.larger_better[name] for name in MLLIBS}
    assert better == {name: Mllibs(metricName=name).isLargerBetter() for name in MLLIBS}


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_are_scikit_learns(local, weighted):
    columns = data()
    label, prediction, probability = (np.array(columns[name]) for name in ("label", "prediction", "probability"))
    given = {"sample_weight": columns["weight"] if weighted else None}
    found = evaluated(local, MulticlassClassificationEvaluator(weight="weight" if weighted else None), columns)
    expected = {
        "f1": sk.f1_score(label, prediction, average="weighted", **given),
        "accuracy": sk.accuracy_score(label, prediction, **given),
        "logLoss": sk.log_loss(label, np.clip(probability, 1e-15, 1), **given),
        "matthewsCorrelation": sk.matthews_corrcoef(label, prediction, **given),
        "cohensKappa": sk.cohen_kappa_score(label, prediction, **given),
        "balancedAccuracy": sk.balanced_accuracy_score(label, prediction, **given),
        "topKAccuracy": sk.top_k_accuracy_score(label, probability, k=2, **given),
    }
    assert {k: found[k] for k in expected} == {k: pytest.approx(v, rel=1e-9) for k, v in expected.items()}


def test_metrics_of_strings_are_those_of_their_indices(local):
    columns = {name: values for name, values in data().items() if name != "probability"}
    names = np.array(["no", "yes", "perhaps", "never"])
    text = {**columns, **{name: names[columns[name].astype(int)] for name in ("label", "prediction")}}
    found = evaluated(local, MulticlassClassificationEvaluator(metric_label="perhaps"), text)
    assert found == pytest.approx(evaluated(local, MulticlassClassificationEvaluator(metric_label=2), columns))


def test_all_metrics_are_in_mllibs_order_and_then_ours(local):
    found = evaluated(local, MulticlassClassificationEvaluator(), data())
    assert tuple(found) == MLLIBS + OURS
    assert None not in found.values()
    assert found.reasons == {}


def test_beta_is_not_that_of_f1(local):
    columns = {"label": [0, 0, 1], "prediction": [0, 1, 1]}
    found = evaluated(local, MulticlassClassificationEvaluator(beta=2.0, metric_label=0), columns)
    assert found["f1"] == pytest.approx(2 / 3, rel=1e-12)
    assert found["fMeasureByLabel"] == pytest.approx(5 * 0.5 / (4 + 0.5), rel=1e-12)
    assert found["weightedFMeasure"] == pytest.approx((2 * (2.5 / 4.5) + 5 * 0.5 / (4 * 0.5 + 1)) / 3, rel=1e-12)


def test_a_metric_label_that_is_no_label_is_said(local):
    for label, metric_label in [([0, 1], 7.0), (["a", "b"], 0.0), ([0, 1], "a")]:
        evaluator = MulticlassClassificationEvaluator(metric_label=metric_label, metrics=BY_LABEL)
        found = evaluated(local, evaluator, {"label": label, "prediction": label})
        assert found == dict.fromkeys(BY_LABEL)
        assert set(found.reasons.values()) == {f"no row of positive weight has label {metric_label!r}"}


def test_the_metric_label_may_be_a_boolean(local):
    evaluator = MulticlassClassificationEvaluator(metric_label=True, metrics="recallByLabel")
    assert evaluated(local, evaluator, {"label": [True, True, False], "prediction": [1, 0, 0]}) == {
        "recallByLabel": 0.5
    }


def test_without_probabilities_two_metrics_are_undefined(local):
    found = evaluated(local, MulticlassClassificationEvaluator(), {"label": [0, 1], "prediction": [0, 1]})
    assert found.reasons == dict.fromkeys(["logLoss", "topKAccuracy"], "there is no column 'probability'")


def test_probabilities_of_strings_are_left_out_and_refused_where_they_are_asked_for(local):
    columns = {"label": ["a", "b"], "prediction": ["a", "b"], "probability": [[0.5, 0.5]] * 2}
    found = evaluated(local, MulticlassClassificationEvaluator(metric_label="a"), columns)
    assert found.reasons == dict.fromkeys(["logLoss", "topKAccuracy"], "the classes of strings are not known")
    with pytest.raises(SchemaError, match=r"'label' is string, but .* takes class indices as labels"):
        evaluated(local, MulticlassClassificationEvaluator(metrics="logLoss"), columns)


def test_a_column_of_probabilities_that_is_asked_for_is_required(local):
    for options in ({"metrics": ("f1", "topKAccuracy")}, {"probability": "chances"}):
        with pytest.raises(SchemaError, match="is not in the data"):
            evaluated(local, MulticlassClassificationEvaluator(**options), {"label": [0], "prediction": [0]})


def test_only_the_columns_needed_are_read():
    options = {"weight": "weight", "probability": "chances"}
    assert MulticlassClassificationEvaluator(**options).columns() == ("prediction", "label", "chances", "weight")
    assert MulticlassClassificationEvaluator(**options, metrics="f1").columns() == ("prediction", "label", "weight")
    assert MulticlassClassificationEvaluator(**options, metrics="logLoss").columns() == ("label", "chances", "weight")


def test_the_log_loss_needs_no_predictions(local):
    columns = {"label": [0, 1], "probability": [[0.5, 0.5], [0.5, 0.5]]}
    found = evaluated(local, MulticlassClassificationEvaluator(metrics="logLoss"), columns)
    assert found == {"logLoss": pytest.approx(math.log(2))}
    assert found.tables == {}


def test_tables_are_those_of_the_labels(local):
    columns = {"label": ["a", "b", "b"], "prediction": ["a", "a", "b"], "weight": [1.0, 2.0, 3.0]}
    tables = evaluated(local, MulticlassClassificationEvaluator(weight="weight"), columns).tables
    assert tables["confusionMatrix"].to_pydict() == {
        "label": ["a", "b", "b"],
        "prediction": ["a", "a", "b"],
        "weight": [1.0, 2.0, 3.0],
    }
    assert tables["byLabel"].to_pydict() == {
        "label": ["a", "b"],
        "weight": [1.0, 5.0],
        "precision": [pytest.approx(1 / 3), 1.0],
        "recall": [1.0, pytest.approx(0.6)],
        "falsePositiveRate": [pytest.approx(0.4), 0.0],
        "fMeasure": [pytest.approx(0.5), pytest.approx(0.75)],
    }


def test_tables_are_short(local):
    label = np.arange(1200) % 600
    found = evaluated(local, MulticlassClassificationEvaluator(), {"label": label, "prediction": label[::-1]})
    assert {name: len(table) for name, table in found.tables.items()} == {"confusionMatrix": 500, "byLabel": 500}


def test_slices_take_the_same_metrics(local):
    columns = {**data(), "half": ["a", "b"] * 200}
    dataset = local.from_arrow(pa.table(columns), fragment_bytes=4000)
    found = evaluate(dataset, [MulticlassClassificationEvaluator(metrics=("accuracy", "logLoss"))], slices=["half"])
    right = columns["label"] == columns["prediction"]
    assert found.slices["half"]["accuracy"].to_pylist() == pytest.approx([right[::2].mean(), right[1::2].mean()])


def test_columns_of_the_wrong_type_are_refused(local, subtests):
    for changed, column in [
        ({"prediction": ["0"]}, "prediction"),
        ({"label": ["0"]}, "prediction"),
        ({"label": [[0]]}, "label"),
        ({"prediction": [[0]]}, "prediction"),
        ({"probability": ["0.5"]}, "probability"),
        ({"probability": [["0.5"]]}, "probability"),
        ({"weight": ["1"]}, "weight"),
        ({"weight": [[1.0]]}, "weight"),
        ({"label": None}, "label"),
    ]:
        with subtests.test(changed=changed):
            columns = {"label": [0], "prediction": [0], **changed}
            columns = {name: values for name, values in columns.items() if values is not None}
            evaluator = MulticlassClassificationEvaluator(weight="weight" if "weight" in columns else None)
            with pytest.raises(SchemaError, match=repr(column)) as caught:
                evaluated(local, evaluator, columns)
            assert (caught.value.column, caught.value.stage) == (column, "MulticlassClassificationEvaluator")


def test_parameters_out_of_range_are_refused(subtests):
    for options, message in [
        ({"beta": 0.0}, "beta is 0.0"),
        ({"beta": math.nan}, "beta is nan"),
        ({"eps": 0.5}, "eps is 0.5"),
        ({"top_k": 0}, "k is 0"),
        ({"metrics": "logLoss", "probability": None}, "'logLoss' needs a column"),
        ({"metrics": "f2"}, "'f2'"),
    ]:
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            MulticlassClassificationEvaluator(**options)
