"""k-means: Lloyd against scikit-learn, seeds against MLlib, the same bits whatever the ranks, and what is refused."""

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mllib_metrics import frame_of
from sklearn.cluster import KMeans as Reference

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline
from penstock.spmd import Rank, SpmdOptions
from penstock.spmd.checkpoints import Checkpoint
from penstock.stages.base import Fitted
from penstock.stages.training.clustering import _lloyd, _seeding, kmeans
from penstock.stages.training.clustering._clusters import Clusters
from penstock.stages.training.exact.sums import Split
from penstock.statistics import Moment
from penstock.testing import LocalGang

ROWS = 900


def blobs(rows: int = ROWS, clusters: int = 5, width: int = 3, spread: float = 0.3) -> np.ndarray:
    source = np.random.default_rng(5)
    centres = source.uniform(-4, 4, size=(clusters, width))
    return centres[source.integers(0, clusters, rows)] + spread * source.normal(size=(rows, width))


def table(x: np.ndarray, **more: Any) -> pa.Table:
    return pa.table({**{f"x{place}": x[:, place] for place in range(x.shape[1])}, **more})


def fit(engine: Engine, data: pa.Table, fragment_bytes: int = 8 * 3 * 100, **options: Any) -> Fitted:
    return Pipeline(st.KMeans(**options)).fit(engine.from_arrow(data, fragment_bytes=fragment_bytes)).fitted[0]


def centres_of(fitted: Fitted) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in fitted["centres"].columns])


def begin_at(monkeypatch: pytest.MonkeyPatch, centres: np.ndarray, origin: np.ndarray) -> None:
    monkeypatch.setattr(_seeding, "seeds", lambda *_, **__: centres - origin)


def close_in_any_order(found: np.ndarray, expected: np.ndarray, atol: float) -> None:
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)], atol=atol, rtol=0)


# Lloyd's algorithm


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
def test_lloyd_is_scikit_learns_from_the_same_centres(local, monkeypatch, weighted):
    x = blobs(spread=1.5)
    weight = np.random.default_rng(1).integers(0, 4, ROWS) / 2 if weighted else np.ones(ROWS)
    start = x[weight > 0][:7]
    expected = Reference(7, init=start, n_init=1, max_iter=300, tol=0, algorithm="lloyd").fit(x, sample_weight=weight)
    options = {"k": 7, "tol": 0, "max_iter": 300, "weight": "w" if weighted else None, "features": ("x0", "x1", "x2")}
    origin = np.array(fit(local, table(x, w=weight), **{**options, "max_iter": 0})["origin"])
    begin_at(monkeypatch, start, origin)
    found = fit(local, table(x, w=weight), **options)
    np.testing.assert_allclose(centres_of(found), expected.cluster_centers_, atol=1e-9, rtol=0)
    assert found["cost"] == pytest.approx(expected.inertia_, rel=1e-9)
    np.testing.assert_array_equal(found["sizes"], np.bincount(expected.labels_[weight > 0], minlength=7))
    model = Pipeline(st.KMeans(**options)).fit(local.from_arrow(table(x, w=weight)))
    labels = model.transform(local.from_arrow(table(x))).to_arrow()["prediction"]
    assert labels.type == pa.int32()
    np.testing.assert_array_equal(labels.to_numpy(), expected.labels_)


def test_a_round_is_counted_and_tol_is_how_far_a_centre_moves(local, monkeypatch):
    # By hand: centres 0 and 10 move to 0.5 and 9.5, and stay.
    data = pa.table({"x": [0.0, 1.0, 9.0, 10.0]})
    begin_at(monkeypatch, np.array([[0.0], [10.0]]), np.array(fit(local, data)["origin"]))
    assert fit(local, data, tol=0.4)["iterations"] == 2
    assert fit(local, data, tol=0.6)["iterations"] == 1
    assert fit(local, data, max_iter=0)["cost"] == 2.0
    assert centres_of(fit(local, data, max_iter=1)).ravel().tolist() == [0.5, 9.5]


