"""Where trainers compute: on the device that their rows are on, from which only the few trips named here are made.

Rows stay where they are. What crosses grows with features, clusters or components, never with rows, but where rows are
read; how often, with rounds and fragments.
"""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from noticing_device import Allowed, NoticingDevice, Sizes, UnexpectedTripError
from on_stand_in import cpu, gpu, stand_in  # noqa: F401

from penstock import frames
from penstock import stages as st
from penstock.core.errors import DataValueError
from penstock.dataset import Dataset
from penstock.dataset.folds.blocks import Dealer
from penstock.dataset.folds.dealers import ByColumn, ByGroup, ByRow, ByShare, ByTime, Stratified, Thinned
from penstock.dataset.folds.keys import GroupHash, RowHash, TimeOrder
from penstock.engines.local import LocalEngine
from penstock.frames import ROW, cudf, matrices
from penstock.io.fragments import row_bytes
from penstock.pipeline import Pipeline
from penstock.stages.base import Fitted
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import evaluate
from penstock.stages.trainer import Trainer
from penstock.stages.training.bayes import _bayes
from penstock.stages.training.clustering import _lloyd, _seeding
from penstock.statistics import BinaryCurve, Extremes, Moments, Quantiles, Statistic, quantiles
from penstock.statistics.class_grams import ClassGrams
from penstock.statistics.class_moments import ClassMoments
from penstock.statistics.evaluation.histogram import Residuals
from penstock.statistics.fourth_moments import FourthMoments
from penstock.statistics.gram import Gram
from penstock.statistics.labels_by_value import LabelsByValue
from penstock.statistics.log_cells import LogCells
from penstock.statistics.scores_by_class import ScoresByClass
from penstock.testing import LocalGang
from penstock.testing.compare import demand_equal

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

ROWS, SAMPLE, FRAGMENTS, ROUNDS, FOLDS, DISTINCT = 6000, 160, 3, 8, 2, 300
FEATURES = ("x0", "x1", "x2")


def once(_: Sizes) -> int:
    return 1


def each_fragment(sizes: Sizes) -> int:
    """Several times: for signs, weights and columns of each."""
    return 4 * sizes.fragments


def each_fold(sizes: Sizes) -> int:
    """Several times for each fragment, and for each fold of it."""
    return 2 * FOLDS * each_fragment(sizes)


def each_level(sizes: Sizes) -> int:
    """For each column, as often as rows can be halved."""
    return 20 * sizes.features * sizes.fragments


def each_round(sizes: Sizes) -> int:
    """A few times, and as often before the first and after the last; a step along a line may be tried again."""
    return 4 * (sizes.rounds + 4)


def each_block(sizes: Sizes) -> int:
    """For each output, as blocks are cut from fragments."""
    return each_round(sizes) * sizes.fragments * sizes.outputs


def of_outputs(sizes: Sizes) -> int:
    """Two parts of a sum of each feature, and of a weight beside them, for each output."""
    return 2 * sizes.outputs * (sizes.features + 1)


def of_candidates(sizes: Sizes) -> int:
    """The candidates of k-means||, 2 k in each of two steps on average."""
    return 10 * of_outputs(sizes)


def of_moments(sizes: Sizes) -> int:
    """Four sums of each feature, for each class."""
    return 4 * sizes.outputs * sizes.features


def of_products(sizes: Sizes) -> int:
    """Products of features, of a 1 and of a label with each other, for about eight pairs of slices."""
    return 8 * (sizes.features + 2) ** 2 * sizes.outputs


def of_distinct(sizes: Sizes) -> int:
    """Numbers that are kept one by one: distinct scores, which an exact curve has all of; cells; a sketch's values."""
    return sizes.distinct


