"""Where trainers compute: on the device that their rows are on, from which only the few trips named here are made.

Rows stay where they are. What crosses grows with features, clusters or components, never with rows, but where rows are
read; how often, with rounds and fragments.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from noticing_device import Allowed, NoticingDevice, Sizes, UnexpectedTripError, standing_in

from penstock import frames
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.local import LocalEngine
from penstock.frames import cudf, matrices
from penstock.pipeline import Pipeline
from penstock.stages.base import Fitted
from penstock.stages.trainer import Trainer
from penstock.stages.training.bayes import _bayes
from penstock.stages.training.clustering import _lloyd, _seeding
from penstock.statistics import Extremes, Moments, Statistic
from penstock.statistics.class_moments import ClassMoments
from penstock.statistics.gram import Gram
from penstock.testing import LocalGang

ROWS, SAMPLE, FRAGMENTS, ROUNDS = 6000, 160, 3, 8
FEATURES = ("x0", "x1", "x2")


def once(_: Sizes) -> int:
    return 1


def each_fragment(sizes: Sizes) -> int:
    """Several times: for signs, weights and columns of each."""
    return 4 * sizes.fragments


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


def of_products(sizes: Sizes) -> int:
    """Products of features, of a 1 and of a label with each other, for about eight pairs of slices."""
    return 8 * (sizes.features + 2) ** 2 * sizes.outputs


READING = Allowed("io/sources/", "from_arrow", lambda _: sys.maxsize, lambda sizes: sizes.fragments)
CLUSTERING, EXACT = "stages/training/clustering/", "stages/training/exact/"
ALLOWED = (
    READING,
    Allowed(EXACT + "sums.py:Split.of", "to_device", of_outputs, each_round),
    Allowed(EXACT + "sums.py:Split.sums", "to_host", of_outputs, each_block),
    Allowed(EXACT + "gram.py:RowSlices.products_of", "to_host", of_products, each_block),
    Allowed(EXACT + "products.py:FeatureGrid._large", "to_device", of_outputs, each_block),
    Allowed(EXACT + "products.py:Coefficients.of", "to_device", of_products, each_block),
    Allowed(EXACT + "products.py:_Round._products", "to_host", of_products, each_block),
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
    Allowed(CLUSTERING + "_clusters.py:Clusters.__init__", "__float__", once, once),
    Allowed(CLUSTERING + "_clusters.py:Clusters._follow", "to_device", of_outputs, each_round),
    Allowed(CLUSTERING + "_clusters.py:Clusters._follow", "to_host", of_outputs, each_round),
    Allowed(CLUSTERING + "_mixture_design.py:_Step._distances", "to_device", of_outputs, each_block),
    # predictions
    Allowed(CLUSTERING + "kmeans.py:KMeans.transform", "to_device", of_outputs, each_fragment),
    Allowed(CLUSTERING + "_mixture.py:Mixture.log_densities", "to_device", of_products, each_fragment),
    Allowed("stages/training/_finite.py:", "__bool__", once, each_fragment),
    Allowed("stages/training/bayes/_bayes.py:_added", "to_device", of_outputs, each_fragment),
    Allowed("stages/training/bayes/naive_bayes.py:", "__bool__", once, each_fragment),
    Allowed("stages/classes.py:Classes.with_columns", "from_arrow", of_outputs, each_fragment),
    Allowed("stages/target.py:", "__int__", once, each_fragment),
    Allowed("stages/target.py:", "__bool__", once, each_fragment),
    # statistics
    Allowed("statistics/aggregates.py:aggregate", "to_arrow", of_products, each_fragment),
    Allowed("statistics/extremes.py:Extremes.summarise", "to_arrow", of_outputs, each_fragment),
    Allowed("statistics/gram.py:", "to_host", of_products, each_fragment),
    Allowed("statistics/gram.py:", "__bool__", once, each_fragment),
)


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    with standing_in():
        yield


@pytest.fixture(scope="module")
def gpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="gpu")


@pytest.fixture(scope="module")
def cpu(stand_in: None) -> LocalEngine:
    return LocalEngine(device="cpu")


@pytest.fixture(autouse=True)
def small_samples_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few rows drawn as could not be mistaken for all, and as many blocks of a fragment as show what each costs."""
    monkeypatch.setattr(_seeding, "GATHERED", SAMPLE)
    monkeypatch.setitem(_lloyd._AT_A_TIME, "gpu", 2**12)
    monkeypatch.setitem(_bayes._ROWS, "gpu", 2**9)