def only_rank(threads: int = 1) -> Rank:
    [rank] = LocalGang(1).ranks(threads=threads)
    return rank


def points_of(x: np.ndarray, weight: np.ndarray, threads: int = 2) -> _lloyd.Points:
    return _lloyd.Points.of(only_rank(threads), x.T.copy(), weight, np.abs(x).max(axis=0), float(weight.max()))


@pytest.mark.parametrize("k", [4, 40], ids=["few clusters", "many clusters"])
def test_a_round_after_others_gives_the_means_of_a_first_one_to_the_bit(k):
    x, weight = np.round(blobs(rows=5000, spread=1.5), 1), np.random.default_rng(1).random(5000)
    centres, points, peer = x[:k] + 0.01, points_of(x, weight), only_rank()
    clusters = Clusters(points)
    for _ in range(12):
        found = clusters.means(peer, centres)
        np.testing.assert_array_equal(found, Clusters(points_of(x, weight, threads=1)).means(peer, centres))
        centres = found


def test_points_that_cannot_have_changed_sides_are_not_compared_again():
    x = blobs(rows=5000, spread=0.3)
    clusters, centres, compared = Clusters(points_of(x, np.ones(5000))), x[:5], []
    for _ in range(10):
        centres = clusters.means(only_rank(), centres)
        compared.append(clusters.compared)
    assert compared[0] == 5000
    assert compared[-1] < 500


def test_a_cluster_without_rows_keeps_its_centre(local, monkeypatch):
    data = pa.table({"x": [0.0, 2.0, 8.0, 10.0]})
    begin_at(monkeypatch, np.array([[0.0], [10.0], [99.0]]), np.array(fit(local, data)["origin"]))
    found = fit(local, data, k=3)
    assert centres_of(found).ravel().tolist() == [1.0, 9.0, 99.0]
    assert found["sizes"] == [2, 2, 0]


@pytest.mark.thorough
def test_far_from_zero_clusters_are_the_same(local):
    x = np.round(blobs() * 64) / 64  # so that 2**30 can be added without rounding
    near, far = (fit(local, table(x + offset), k=5, tol=0) for offset in (0.0, 2.0**30))
    assert near["sizes"] == far["sizes"]
    assert far["cost"] == pytest.approx(near["cost"], rel=1e-9)
    np.testing.assert_allclose(centres_of(far) - 2.0**30, centres_of(near), atol=1e-6)


# By angle


def test_by_angle_rows_count_by_their_directions(local):
    angles = np.radians([1.0, 3.0, 80.0, 84.0])
    lengths = np.array([1.0, 1e6, 1e-6, 3.0])[:, None]
    x = lengths * np.column_stack([np.cos(angles), np.sin(angles)])
    stage = st.KMeans(k=2, distance_measure="cosine", distance="apart")
    model = Pipeline(stage).fit(local.from_arrow(table(x)))
    expected = np.radians([2.0, 82.0])
    close_in_any_order(centres_of(model.fitted[0]), np.column_stack([np.cos(expected), np.sin(expected)]), 1e-12)
    made = model.transform(local.from_arrow(table(x))).to_arrow()
    np.testing.assert_allclose(made["apart"].to_numpy(), 1 - np.cos(np.radians([1, 1, 2, 2])), atol=1e-14)
    assert model.fitted[0]["cost"] == pytest.approx(made["apart"].to_numpy().sum(), rel=1e-12)


def test_directions_that_cancel_leave_their_centre_where_it_is(local, monkeypatch):
    x = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, -1.0], [0.0, -3.0]])  # the first two are as near to both centres
    begin_at(monkeypatch, np.array([[0.0, 1.0], [0.0, -1.0]]), np.zeros(2))
    found = fit(local, table(x), distance_measure="cosine")
    assert centres_of(found).tolist() == [[0.0, 1.0], [0.0, -1.0]]
    assert (found["sizes"], found["cost"]) == ([2, 2], 2.0)