READING = Allowed("io/sources/", "from_arrow", lambda _: sys.maxsize, lambda sizes: sizes.fragments)
CLUSTERING, EXACT = "stages/training/clustering/", "stages/training/exact/"
LINEAR_MODELS, EVALUATION = "stages/training/linear/", "statistics/evaluation/"
DISCRIMINANT = "stages/training/discriminant/"
ALLOWED = (
    READING,
    Allowed(EXACT + "sums.py:Split.sums", "to_host", of_outputs, each_block),
    Allowed(EXACT + "design.py:sum_on_gpu", "to_host", of_products, each_round),
    Allowed(LINEAR_MODELS + "_irls.py:Likelihood.", "to_device", of_outputs, each_block),
    Allowed(EXACT + "products.py:_PlainRound.__init__", "to_device", of_outputs, each_round),
    Allowed(EXACT + "design.py:Totals.of", "to_device", of_outputs, each_round),
    Allowed(CLUSTERING + "kmeans.py:KMeans._read", "to_device", of_outputs, once),
    Allowed(CLUSTERING + "kmeans.py:KMeans._vectors", "__bool__", once, each_fragment),
    Allowed(CLUSTERING + "kmeans.py:KMeans._vectors", "__int__", once, each_fragment),
    Allowed(
        CLUSTERING + "_seeding.py:gather", "to_host", lambda sizes: sizes.sample * (sizes.features + 1), each_round
    ),
    Allowed(CLUSTERING + "_seeding.py:_distances", "to_device", of_candidates, each_round),
    Allowed(CLUSTERING + "_seeding.py:_cost", "to_host", of_outputs, each_round),
    Allowed(CLUSTERING + "_seeding.py:seeds", "to_device", of_candidates, once),
    Allowed(CLUSTERING + "_lloyd.py:totals", "to_host", of_candidates, each_round),
    Allowed(CLUSTERING + "_lloyd.py:sizes_and_costs", "to_device", of_outputs, once),
    Allowed(CLUSTERING + "_clusters.py:PlainClusters._summed", "to_device", of_outputs, each_round),
    Allowed(CLUSTERING + "_clusters.py:PlainClusters._summed", "to_host", of_outputs, each_block),
    Allowed(CLUSTERING + "_clusters.py:PlainClusters.__init__", "__float__", once, once),
    Allowed(CLUSTERING + "_clusters.py:_nearest", "__int__", once, each_block),
    Allowed(CLUSTERING + "_clusters.py:_nearest", "to_device", of_outputs, each_block),
    Allowed(CLUSTERING + "gaussian_mixture.py:_PlainStep.__init__", "to_device", of_products, each_round),
    # predictions
    Allowed(CLUSTERING + "kmeans.py:KMeans.transform", "to_device", of_outputs, each_fragment),
    Allowed(CLUSTERING + "_mixture.py:Mixture.log_densities", "to_device", of_products, each_fragment),
    Allowed(LINEAR_MODELS + "_linear_model.py:predicted", "to_device", of_outputs, each_fragment),
    Allowed(LINEAR_MODELS + "_linear_model.py:predicted", "__bool__", once, each_fragment),
    Allowed(LINEAR_MODELS + "generalized_linear_regression.py:", "to_device", of_outputs, each_fragment),
    Allowed("stages/training/_finite.py:", "__bool__", once, each_fragment),
    Allowed("stages/training/bayes/_bayes.py:_added", "to_device", of_outputs, each_fragment),
    Allowed("stages/training/bayes/naive_bayes.py:", "__bool__", once, each_fragment),
    Allowed(DISCRIMINANT + "_discriminant.py:", "__bool__", once, each_fragment),
    Allowed(DISCRIMINANT + "linear_discriminant_analysis.py:", "to_device", of_outputs, each_fragment),
    Allowed("stages/classes.py:Classes.with_columns", "from_arrow", of_outputs, each_fragment),
    Allowed("stages/target.py:", "__int__", once, each_fragment),
    Allowed("stages/target.py:", "__bool__", once, each_fragment),
    # statistics
    Allowed("statistics/aggregates.py:aggregate", "to_arrow", of_products, each_fragment),
    Allowed("statistics/aggregates.py:count_true", "to_host", of_products, each_fold),
    Allowed("statistics/moments.py:_states_of_rows", "to_host", of_moments, each_fragment),
    Allowed("statistics/labels.py:categories", "to_arrow", of_outputs, each_fragment),
    Allowed("statistics/fourth_moments.py:", "to_device", of_outputs, each_fold),
    Allowed("statistics/class_moments.py:ClassMoments._table", "to_host", of_moments, each_fragment),
    Allowed("statistics/extremes.py:_extremes_of_numbers", "to_host", of_outputs, each_fragment),
    Allowed("statistics/gram.py:", "to_host", of_products, each_fold),
    Allowed("statistics/gram.py:", "__bool__", once, each_fold),
    Allowed("statistics/gram.py:", "__float__", once, each_fold),
    Allowed("statistics/labels.py:coded_there", "to_arrow", of_outputs, each_fragment),
    Allowed("statistics/labels.py:coded_there", "from_arrow", of_outputs, each_fragment),
    Allowed("statistics/labels.py:coded_there", "to_device", of_outputs, each_fragment),
    Allowed("statistics/labels.py:class_codes", "to_device", of_outputs, each_fragment),
    Allowed("stages/classes.py:label_codes", "__bool__", once, each_fragment),
    Allowed("statistics/quantiles.py:_packed", "to_host", of_distinct, each_fragment),
    Allowed("statistics/quantiles.py:_coin", "__int__", once, each_level),
    # evaluations
    Allowed("statistics/cells.py:_finest", "__float__", once, each_fragment),
    Allowed("statistics/cells.py:_steps", "__int__", once, each_fragment),
    Allowed("statistics/cells.py:_table", "to_host", of_distinct, each_fold),
    Allowed("statistics/tied_sums.py:TiedSums.summarise", "to_host", of_distinct, each_fragment),
    Allowed(EVALUATION + "ties.py:_sum_type", "__int__", once, each_fragment),
    Allowed(EVALUATION + "ties.py:_added_on_gpu", "to_host", lambda sizes: 4 * sizes.distinct, each_fold),
    Allowed(EVALUATION + "calibration.py:Probabilities.", "to_device", of_outputs, each_fragment),
    Allowed(EVALUATION + "calibration.py:Probabilities.", "to_host", of_outputs, each_fragment),
    Allowed(EVALUATION + "confusion.py:Confusion._cells", "to_host", of_outputs, each_fragment),
    Allowed(EVALUATION + "class_probabilities.py:", "__bool__", once, each_fragment),
    Allowed(EVALUATION + "class_probabilities.py:", "__int__", once, each_fragment),
    Allowed(EVALUATION + "class_probabilities.py:", "__float__", once, each_fragment),
    Allowed(EVALUATION + "class_probabilities.py:_lengths", "to_host", once, each_fragment),
    Allowed("statistics/points.py:_lengths", "to_host", once, each_fold),
    Allowed("statistics/points.py:PointStatistic.points", "__int__", once, each_fragment),
    Allowed("statistics/points.py:PointStatistic.points", "__bool__", once, each_fragment),
    Allowed("statistics/places.py:places", "__int__", once, each_fragment),
    Allowed(EVALUATION + "clusters.py:ClusterSums._table", "to_host", of_outputs, each_fold),
    Allowed(EVALUATION + "clusters.py:Clusters.on", "to_device", of_outputs, each_fold),
    Allowed(EVALUATION + "silhouettes.py:_coefficients", "to_host", of_outputs, each_fragment),
    Allowed(EVALUATION + "silhouettes.py:Silhouettes.summarise", "to_host", of_outputs, each_fragment),
    Allowed(EVALUATION + "silhouettes.py:Silhouettes.summarise", "__int__", once, each_fragment),
    Allowed("statistics/grouped/slices.py:Sliced.summarise", "to_arrow", once, each_fold),
    Allowed("statistics/grouped/bootstrap.py:Resampled.summarise", "to_device", of_outputs, each_fragment),
    # rows that are dealt
    Allowed("dataset/folds/dealers.py:Thinned.deal", "to_device", of_outputs, once),
)
"""What crosses, of an exact curve too, is never larger than the state that leaves a partition on a CPU."""


