"""Clusters and silhouettes against all pairs of points, and what is refused."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from gathering import demand_refused, gathered

from penstock.errors import ConfigError, DataValueError
from penstock.statistics.evaluation.clusters import Clusters, ClusterSums
from penstock.statistics.evaluation.silhouettes import Silhouettes

COSINE = "cosine"
EUCLIDEAN = "squaredEuclidean"


def sample(rows=300, features=3, clusters=4, offset=0.0, seed=9):
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, clusters, rows)
    vectors = rng.normal(size=(rows, features)) + rng.normal(size=(clusters, features))[cluster] * 2
    return cluster, vectors + offset, rng.integers(0, 4, rows) / 2


def table_of(cluster, vectors, weight=None, lists=False):
    features = {"x": pa.array(np.asarray(vectors).tolist())} if lists else dict(enumerate(np.asarray(vectors).T))
    weights = {} if weight is None else {"w": weight}
    return pa.table({"prediction": cluster, **{str(name): each for name, each in features.items()}, **weights})


def two_scans(tables, distance=EUCLIDEAN):
    columns = tuple(tables[0].column_names)
    options = {"weighted": "w" in columns, "distance_measure": distance}
    clusters = gathered(ClusterSums(columns, **options), *tables)
    return clusters, gathered(Silhouettes(columns, **options, clusters=clusters), *tables)


def brute_force(cluster, vectors, weight=None, distance=EUCLIDEAN):
    """Return the coefficient of each point, from its distance to every other one."""
    weight = np.ones(len(cluster)) if weight is None else weight
    if distance == EUCLIDEAN:
        distances = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    else:
        lengths = np.linalg.norm(vectors, axis=1)
        distances = 1 - vectors @ vectors.T / np.outer(lengths, lengths)
    found = np.zeros(len(cluster))
    for i, own in enumerate(cluster):
        held = {each: weight * (cluster == each) for each in np.unique(cluster[weight > 0])}
        mean = {each: distances[i] @ part / part.sum() for each, part in held.items()}
        total = (weight * (cluster == own)).sum()
        if total > weight[i] > 0:
            a = mean[own] * total / (total - weight[i])
            b = min(value for each, value in mean.items() if each != own)
            found[i] = (b - a) / max(a, b)
    return found


@pytest.mark.parametrize("distance", [EUCLIDEAN, COSINE])
def test_silhouettes_are_those_of_all_pairs(distance):
    cluster, vectors, weight = sample()
    for used, lists in [(None, True), (weight, False), (weight, True)]:
        _, found = two_scans([table_of(cluster, vectors, used, lists)], distance)
        used = np.ones(len(cluster)) if used is None else used
        expected = brute_force(cluster, vectors, used, distance)
        assert found.mean == pytest.approx(np.average(expected, weights=used), rel=1e-12)
        for place, each in enumerate(found.ids):
            held = cluster == each
            assert found.weight[place] == used[held].sum()
            assert found.by_cluster[place] == pytest.approx(np.average(expected[held], weights=used[held]), rel=1e-11)


def test_clusters_are_means_and_mean_squared_distances():
    cluster, vectors, weight = sample()
    clusters, _ = two_scans([table_of(cluster, vectors, weight)])
    for place, each in enumerate(clusters.ids):
        held = (cluster == each) & (weight > 0)
        centre = np.average(vectors[held], axis=0, weights=weight[held])
        variance = np.average(((vectors[held] - centre) ** 2).sum(axis=1), weights=weight[held])
        assert clusters.centres[place] == pytest.approx(centre, rel=1e-12)
        assert clusters.variances[place] == pytest.approx(variance, rel=1e-12)
        assert (clusters.weight[place], clusters.rows[place]) == (weight[held].sum(), held.sum())


def test_points_far_from_zero_have_the_silhouette_of_those_near_it():
    """An offset that is a power of two rounds the points, once; sums of squares would lose seven digits more."""
    offset = 2.0**20
    cluster, vectors, weight = sample(offset=offset)
    near, far = vectors - offset, vectors
    _, expected = two_scans([table_of(cluster, near, weight)])
    _, found = two_scans([table_of(cluster[half], far[half], weight[half]) for half in np.split(np.arange(300), [90])])
    assert found.mean == pytest.approx(expected.mean, rel=1e-12)


def test_a_cluster_far_away_takes_no_digits_from_the_others():
    cluster, vectors, _ = sample(rows=200, clusters=2)
    far = 1e9 + np.array([[0.0] * 3, [1.0] * 3])
    _, found = two_scans([table_of(np.append(cluster, [7, 7]), np.concatenate([vectors, far]))])
    _, alone = two_scans([table_of(cluster, vectors)])
    assert found.by_cluster[:2] == pytest.approx(alone.by_cluster, rel=1e-12)
    assert found.by_cluster[2] == pytest.approx(1.0, rel=1e-12)


def test_many_clusters_are_compared_in_batches(monkeypatch):
    cluster, vectors, weight = sample(clusters=40)
    monkeypatch.setattr("penstock.statistics.evaluation.silhouettes._AT_A_TIME", 100)
    _, found = two_scans([table_of(cluster, vectors, weight)])
    expected = np.average(brute_force(cluster, vectors, weight), weights=weight)
    assert found.mean == pytest.approx(expected, rel=1e-12)


def test_the_cosine_of_a_vector_does_not_depend_on_its_length():
    cluster, vectors, _ = sample()
    lengths = 10.0 ** np.random.default_rng(0).integers(-290, 140, len(cluster))[:, None]
    _, expected = two_scans([table_of(cluster, vectors)], COSINE)
    _, found = two_scans([table_of(cluster, vectors * lengths)], COSINE)
    assert found.mean == pytest.approx(expected.mean, rel=1e-11)  # products of these lengths are rounded


def test_a_point_alone_in_its_cluster_counts_zero():
    _, found = two_scans([table_of([0, 1, 1], [[5.0], [0.0], [1.0]])])
    # The others: 1 - 1 / 25 and 1 - 1 / 16.
    assert found.mean == pytest.approx((0 + 24 / 25 + 15 / 16) / 3, rel=1e-15)
    assert found.by_cluster[0] == 0.0


def test_points_that_are_all_equal_count_zero():
    _, found = two_scans([table_of([0, 0, 1, 1], np.full((4, 2), 0.1))])
    assert found.mean == 0.0


def test_rows_and_clusters_of_no_weight_change_nothing():
    rows = table_of([0, 0, 1, 1], [[0.0], [1.0], [8.0], [9.0]], np.ones(4))
    more = table_of([0, 5], [[100.0], [4.0]], np.zeros(2))
    clusters, found = two_scans([rows, more])
    assert clusters.ids.tolist() == found.ids.tolist() == [0, 1]
    assert found.mean == two_scans([rows])[1].mean


def test_fewer_than_two_clusters_have_a_reason_and_no_silhouettes():
    for cluster, reason in [([], "no row has"), ([3, 3], "there is one cluster")]:
        statistic = ClusterSums(("prediction", "0"))
        clusters = gathered(statistic, table_of(pa.array(cluster, pa.int64()), np.ones((len(cluster), 1))))
        assert clusters.reason.startswith(reason)
        with pytest.raises(ConfigError, match="expected at least two"):
            Silhouettes(statistic.columns, clusters=clusters)


def test_without_rows_in_the_second_scan_there_is_a_reason():
    clusters, _ = two_scans([table_of([0, 1], [[1.0], [2.0]])])
    found = gathered(Silhouettes(("prediction", "0"), clusters=clusters), table_of([0], [[1.0]]).slice(0, 0))
    assert (found.mean, found.reason) == (None, "no row has a positive weight")


def test_a_partition_that_lacks_a_cluster_and_whole_floats_are_clusters_too():
    parts = [table_of([0.0, 0.0], [[0.0], [1.0]]), table_of([1.0, 1.0], [[8.0], [9.0]])]
    whole = table_of([0, 0, 1, 1], [[0.0], [1.0], [8.0], [9.0]])
    assert two_scans(parts)[1].mean == two_scans([whole])[1].mean


def test_lists_may_be_of_fixed_size():
    cluster, vectors, _ = sample()
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 3)
    _, found = two_scans([pa.table({"prediction": cluster, "x": fixed})])
    assert found.mean == two_scans([table_of(cluster, vectors)])[1].mean


def test_equal_silhouettes_are_one_key_and_survive_pickling():
    columns = ("prediction", "0", "1", "2")
    first, second = (Silhouettes(columns, clusters=two_scans([table_of(*sample()[:2])])[0]) for _ in range(2))
    other = Silhouettes(columns, clusters=two_scans([table_of(*sample(seed=1)[:2])])[0])
    assert len({first, second, pickle.loads(pickle.dumps(first)), other}) == 2


def test_clusters_are_not_equal_to_anything_else():
    assert Clusters(*[np.zeros(1)] * 3, *[np.zeros((1, 1))] * 2, np.zeros(1)) != 1


def test_vectors_of_nothing_but_zero_have_no_cosine():
    for lists in (False, True):
        good = table_of([0, 0, 1], [[1.0, 1.0], [2.0, 1.0], [4.0, 3.0]], lists=lists)
        zeros = table_of([0, 0, 1], [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]], lists=lists)
        statistic = ClusterSums(tuple(good.column_names), distance_measure=COSINE)
        demand_refused(statistic, "has 2 vectors of nothing but 0, expected a direction", good, zeros)
        assert two_scans([good, zeros])[1].mean is not None


def test_lists_of_several_lengths_in_several_partitions_are_refused():
    tables = [pa.table({"prediction": [0, 1], "x": lists}) for lists in ([[1.0], [2.0]], [[1.0, 2.0], [1.0]])]
    with pytest.raises(DataValueError, match="has 1 lists that are not of length 1"):
        two_scans(tables)


def test_too_many_clusters_are_refused(monkeypatch):
    monkeypatch.setattr("penstock.statistics.evaluation.clusters.MOST", 3)
    tables = [table_of(ids, np.ones((2, 1))) for ids in ([0, 1], [2, 3])]
    with pytest.raises(DataValueError, match="column 'prediction' has 4 or more clusters, expected at most 3"):
        two_scans(tables)


def test_a_cluster_that_the_first_scan_did_not_find_is_refused():
    clusters, _ = two_scans([table_of([0, 1], [[1.0], [2.0]])])
    with pytest.raises(DataValueError, match="column 'prediction' has 2 rows of clusters that the first scan"):
        gathered(Silhouettes(("prediction", "0"), clusters=clusters), table_of([0, 7, 8], [[1.0], [2.0], [3.0]]))