def test_a_row_without_direction_is_refused_with_its_place(local, tmp_path):
    x = blobs()
    good = table(x)
    x[[433, 500]] = 0.0
    pq.write_table(table(x[:400]), tmp_path / "0.parquet")
    pq.write_table(table(x[400:]), tmp_path / "1.parquet")
    stage = st.KMeans(distance_measure="cosine")
    with pytest.raises(DataValueError, match=r"'x0', 'x1', 'x2': 2 row\(s\) of nothing but 0") as caught:
        Pipeline(stage).fit(local.read_parquet(str(tmp_path / "*.parquet")))
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 33)
    model = Pipeline(stage).fit(local.from_arrow(good))
    with pytest.raises(DataValueError, match="expected a direction"):
        model.transform(local.from_arrow(table(x))).to_arrow()


# Seeds


@pytest.mark.thorough
@pytest.mark.parametrize("gathered", [0, 10**6], ids=["drawn", "gathered"])
def test_seeds_are_rows_and_all_different(local, monkeypatch, gathered):
    monkeypatch.setattr(_seeding, "GATHERED", gathered)
    x = np.repeat(np.round(blobs(), 2), 2, axis=0)
    for mode in ("k-means||", "random"):
        found = centres_of(fit(local, table(x), k=40, init_mode=mode, max_iter=0))
        away = np.abs(found[:, None, :] - x[None, :, :]).max(axis=2)
        assert (away.min(axis=1) < 1e-12).all()
        assert len(np.unique(away.argmin(axis=1))) == len(found) <= 40
        assert len(found) == 40 or mode == "random"


@pytest.mark.thorough
@pytest.mark.parametrize("gathered", [0, 10**6], ids=["drawn", "gathered"])
def test_seeds_find_every_one_of_many_clusters_far_apart(local, monkeypatch, gathered):
    monkeypatch.setattr(_seeding, "GATHERED", gathered)
    x = blobs(rows=2000, clusters=20, width=5, spread=0.01)
    for seed in range(5):
        assert fit(local, table(x), 8 * 5 * 1000, k=20, init_steps=5, seed=seed)["cost"] == pytest.approx(
            2000 * 5 * 1e-4, rel=0.1
        )


def test_candidates_are_drawn_in_proportion_to_their_distance():
    # A point 3 away is drawn nine times as often as one that is 1 away: 2 k d**2 / cost of each, with k = 10.
    x = np.repeat([0.0, 1.0, -3.0], [1, 5000, 5000])[:, None]
    drawn = [np.zeros(2, dtype=int)]
    for seed in range(20):
        rank = only_rank()
        points = _lloyd.Points.of(rank, x.T - 0.0, np.ones(len(x)), np.array([3.0]), 1.0)
        candidates = _seeding._oversampled(rank, points, 10, 1, seed)
        if candidates[0, 0] == 1.0:  # then only rows of -3, 4 away, and 0 can be drawn
            drawn.append(np.array([np.count_nonzero(candidates[1:] == -3.0), 1]))
    count, tries = np.sum(drawn, axis=0)
    assert count == pytest.approx(20 * tries, abs=4 * np.sqrt(20 * tries))


@pytest.mark.thorough
def test_few_draws_are_made_up_with_rows_at_random(local, monkeypatch):
    monkeypatch.setattr(_seeding, "GATHERED", 0)
    x = blobs()
    x[7] = 1e6  # which alone has all of the cost, so that the only step draws nothing else
    found = centres_of(fit(local, table(x), k=20, init_steps=1, max_iter=0))
    assert len(found) == 20
    assert 1e6 in found.round()