@pytest.fixture(autouse=True)
def small_samples_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few rows drawn as could not be mistaken for all, and as many blocks of a fragment as show what each costs."""
    monkeypatch.setattr(_seeding, "GATHERED", SAMPLE)
    monkeypatch.setitem(_lloyd._AT_A_TIME, "gpu", 2**12)
    monkeypatch.setitem(_bayes._ROWS, "gpu", 2**9)
    monkeypatch.setattr(quantiles, "EXACT", DISTINCT)


def table() -> pa.Table:
    source = np.random.default_rng(5)
    x = np.round(source.integers(0, 4, size=(ROWS, 1)) + 1.2 * source.normal(size=(ROWS, 3)), 1) + 7.0
    label = (x.sum(axis=1) + source.normal(size=ROWS) > 26).astype(int)
    columns = {name: x[:, place] for place, name in enumerate(FEATURES)}
    return pa.table({**columns, "w": source.integers(0, 3, ROWS) / 2.0, "y": label})


def scored() -> pa.Table:
    """Return predictions beside the table: of few distinct numbers but `p`, of which every one is another."""
    source = np.random.default_rng(6)
    classes, of = source.integers(0, 4, ROWS), source.integers(0, 4, ROWS)
    lists = [list(range(length)) for length in (1, 3, 2)] * (ROWS // 3)
    p = source.random(ROWS)
    added = {"p": p, "c": classes, "found": np.where(p < 0.7, classes, of), "shares": list(np.stack([p, 1 - p], 1))}
    names = np.array(["a", "b", "c", "d"])
    texts = {"text": names[added["c"]], "found_text": names[added["found"]]}
    added["chances"] = list(source.dirichlet([1, 2, 3, 4], ROWS))
    added |= texts | {"list": lists, "found_list": lists[1:] + lists[:1]}
    return pa.table({**dict(zip(table().column_names, table().columns, strict=True)), **added})


def fragments_of(engine: LocalEngine, whole: pa.Table | None = None) -> Dataset:
    whole = table() if whole is None else whole
    return engine.from_arrow(whole, fragment_bytes=row_bytes(whole.schema) * (ROWS // FRAGMENTS + 1))


def sizes_of(stage: Trainer) -> Sizes:
    return Sizes(len(FEATURES), getattr(stage, "k", 2), SAMPLE, stage.rounds, FRAGMENTS, DISTINCT)


@contextmanager
def watching(stage: Trainer, method: str, device: NoticingDevice) -> Iterator[None]:
    """Have the device watch while a method of the stage runs, and not what comes before and after."""
    original = getattr(type(stage), method)

    def watched(*arguments: Any) -> Any:
        with device.watching():
            return original(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(stage), method, watched)
        yield


def train(stage: Trainer, engine: LocalEngine, size: int = 1) -> list[Fitted]:
    """Return what each of so many ranks learns."""
    return LocalGang(size).train(stage, fragments_of(engine))


KMEANS = (
    st.KMeans(FEATURES, k=4, weight="w", max_iter=ROUNDS),
    st.KMeans(FEATURES, k=40, max_iter=ROUNDS),
    st.KMeans(FEATURES, k=5, init_mode="random", distance_measure="cosine", max_iter=ROUNDS),
)
MIXTURES = (st.GaussianMixture(FEATURES, k=3, weight="w", max_iter=ROUNDS),)
LINEAR = (
    st.LogisticRegression("y", features=FEATURES, weight="w", max_iter=ROUNDS),
    st.LogisticRegression("y", features=FEATURES, reg_param=0.1, elastic_net_param=0.5, max_iter=ROUNDS),
)
BAYES = tuple(
    st.NaiveBayes("y", features=FEATURES, model_type=each, weight=weight)
    for each, weight in (("multinomial", None), ("complement", "w"), ("gaussian", None), ("gaussian", "w"))
)
DISCRIMINANTS = (
    st.LinearDiscriminantAnalysis("y", features=FEATURES, weight="w"),
    st.LinearDiscriminantAnalysis("y", features=FEATURES, shrinkage="auto"),
    st.QuadraticDiscriminantAnalysis("y", features=FEATURES, shrinkage="oas"),
)
REGRESSIONS = (
    st.LinearRegression("y", features=FEATURES, weight="w"),
    st.LinearRegression("y", features=FEATURES, reg_param=0.1, elastic_net_param=0.5),
    st.LinearRegressionCV("x0", features=FEATURES[1:], weight="w", fold="y", num_folds=FOLDS),
    st.LinearRegressionCV("x0", features=FEATURES[1:], num_folds=FOLDS),
)
GLM = tuple(
    st.GeneralizedLinearRegression(label, features=features, max_iter=ROUNDS, **options)
    for label, features, options in (
        ("y", FEATURES, {"family": "gaussian", "weight": "w", "reg_param": 0.1}),
        ("y", FEATURES, {"family": "binomial", "weight": "w"}),
        ("y", FEATURES, {"family": "binomial", "link": "probit"}),
        ("y", FEATURES, {"family": "binomial", "link": "cloglog"}),
        ("y", FEATURES[:2], {"family": "poisson", "offset": "w"}),
        ("x0", FEATURES[1:], {"family": "gaussian", "offset": "w"}),
        ("x0", FEATURES[1:], {"family": "gamma", "fit_intercept": False}),
        ("x0", FEATURES[1:], {"family": "tweedie", "variance_power": 1.5, "link_power": 0.0, "link_prediction": "eta"}),
    )
)


SIZES = Sizes(len(FEATURES), 4, SAMPLE, ROUNDS, FRAGMENTS, DISTINCT)
EVALUATORS: tuple[Evaluator, ...] = (
    st.RegressionEvaluator("y", prediction="x0", weight="w", metrics=("rmse", "r2", "maxError")),
    st.RegressionEvaluator("y", prediction="x0"),
    st.RegressionEvaluator("y", prediction="x0", weight="w"),
    st.BinaryClassificationEvaluator("y", raw_prediction="x0"),
    st.BinaryClassificationEvaluator("y", raw_prediction="x0", probability="p", weight="w"),
    st.BinaryClassificationEvaluator("y", raw_prediction="p", num_bins=50),
    st.BinaryClassificationEvaluator("y", raw_prediction="shares", probability="shares", num_bins=50, weight="w"),
    st.MulticlassClassificationEvaluator("c", prediction="found"),
    st.MulticlassClassificationEvaluator("text", prediction="found_text", weight="w", metric_label="a"),
    st.MulticlassClassificationEvaluator("y", probability="p", weight="w", metrics=("logLoss", "topKAccuracy")),
    st.MulticlassClassificationEvaluator("c", prediction="found", probability="chances", weight="w", top_k=2),
    st.ClusteringEvaluator("c", features="chances", weight="w"),
    st.ClusteringEvaluator("c", features=FEATURES, label="text"),
    st.ClusteringEvaluator("c", features=FEATURES, weight="w", distance_measure="cosine"),
)
READING_MORE = replace(READING, times=lambda sizes: 4 * sizes.fragments)
"""In two scans; and lists are looked at on the host when they are read, for NaN in them."""


TRAINED: dict[str, tuple[Trainer, ...]] = {"k-means": KMEANS, "mixture": MIXTURES, "logistic": LINEAR, "glm": GLM}
OF_STATISTICS = {"bayes": BAYES, "discriminant": DISCRIMINANTS, "regression": REGRESSIONS}


def as_table(value: Any) -> pa.Table:
    return value if isinstance(value, pa.Table) else pa.table({"value": value if isinstance(value, list) else [value]})


@pytest.mark.thorough
@pytest.mark.parametrize("stages", TRAINED.values(), ids=TRAINED)
def test_a_trainer_leaves_rows_on_the_device_and_learns_what_it_does_on_a_cpu(stages, gpu, cpu, subtests):
    """To 1e-9, also on several ranks: sums are added up in another order."""
    for stage in stages:
        with subtests.test(repr(stage)):
            device = NoticingDevice(ALLOWED, sizes_of(stage))
            with watching(stage, "train", device):
                [found] = train(stage, gpu)
            assert device.trips
            [expected] = train(stage, cpu)
            for learned in (found, *train(stage, gpu, 2), *train(stage, gpu, 3)):
                assert learned.keys() == expected.keys()
                for name, value in expected.items():
                    demand_equal(as_table(learned[name]), as_table(value), name, rtol=1e-9, atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("stages", OF_STATISTICS.values(), ids=OF_STATISTICS)
def test_a_fit_from_statistics_leaves_rows_on_the_device(stages, gpu, subtests):
    for stage in stages:
        with subtests.test(repr(stage)):
            data, device = fragments_of(gpu), NoticingDevice(ALLOWED, sizes_of(stage))
            with device.watching():
                Pipeline(stage).fit(data)
            assert device.trips


PREDICTING = {
    **{name: stages for name, stages in {**TRAINED, **OF_STATISTICS}.items() if name != "logistic"},
    "bayes": BAYES[0:3:2],
    "discriminant": DISCRIMINANTS[0:3:2],
}


@pytest.mark.thorough
@pytest.mark.parametrize("stages", PREDICTING.values(), ids=PREDICTING)
def test_predictions_are_made_on_the_device(stages, gpu, subtests):
    for stage in stages:
        with subtests.test(repr(stage)):
            data, device = fragments_of(gpu), NoticingDevice(ALLOWED, sizes_of(stage))
            model = Pipeline(stage).fit(data)
            with watching(stage, "transform", device):
                model.transform(data).to_arrow()
            assert device.trips


KINDS = tuple(dict.fromkeys(map(type, EVALUATORS)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_leaves_rows_on_the_device_and_is_that_of_a_cpu(kind, gpu, cpu, subtests):
    data = fragments_of(gpu, scored())
    few = pa.concat_tables([scored().slice(0, 1)] * 2)  # of one class, too; and in cells that hold one number
    for evaluator in (each for each in EVALUATORS if type(each) is kind):
        with subtests.test(repr(evaluator)):
            device = NoticingDevice((READING_MORE, *ALLOWED), SIZES)
            with device.watching():
                found = evaluator.evaluate(data)
            assert device.trips
            assert_same(found, evaluator.evaluate(fragments_of(cpu, scored())))
            for rows in (few, few.slice(0, 0)):
                assert_same(*(evaluator.evaluate(engine.from_arrow(rows)) for engine in (gpu, cpu)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [st.RankingEvaluator, st.MultilabelClassificationEvaluator])
def test_lists_are_matched_on_the_host_and_give_what_they_give_on_a_cpu(kind, gpu, cpu):
    evaluator = kind("list", prediction="found_list")
    with pytest.raises(UnexpectedTripError), NoticingDevice((READING_MORE, *ALLOWED), SIZES).watching():
        evaluator.evaluate(fragments_of(gpu, scored()))
    assert_same(*(evaluator.evaluate(fragments_of(engine, scored())) for engine in (gpu, cpu)))


def assert_same(found: Evaluation, expected: Evaluation) -> None:
    assert found.reasons == expected.reasons
    assert_near(dict(found), dict(expected))
    assert found.tables.keys() == expected.tables.keys()
    for name, each in expected.tables.items():
        assert_near(found.tables[name].to_pydict(), each.to_pydict())


def assert_near(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare numbers to 1e-12, and to the bit what counts."""
    assert found.keys() == expected.keys()
    for name, each in expected.items():
        floating = np.asarray(each).dtype.kind == "f"
        compare = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-15) if floating else np.testing.assert_equal
        compare(found[name], each)