def table() -> pa.Table:
    source = np.random.default_rng(5)
    x = np.round(source.integers(0, 4, size=(ROWS, 1)) + 1.2 * source.normal(size=(ROWS, 3)), 1) + 7.0
    label = (x.sum(axis=1) + source.normal(size=ROWS) > 26).astype(int)
    columns = {name: x[:, place] for place, name in enumerate(FEATURES)}
    return pa.table({**columns, "w": source.integers(0, 3, ROWS) / 2.0, "y": label})


def fragments_of(engine: LocalEngine) -> Dataset:
    return engine.from_arrow(table(), fragment_bytes=8 * 5 * (ROWS // FRAGMENTS + 1))


def sizes_of(stage: Trainer) -> Sizes:
    return Sizes(len(FEATURES), getattr(stage, "k", 2), SAMPLE, stage.rounds, FRAGMENTS)


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
NOT_YET = (
    pytest.param(
        st.GeneralizedLinearRegression("y", features=FEATURES, family="binomial"),
        marks=pytest.mark.xfail(raises=UnexpectedTripError, reason="means and labels are on the host in each round"),
    ),
)


@pytest.mark.parametrize("stage", [*KMEANS, *MIXTURES, *LINEAR, *NOT_YET], ids=lambda stage: type(stage).__name__)
def test_a_trainer_leaves_rows_on_the_device(stage: Trainer, gpu: LocalEngine) -> None:
    device = NoticingDevice(ALLOWED, sizes_of(stage))
    with watching(stage, "train", device):
        train(stage, gpu)
    assert device.trips


@pytest.mark.parametrize(
    "stage",
    [*KMEANS, *MIXTURES, *(st.NaiveBayes("y", features=FEATURES, model_type=each) for each in _bayes.MODEL_TYPES[::3])],
    ids=lambda stage: type(stage).__name__,
)
def test_predictions_are_made_on_the_device(stage: Trainer, gpu: LocalEngine) -> None:
    data, device = fragments_of(gpu), NoticingDevice(ALLOWED, sizes_of(stage))
    model = Pipeline(stage).fit(data)
    with watching(stage, "transform", device):
        model.transform(data).to_arrow()
    assert device.trips


@pytest.mark.parametrize(
    "statistic",
    [
        Moments(FEATURES),
        Extremes(FEATURES),
        Gram(FEATURES),
        pytest.param(
            ClassMoments(("y", *FEATURES)),
            marks=pytest.mark.xfail(raises=UnexpectedTripError, reason="columns go to the host one at a time"),
        ),
    ],
    ids=lambda statistic: type(statistic).__name__,
)
def test_a_statistic_leaves_rows_on_the_device(statistic: Statistic, stand_in: None) -> None:
    frame, device = frames.from_arrow(table(), "gpu"), NoticingDevice(ALLOWED, sizes_of(KMEANS[0]))
    with device.watching():
        statistic.summarise(frame)
    assert device.trips


@pytest.mark.parametrize("allowed", [each for each in ALLOWED if each is not READING], ids=lambda each: each.place)
def test_no_trip_is_allowed_that_all_rows_could_make(allowed: Allowed) -> None:
    sizes = sizes_of(KMEANS[0])
    assert allowed.most(sizes) < ROWS / FRAGMENTS
    assert allowed.most(sizes) == allowed.most(replace(sizes, rounds=10**6, fragments=10**6))


@pytest.mark.parametrize("stage", [*KMEANS, *MIXTURES], ids=lambda stage: type(stage).__name__)
def test_clusters_are_those_of_a_cpu_to_the_bit_where_its_functions_are_numpys(
    stage: Trainer,
    gpu: LocalEngine,
    cpu: LocalEngine,
) -> None:
    [expected] = train(stage, cpu)
    for size in (1, 2, 3):
        assert all(found == expected for found in train(stage, gpu, size))


@pytest.mark.parametrize("stage", [st.KMeans("x0"), st.GaussianMixture("x0")], ids=lambda stage: type(stage).__name__)
def test_a_rank_without_rows_takes_part(stage: Trainer, gpu: LocalEngine) -> None:
    data = gpu.from_arrow(pa.table({"x0": [0.0, 1.0, 9.0]}))
    [expected] = LocalGang(1).train(stage, data)
    assert LocalGang(5).train(stage, data) == [expected] * 5


@pytest.mark.parametrize("stage", LINEAR, ids=lambda stage: type(stage).__name__)
def test_linear_models_are_those_of_a_cpu(stage: Trainer, gpu: LocalEngine, cpu: LocalEngine) -> None:
    [expected], [found] = train(stage, cpu), train(stage, gpu)
    np.testing.assert_allclose(found["intercepts"], expected["intercepts"], rtol=1e-9)
    for ours, theirs in zip(found["coefficients"].columns, expected["coefficients"].columns, strict=True):
        np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=1e-9)


# The device itself


def watched(allowed: tuple[Allowed, ...] = ()) -> NoticingDevice:
    return NoticingDevice(allowed, sizes_of(KMEANS[0]))


@pytest.mark.parametrize(
    ("way", "unasked"),
    [
        ("__array__", np.asarray),
        ("tolist", lambda there: there.tolist()),
        ("item", lambda there: there.sum().item()),
        ("get", lambda there: there.get()),
        ("__float__", lambda there: float(there.sum())),
        ("__bool__", lambda there: bool(there.any())),
        ("__getitem__", lambda there: there[np.array([0, 2])]),
        ("asarray", lambda there: sys.modules["cupy"].asarray(np.ones(3))),
    ],
)
def test_what_crosses_unasked_fails_where_it_does(way: str, unasked, stand_in: None) -> None:
    there, device = cudf.to_device(np.arange(3.0)), watched()
    with (
        pytest.raises(UnexpectedTripError, match=f"numbers by {way}: no trip by this way is allowed"),
        device.watching(),
    ):
        unasked(there)


def test_a_failure_names_the_line_of_penstock(gpu: LocalEngine) -> None:
    allowed = tuple(each for each in ALLOWED if each.way != "__float__")
    line = r"penstock/stages/training/clustering/_clusters\.py:\d+, in Clusters\.__init__: 1 numbers by __float__"
    with pytest.raises(UnexpectedTripError, match=line), watching(KMEANS[0], "train", watched(allowed)):
        train(KMEANS[0], gpu)


def test_a_trip_that_is_too_large_or_one_too_many_fails(stand_in: None) -> None:
    allowed = (Allowed("frames/", "to_host", lambda _: 3, lambda _: 2),)
    large, small = cudf.to_device(np.ones(4)), cudf.to_device(np.ones(3))
    with pytest.raises(UnexpectedTripError, match="4 numbers by to_host: at most 3"), watched(allowed).watching():
        matrices.to_host(large)
    device = watched(allowed)
    with pytest.raises(UnexpectedTripError, match="only 2 times"), device.watching():
        for _ in range(3):
            matrices.to_host(small)
    assert [trip.numbers for trip in device.trips] == [3, 3, 3]


def test_a_trip_whose_failure_is_caught_fails_at_the_end(stand_in: None) -> None:
    there = cudf.to_device(np.ones(3))
    with pytest.raises(UnexpectedTripError, match="tolist"), watched().watching(), suppress(UnexpectedTripError):
        there.tolist()


def test_what_stays_on_the_device_is_no_trip(stand_in: None) -> None:
    there, device = cudf.to_device(np.ones((2, 3))), watched()
    with device.watching():
        there += np.arange(3, like=there)
        there[:, there[0] > 1] = 0.0
        assert len(np.concatenate([there, there])) == 4
    assert device.trips == []