@pytest.mark.thorough
def test_rows_at_random_are_drawn_by_their_weights(local):
    data = pa.table({"x": np.arange(100.0), "w": np.where(np.arange(100) % 10 == 0, 1e4, 1.0)})
    options = {"features": "x", "weight": "w", "k": 5, "init_mode": "random", "max_iter": 0}
    drawn = np.concatenate([centres_of(fit(local, data, seed=seed, **options)).ravel() for seed in range(20)])
    assert np.mean(drawn.round() % 10 == 0) > 0.95
    plain = {**options, "features": "x", "weight": None}
    drawn = np.concatenate([centres_of(fit(local, data, seed=seed, **plain)).ravel() for seed in range(20)])
    assert np.mean(drawn.round() % 10 == 0) < 0.3


@pytest.mark.thorough
def test_of_few_rows_not_even_the_order_matters(local):
    x = np.round(blobs(spread=1.5)) + 100.1  # few points, each of many rows
    weight = np.random.default_rng(4).random(ROWS)
    options = {"features": ("x0", "x1", "x2"), "weight": "w", "k": 7}
    expected = fit(local, table(x, w=weight), **options)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(ROWS)
        assert fit(local, table(x[order], w=weight[order]), 8 * 4 * 50 * (seed + 1), **options) == expected


def test_weights_of_equal_points_are_added_in_an_order_of_their_own():
    source = np.random.default_rng(6)
    points, weight = np.round(blobs()), source.random(ROWS)
    expected = _seeding._distinct(points, weight)
    np.testing.assert_array_equal(expected[0], np.unique(points, axis=0))
    for _ in range(5):
        order = source.permutation(ROWS)
        for found, wanted in zip(_seeding._distinct(points[order], weight[order]), expected, strict=True):
            assert found.tobytes() == wanted.tobytes()


def test_the_origin_is_near_the_mean_and_without_its_last_digits():
    for mean in (0.1, -7e5 / 3, 1e8 + 1 / 3):
        origins = {kmeans._origin(Moment(9, math.nextafter(mean, end), 36.0)) for end in (-math.inf, mean, math.inf)}
        assert len(origins) == 1
        assert abs(origins.pop() - mean) <= 2.0  # the deviation
        assert kmeans._origin(Moment(9, mean, 0.0)) == mean


@pytest.mark.thorough
def test_one_seed_gives_one_model_and_others_give_others(local, monkeypatch):
    for gathered in (0, 10**6):
        monkeypatch.setattr(_seeding, "GATHERED", gathered)
        first, again, other = (fit(local, table(blobs(spread=2.0)), k=8, max_iter=0, seed=seed) for seed in (1, 1, -2))
        assert first == again
        assert first["centres"] != other["centres"]


def test_fewer_points_than_k_are_that_many_clusters(local, monkeypatch):
    for gathered, mode in itertools.product([0, 10**6], ["k-means||", "random"]):
        monkeypatch.setattr(_seeding, "GATHERED", gathered)
        found = fit(local, pa.table({"x": [3.0, 1.0, 3.0, -0.0, 0.0]}), k=5, init_mode=mode)
        assert sorted(centres_of(found).ravel().tolist()) == [0.0, 1.0, 3.0], (gathered, mode)
        assert (sorted(found["sizes"]), found["cost"]) == ([1, 2, 2], 0.0)


def test_rows_of_weight_0_are_no_seeds(local):
    data = pa.table({"x": [0.0, 1.0, 50.0], "w": [1.0, 1.0, 0.0]})
    found = fit(local, data, features="x", weight="w", k=3)
    assert sorted(centres_of(found).ravel().tolist()) == [0.0, 1.0]


# Ranks


def train(dataset: Dataset, size: int, checkpoint: Checkpoint | None = None, **options: Any) -> tuple[Any, LocalGang]:
    """Return what each of `size` ranks learns, and the ranks."""
    gang = LocalGang(size, shuffle_sums=True, options=SpmdOptions(checkpoint_interval=3))
    return gang.train(st.KMeans(**options), dataset, checkpoint=checkpoint, threads=1 + size % 2), gang