OF_CHANCES = st.MulticlassClassificationEvaluator("c", prediction="found", probability="chances")
BAD: tuple[tuple[Evaluator, str, Any], ...] = (
    *((OF_CHANCES, "chances", value) for value in ([0.5, 0.5], [2.0] * 4, [None] * 4, [])),
    (OF_CHANCES, "c", 9),
    (st.ClusteringEvaluator("c", features="chances"), "chances", [0.5, 0.5]),
    (st.ClusteringEvaluator("c", features="chances"), "chances", [1e200] * 4),
    (st.ClusteringEvaluator("c", features="chances", distance_measure="cosine"), "chances", [0.0] * 4),
    (st.BinaryClassificationEvaluator("y", raw_prediction="p", probability="p"), "p", None),
    (st.RegressionEvaluator("y", prediction="p", weight="w"), "w", -1.0),
)


@pytest.mark.thorough
def test_bad_rows_are_refused_as_on_a_cpu(gpu, cpu, subtests):
    whole = scored()
    for evaluator, column, value in BAD:
        with subtests.test(repr(evaluator), column=column, value=value):
            values = pa.array([value, *whole[column].slice(1).to_pylist()], whole.schema.field(column).type)
            bad = whole.set_column(whole.column_names.index(column), column, values)
            told = []
            for engine in (gpu, cpu):
                with pytest.raises(DataValueError) as error:
                    evaluator.evaluate(fragments_of(engine, bad))
                told.append(error.value.args[0].split(" (")[0])
            assert told[0] == told[1]


@pytest.mark.thorough
def test_replicates_and_slices_are_made_on_the_device(gpu, cpu):
    evaluator = st.RegressionEvaluator("y", prediction="x0", metrics="rmse")
    of_replicates = Allowed("statistics/aggregates.py:aggregate", "to_arrow", of_products, each_fold)
    device = NoticingDevice((of_replicates, *ALLOWED), SIZES)
    with device.watching():
        found = evaluate(fragments_of(gpu), [evaluator], bootstrap=2, slices=["y"])
    expected = evaluate(fragments_of(cpu), [evaluator], bootstrap=2, slices=["y"])
    assert found.intervals["rmse"] == pytest.approx(expected.intervals["rmse"], rel=1e-12)
    assert_near(*(each.slices["y"].sort_by("y").to_pydict() for each in (found, expected)))


DEALERS: tuple[Dealer, ...] = (ByRow(5, 3), ByShare(0.3, 5, 1), ByColumn("y", 2), Thinned(ByRow(5, 3), 5, (0.1, 0.5)))
DEALERS_ON_THE_HOST: tuple[Dealer, ...] = (
    Stratified(RowHash(3), "y", pa.int64(), (0, 1), ((2**63,),) * 2),  # which looks classes up there
    ByGroup(GroupHash((pa.field("y", pa.int64()),), 0), 0, (2**63,), (1,)),  # groups are hashed there
    ByTime(TimeOrder(pa.field("y", pa.int64())), (2**63 + 1,)),  # times are made numbers there
)