@pytest.mark.thorough
@pytest.mark.parametrize("measure", ["squaredEuclidean", "cosine"])
@pytest.mark.parametrize("mode", ["k-means||", "random"])
def test_any_number_of_ranks_learns_the_same_to_the_bit(local, monkeypatch, mode, measure):
    x = np.round(blobs(spread=1.5), 1) + 10  # values of one digit, so that rows are often as near to two centres
    weight = np.random.default_rng(3).random(ROWS)
    options = {"k": 6, "weight": "w", "init_mode": mode, "distance_measure": measure, "features": ("x0", "x1", "x2")}
    whole = local.from_arrow(table(x, w=weight))
    cut = local.from_arrow(table(x, w=weight), fragment_bytes=8 * 4 * 77)
    for gathered, size in ((0, 5), (10**6, 2)):
        monkeypatch.setattr(_seeding, "GATHERED", gathered)
        [expected], _ = train(whole, 1, **options)
        found, _ = train(cut, size, **options)
        assert all(each == expected for each in found), (gathered, size)


def test_a_rank_without_rows_takes_part(local):
    data = local.from_arrow(pa.table({"x": [0.0, 9.0]}))
    [expected], _ = train(data, 1)
    found, _ = train(data, 4)
    assert found == [expected] * 4


def test_a_training_goes_on_from_a_checkpoint_to_the_same_model(local):
    data = local.from_arrow(table(blobs(spread=2.5)))
    options = {"k": 8, "init_mode": "random", "tol": 0, "max_iter": 17}
    [expected], gang = train(data, 1, **options)
    assert expected["iterations"] == 17 == len(gang.reports[0])
    assert [each.rounds for each in gang.checkpoints] == [3, 6, 9, 12, 15]
    [again], later = train(data, 1, gang.checkpoints[2], **options)
    assert [rounds for rounds, _ in later.reports[0]] == list(range(10, 18))
    assert again == expected


# What the sums and the search promise