@pytest.mark.thorough
def test_rows_are_dealt_on_the_device(stand_in, subtests):
    whole = table().append_column(ROW, pa.array(np.arange(ROWS) + 2**40))
    there = frames.from_arrow(whole, "gpu")
    for dealer in DEALERS:
        with subtests.test(repr(dealer)):
            with NoticingDevice(ALLOWED, SIZES).watching():
                found = dealer.deal(there)
            assert found.to_list() == dealer.deal(frames.from_arrow(whole)).to_list()
    for dealer in DEALERS_ON_THE_HOST:
        refused = pytest.raises(UnexpectedTripError)
        with subtests.test(repr(dealer)), refused, NoticingDevice(ALLOWED, SIZES).watching():
            dealer.deal(there)


SKETCHES: tuple[Statistic, ...] = (
    Quantiles(("p", *FEATURES), k=64),
    LogCells(FEATURES, most=100),
    LabelsByValue(("x0", "y", "w")),
    LabelsByValue(("p", "x0"), num_bins=50),
    Residuals(("p", "x0", "w"), most=150),
    BinaryCurve(("p", "y"), num_bins=20),
)


STATISTICS: tuple[Statistic, ...] = (
    Moments(FEATURES),
    Extremes(FEATURES),
    Gram(FEATURES),
    FourthMoments(FEATURES),
    ClassGrams(("y", *FEATURES)),
    ClassMoments(("y", *FEATURES)),
    ClassMoments(("y", *FEATURES, "w"), weighted=True),
    *SKETCHES,
)


def test_a_statistic_leaves_rows_on_the_device(stand_in, subtests):
    frame = frames.from_arrow(scored(), "gpu")
    assert frames.is_gpu(frame)
    for statistic in STATISTICS:
        with subtests.test(repr(statistic)), watched(ALLOWED).watching():
            statistic.summarise(frame)
    with pytest.raises(UnexpectedTripError), watched(ALLOWED).watching():
        ScoresByClass(("p", "y"), 50).summarise(frame)  # which tells rows apart by their class on the host


def test_a_sketch_is_that_of_a_cpu_to_the_bit_where_its_functions_are_numpys(stand_in, subtests):
    parts = scored(), scored().slice(7, 0)
    for statistic in SKETCHES:
        with subtests.test(repr(statistic)):
            of_gpu, of_cpu = (
                statistic.merge([statistic.summarise(frames.from_arrow(each, where)) for each in parts])
                for where in ("gpu", "cpu")
            )
            assert of_gpu == of_cpu


def test_no_trip_is_allowed_that_all_rows_could_make():
    sizes = sizes_of(KMEANS[0])
    for allowed in ALLOWED[1:]:
        assert allowed.most(sizes) < ROWS / FRAGMENTS, allowed
        assert allowed.most(sizes) == allowed.most(replace(sizes, rounds=10**6, fragments=10**6)), allowed


@pytest.mark.thorough
@pytest.mark.parametrize("stage", [st.KMeans("x0"), st.GaussianMixture("x0")], ids=lambda stage: type(stage).__name__)
def test_a_rank_without_rows_takes_part(stage, gpu):
    data = gpu.from_arrow(pa.table({"x0": [0.0, 1.0, 9.0]}))
    [expected] = LocalGang(1).train(stage, data)
    assert LocalGang(5).train(stage, data) == [expected] * 5