def test_sums_by_group_are_those_of_the_terms_of_each():
    for groups in (1, 3, 50):
        source = np.random.default_rng(groups)
        values, of = source.normal(size=(2, 1000)), source.integers(0, groups, 1000)
        exact = Split.of(np.abs(values).max(axis=1), 1000)
        found = exact.by_group(of, values.copy(), groups, np.empty((2, 1000))).sum(axis=0)
        expected = [[math.fsum(row[of == group]) for row in values] for group in range(groups)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_sums_by_group_follow_terms_that_change_their_group_to_the_bit():
    source = np.random.default_rng(4)
    values, exact = source.normal(size=(2, 1000)), Split.of(np.array([9.0, 9.0]), 1000)
    for groups in (3, 50):
        before, after = source.integers(-1, groups, 1000), source.integers(0, groups, 1000)
        started = exact.by_group(before[before >= 0], values[:, before >= 0], groups)
        moved = exact.by_group(after, values.copy(), groups, before=before)
        np.testing.assert_array_equal(started + moved, exact.by_group(after, values.copy(), groups))


def test_the_lead_of_the_nearest_centre_is_no_larger_than_it_is():
    for width in (1, 2, 9):
        source = np.random.default_rng(width)
        vectors, centres = source.normal(size=(width, 2000)), source.normal(size=(30, width))
        found, lead = _lloyd.nearest_by(vectors, centres, _lloyd.lengths(vectors))
        away = np.sort(np.sqrt([_lloyd.squared_distances(vectors, centre[:, None]) for centre in centres]), axis=0)
        assert (lead <= away[1] - away[0]).all()
        np.testing.assert_allclose(lead, away[1] - away[0], atol=1e-7)
        np.testing.assert_array_equal(found, _lloyd.nearest(vectors, centres))


def test_the_nearest_centre_of_a_row_does_not_depend_on_the_rows_beside_it():
    for width in (1, 2, 9):
        source = np.random.default_rng(width)
        vectors, centres = (source.integers(-3, 4, size=(rows, width)) / 10 for rows in (2000, 30))
        vectors = vectors.T.copy()
        expected = np.argmin([_lloyd.squared_distances(vectors, centre[:, None]) for centre in centres], axis=0)
        np.testing.assert_array_equal(_lloyd.nearest(vectors, centres), expected)
        alone = [_lloyd.nearest(vectors[:, i : i + 1], centres) for i in range(50)]
        np.testing.assert_array_equal(np.concatenate(alone), expected[:50])


# Scoring


@pytest.mark.thorough
def test_distances_add_up_to_the_cost(local):
    data = local.from_arrow(table(blobs()), fragment_bytes=24 * 100)
    model = Pipeline(st.KMeans(k=4, distance="apart")).fit(data)
    made = model.transform(data).to_arrow()
    assert made["apart"].to_numpy().sum() == pytest.approx(model.fitted[0]["cost"], rel=1e-12)
    assert np.bincount(made["prediction"].to_numpy()).tolist() == model.fitted[0]["sizes"]


def test_a_number_whose_square_overflows_is_refused_when_it_is_scored(local):
    x = blobs()
    model = Pipeline(st.KMeans()).fit(local.from_arrow(table(x)))
    for bad in (-np.inf, 1e200):
        x[[321, 400], 1] = bad
        with pytest.raises(DataValueError, match=r"column 'x1' has \d value") as caught:
            model.transform(local.from_arrow(table(x))).to_arrow()
        assert (caught.value.column, caught.value.row) == ("x1", 321)


# What is refused


WRONG = [
    ({"k": 1}, "k of KMeans is 1, expected an integer >= 2"),
    ({"k": 2.0}, "k of KMeans is 2.0"),
    ({"init_mode": "kmeans||"}, r"init_mode .* 'kmeans\|\|'.*Did you mean 'k-means\|\|'"),
    ({"init_steps": 0}, "init_steps"),
    ({"max_iter": -1}, "max_iter"),
    ({"tol": -1e-9}, "tol"),
    ({"distance_measure": "euclidean"}, "distance_measure"),
]


def test_a_wrong_parameter_is_refused_when_it_is_given(subtests):
    for given, message in WRONG:
        with subtests.test(**given), pytest.raises(ConfigError, match=message):
            st.KMeans(**given)


# Against MLlib


SEEDS = range(3)


def many_blobs() -> np.ndarray:
    return blobs(rows=600, clusters=12, width=4, spread=0.7)


@pytest.fixture(scope="module")
def mllib_costs(spark: Any) -> np.ndarray:
    """What MLlib's clusters of many blobs cost, for each seed."""
    from pyspark.ml.clustering import KMeans as MLlib

    x = many_blobs()
    frame = frame_of(spark, {"features": x.tolist()})

    def cost(seed: int) -> float:
        # The cost that its summary tells is of the centres before the last round.
        centres = np.array(MLlib(k=12, seed=seed).fit(frame).clusterCenters())
        return float(_lloyd.squared_distances(x.T, centres[_lloyd.nearest(x.T, centres)].T).sum())

    return np.array([cost(seed) for seed in SEEDS])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("gathered", [0, 10**6], ids=["drawn", "gathered"])
def test_costs_are_no_higher_than_mllibs(local, mllib_costs, monkeypatch, gathered):
    monkeypatch.setattr(_seeding, "GATHERED", gathered)
    ours = np.array([fit(local, table(many_blobs()), k=12, seed=seed)["cost"] for seed in SEEDS])
    noise = np.sqrt((ours.var(ddof=1) + mllib_costs.var(ddof=1)) / len(SEEDS))
    assert ours.mean() <= mllib_costs.mean() + 2 * noise