@pytest.mark.thorough
def test_moments_of_classes_are_those_of_a_cpu(stand_in, subtests):
    labels = pa.array([0, 0, 1, None, 1, 0], pa.int64()).take(pa.array(np.arange(ROWS) % 6))
    signs = pa.array(np.where(np.arange(ROWS) % 7 < 3, -1.0, 1.0))  # of zeros too, which are one class
    kinds = pa.int64(), pa.bool_(), pa.string(), pa.float64(), pa.float32()
    for kind, weighted in itertools.product(kinds, (False, True)):
        with subtests.test(kind=kind, weighted=weighted):
            given = pc.multiply(pc.subtract(labels, 1), signs) if pa.types.is_floating(kind) else labels
            whole = table().set_column(4, "y", given.cast(kind))
            parts = whole.slice(0, 2500), whole.slice(2500), whole.slice(0, 0)
            statistic = ClassMoments(("y", *FEATURES, *(["w"] if weighted else [])), weighted=weighted)
            of_gpu, of_cpu = (
                statistic.merge([statistic.summarise(frames.from_arrow(part, where)) for part in parts])
                for where in ("gpu", "cpu")
            )
            assert of_gpu["invalid"] == of_cpu["invalid"]
            assert of_gpu["table"].schema == of_cpu["table"].schema
            of_gpu, of_cpu = (each["table"].sort_by("class").to_pydict() for each in (of_gpu, of_cpu))
            for name in ("class", "rows", "weight"):
                assert of_gpu[name] == of_cpu[name]
            for name in ("sum", "mean", "m2"):
                np.testing.assert_allclose(of_gpu[name], of_cpu[name], rtol=1e-12)


def test_moments_of_too_many_classes_are_refused_before_these_leave_the_device(stand_in):
    device = NoticingDevice(ALLOWED, sizes_of(KMEANS[0]))
    given = frames.from_arrow(table().set_column(4, "y", pa.array(np.arange(ROWS))), "gpu")
    with device.watching(), pytest.raises(DataValueError, match="6000 or more distinct values"):
        ClassMoments(("y", *FEATURES), limit=5999).summarise(given)


# The device itself


def watched(allowed: tuple[Allowed, ...] = ()) -> NoticingDevice:
    return NoticingDevice(allowed, sizes_of(KMEANS[0]))


UNASKED: dict[str, Callable[[Any], Any]] = {
    "__array__": np.asarray,
    "tolist": lambda there: there.tolist(),
    "item": lambda there: there.sum().item(),
    "get": lambda there: there.get(),
    "__float__": lambda there: float(there.sum()),
    "__bool__": lambda there: bool(there.any()),
    "__getitem__": lambda there: there[np.array([0, 2])],
    "asarray": lambda there: sys.modules["cupy"].asarray(np.ones(3)),
}


def test_what_crosses_unasked_fails_where_it_does(stand_in, subtests):
    there = cudf.to_device(np.arange(3.0))
    for way, unasked in UNASKED.items():
        refused = pytest.raises(UnexpectedTripError, match=f"numbers by {way}: no trip by this way is allowed")
        with subtests.test(way), refused, watched().watching():
            unasked(there)


@pytest.mark.thorough
def test_a_failure_names_the_line_of_penstock(gpu):
    allowed = tuple(each for each in ALLOWED if each.way != "__float__")
    line = r"penstock/stages/training/clustering/_clusters\.py:\d+, in PlainClusters\.__init__: 1 numbers by __float__"
    with pytest.raises(UnexpectedTripError, match=line), watching(KMEANS[0], "train", watched(allowed)):
        train(KMEANS[0], gpu)


def test_a_trip_that_is_too_large_or_one_too_many_fails(stand_in):
    allowed = (Allowed("frames/", "to_host", lambda _: 3, lambda _: 2),)
    large, small = cudf.to_device(np.ones(4)), cudf.to_device(np.ones(3))
    with pytest.raises(UnexpectedTripError, match="4 numbers by to_host: at most 3"), watched(allowed).watching():
        matrices.to_host(large)
    device = watched(allowed)
    with pytest.raises(UnexpectedTripError, match="only 2 times"), device.watching():
        for _ in range(3):
            matrices.to_host(small)
    assert [trip.numbers for trip in device.trips] == [3, 3, 3]


def test_a_trip_whose_failure_is_caught_fails_at_the_end(stand_in):
    there = cudf.to_device(np.ones(3))
    with pytest.raises(UnexpectedTripError, match="tolist"), watched().watching(), suppress(UnexpectedTripError):
        there.tolist()


def test_what_stays_on_the_device_is_no_trip(stand_in):
    there, device = cudf.to_device(np.ones((2, 3))), watched()
    with device.watching():
        there += np.arange(3, like=there)
        there[:, there[0] > 1] = 0.0
        assert len(np.concatenate([there, there])) == 4
    assert device.trips == []
