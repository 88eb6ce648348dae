"""The silhouette of a dataset against PySpark's, other metrics against scikit-learn's, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mllib_metrics import frame_of
from sklearn import metrics, preprocessing

from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages.evaluation import evaluate
from penstock.stages.evaluation.clustering import ClusteringEvaluator
from penstock.statistics.evaluation.cluster_labels import ClusterAgreement

ROWS = 200
FEATURES = ["x", "y", "z"]


def dataset(columns, **options):
    return LocalEngine(device="cpu").from_arrow(pa.table(columns), **options)


def columns(offset=0.0, clusters=3):
    rng = np.random.default_rng(6)
    cluster = rng.integers(0, clusters, ROWS)
    cluster[17] = 99  # alone
    vectors = rng.normal(size=(ROWS, 3)) + 2 * rng.normal(size=(100, 3))[cluster] + offset
    weight = rng.integers(0, 4, ROWS) / 2
    weight[17] = 1.5
    parts = dict(zip(FEATURES, vectors.T, strict=True))
    return {"prediction": cluster, "features": vectors.tolist(), **parts, "w": weight}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_silhouette_is_mllibs(spark):
    from pyspark.ml.evaluation import ClusteringEvaluator as MLlib

    data = columns()
    frame = frame_of(spark, data)
    for distance, weight in [("squaredEuclidean", "w"), ("cosine", None), ("cosine", "w")]:
        options = {"weightCol": weight} if weight else {}
        expected = MLlib(distanceMeasure=distance, **options).evaluate(frame)
        found = ClusteringEvaluator(distance_measure=distance, weight=weight)
        assert found.evaluate(dataset(data, fragment_bytes=2000))["silhouette"] == pytest.approx(expected, rel=1e-12)
        assert found.is_larger_better("silhouette") is MLlib().isLargerBetter()


def test_the_table_has_the_clusters_and_the_metric_is_their_mean():
    data = columns()
    found = ClusteringEvaluator(weight="w").evaluate(dataset(data))
    table = found.tables["clusters"]
    assert table["prediction"].to_pylist() == [0, 1, 2, 99]
    assert table["weight"].to_pylist() == [data["w"][data["prediction"] == each].sum() for each in [0, 1, 2, 99]]
    mean = np.average(table["silhouette"].to_numpy(), weights=table["weight"].to_numpy())
    assert found["silhouette"] == pytest.approx(mean, rel=1e-12)
    assert table["silhouette"][3].as_py() == 0.0


def test_the_table_shows_the_heaviest_clusters_of_many():
    ids = np.concatenate([np.arange(700), np.arange(200, 700)])
    table = ClusteringEvaluator(features="x").evaluate(dataset({"prediction": ids, "x": ids * 1.0})).tables["clusters"]
    assert table["prediction"].to_pylist() == list(range(200, 700))


def test_fewer_than_two_clusters_have_no_silhouette():
    for rows, reason in [(0, "no row has a positive weight"), (2, "there is one cluster")]:
        data = {"prediction": pa.array([4] * rows, pa.int32()), "features": pa.array([1.0] * rows, pa.float64())}
        found = ClusteringEvaluator().evaluate(dataset(data))
        assert found == {"silhouette": None, "daviesBouldin": None, "calinskiHarabasz": None}
        assert all(each.startswith(reason) for each in found.reasons.values())
        assert found.tables["clusters"]["silhouette"].to_pylist() == [None] * min(rows, 1)


def test_a_slice_compares_its_rows_with_the_clusters_of_all():
    data = {"prediction": [0, 0, 1, 1], "x": [0.0, 1.0, 8.0, 9.0], "part": ["a", "a", "b", "b"]}
    found = evaluate(dataset(data), [ClusteringEvaluator(features=["x"])], slices=["part"])
    # Each half is one cluster; by symmetry both have the silhouette of the whole: 1 - 1 / 72.5 and 1 - 1 / 56.5.
    expected = 1 - (1 / 72.5 + 1 / 56.5) / 2
    assert found["silhouette"] == pytest.approx(expected, rel=1e-12)
    assert found.slices["part"]["silhouette"].to_pylist() == pytest.approx([expected] * 2, rel=1e-12)


def test_a_bad_vector_names_its_file_and_row(tmp_path):
    for part, vectors in enumerate([[[1.0], [2.0]], [[3.0], [float("nan")]]]):
        pq.write_table(pa.table({"prediction": [0, 1], "features": vectors}), tmp_path / f"{part}.parquet")
    with pytest.raises(DataValueError, match="'features' has 1 lists with elements that are null, NaN") as caught:
        ClusteringEvaluator().evaluate(LocalEngine(device="cpu").read_parquet(str(tmp_path / "*.parquet")))
    assert caught.value.path.endswith("1.parquet")
    assert (caught.value.row, caught.value.stage) == (1, "ClusteringEvaluator")


def test_a_vector_of_zeros_in_several_columns_names_its_row():
    data = {"prediction": [0, 1, 1], "x": [1.0, 0.0, 0.0], "y": [0.0, 0.0, 3.0]}
    with pytest.raises(DataValueError, match="columns 'x', 'y': has 1 vectors of nothing but 0") as caught:
        ClusteringEvaluator(features=["x", "y"], distance_measure="cosine").evaluate(dataset(data))
    assert caught.value.row == 1


def test_columns_of_wrong_types_are_refused_before_reading(subtests):
    for changed, options, message in [
        ({"prediction": ["a"]}, {}, "column 'prediction' is string, but ClusteringEvaluator takes numbers"),
        ({"prediction": [True]}, {}, "column 'prediction' is bool"),
        ({"features": [["a"]]}, {}, "column 'features' is list.*takes columns of numbers, or one of lists of numbers"),
        ({"features": [[1.0]]}, {"features": ["features", "x"]}, "column 'features' is list"),
        ({"w": ["a"]}, {"weight": "w"}, "column 'w' is string"),
        ({}, {"features": ["x", "u"]}, "column 'u' is not in the data"),
        ({"kind": [[1.0]]}, {"label": "kind", "metrics": "vMeasure"}, "column 'kind' is list"),
    ]:
        with subtests.test(message):
            data = {"prediction": [0], "features": [1.0], "x": [1.0], "w": [1.0], **changed}
            with pytest.raises(SchemaError, match=message) as caught:
                ClusteringEvaluator(**options).evaluate(dataset(data))
            assert caught.value.stage == "ClusteringEvaluator"


def test_wrong_options_are_refused():
    for options, message in [
        ({"features": []}, "features of ClusteringEvaluator is empty"),
        ({"features": ""}, "features of ClusteringEvaluator is empty"),
        ({"distance_measure": "euclidean"}, "distance_measure is 'euclidean', expected one of"),
        ({"metrics": "vMeasure"}, "metric 'vMeasure' needs a column, but label is None"),
    ]:
        with pytest.raises(ConfigError, match=message):
            ClusteringEvaluator(**options)


@pytest.mark.parametrize("distance, offset", [("squaredEuclidean", 0.0), ("squaredEuclidean", 1e6), ("cosine", 0.0)])
def test_indices_of_separation_are_scikit_learns(distance, offset):
    data = columns(offset)
    vectors = np.array(data["features"])
    vectors = preprocessing.normalize(vectors) if distance == "cosine" else vectors - offset
    found = ClusteringEvaluator(distance_measure=distance).evaluate(dataset(data, fragment_bytes=2000))
    expected = metrics.davies_bouldin_score(vectors, data["prediction"])
    assert found["daviesBouldin"] == pytest.approx(expected, rel=1e-8)
    expected = metrics.calinski_harabasz_score(vectors, data["prediction"])
    assert found["calinskiHarabasz"] == pytest.approx(expected, rel=1e-8)


def test_clusters_of_equal_points_have_no_spread():
    data = {"prediction": [0, 0, 1, 1], "features": [1.0, 1.0, 4.0, 4.0]}
    found = ClusteringEvaluator(features=["features"], metrics=("daviesBouldin", "calinskiHarabasz"))
    assert found.evaluate(dataset(data)) == {"daviesBouldin": 0.0, "calinskiHarabasz": 1.0}


def test_as_many_clusters_as_rows_have_no_ratio_of_variances():
    found = ClusteringEvaluator(features="x").evaluate(dataset({"prediction": [0, 1], "x": [1.0, 2.0]}))
    assert found["calinskiHarabasz"] is None
    assert found.reasons["calinskiHarabasz"] == "there are no more rows than clusters"


SKLEARN = {
    "adjustedRand": metrics.adjusted_rand_score,
    "normalizedMutualInformation": metrics.normalized_mutual_info_score,
    "homogeneity": metrics.homogeneity_score,
    "completeness": metrics.completeness_score,
    "vMeasure": metrics.v_measure_score,
}


def labels(case):
    draw = np.random.default_rng(4)
    cluster = draw.integers(0, 5, ROWS)
    return {
        "related": (cluster, np.where(draw.random(ROWS) < 0.7, cluster // 2, 7)),
        "unrelated": (cluster, draw.integers(0, 3, ROWS)),
        "the same": (cluster, 4 - cluster),
        "one label": (cluster, np.zeros(ROWS)),
        "one cluster": (np.zeros(ROWS, int), cluster),
        "one of each": (np.zeros(ROWS, int), np.zeros(ROWS)),
        "all apart": (np.arange(ROWS), np.arange(ROWS) % 2),
    }[case]


CASES = ("related", "unrelated", "the same", "one label", "one cluster", "one of each", "all apart")


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_agreement_with_labels_is_scikit_learns(case):
    cluster, label = labels(case)
    expected = {name: function(label, cluster) for name, function in SKLEARN.items()}
    for column in (label, np.array([f"kind {each}" for each in label])):
        data = dataset({"prediction": cluster, "kind": column}, fragment_bytes=800)
        found = ClusteringEvaluator(label="kind", metrics=list(SKLEARN)).evaluate(data)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_a_share_of_an_entropy_is_not_above_one_by_rounding():
    for number in range(2, 60):
        same = ClusterAgreement(np.arange(number), np.arange(number), np.ones(number))
        assert 1 - 1e-12 < same.homogeneity <= 1


def test_metrics_of_labels_read_no_features_and_those_of_centres_take_one_scan():
    cluster, label = labels("related")
    data = dataset({"prediction": cluster, "kind": label})
    assert list(ClusteringEvaluator(label="kind", metrics="adjustedRand").evaluate(data)) == ["adjustedRand"]
    of_centres = ClusteringEvaluator(features="x", metrics="calinskiHarabasz")
    assert of_centres.follow_up(pa.schema([]), {}) == {}  # a second scan is of what this returns


def test_without_a_label_metrics_of_labels_are_left_out():
    assert list(ClusteringEvaluator().evaluate(dataset(columns()))) == [
        "silhouette",
        "daviesBouldin",
        "calinskiHarabasz",
    ]


def test_rows_without_weight_agree_on_nothing():
    data = dataset({"prediction": [0, 1], "kind": ["a", "b"], "w": [0.0, 0.0]})
    found = ClusteringEvaluator(label="kind", weight="w", metrics=list(SKLEARN)).evaluate(data)
    assert set(found.values()) == {None}
    assert set(found.reasons.values()) == {"no row has a positive weight"}


def test_a_label_that_is_null_is_refused():
    evaluator = ClusteringEvaluator(label="kind", metrics="vMeasure")
    with pytest.raises(DataValueError, match="column 'kind'") as caught:
        evaluator.evaluate(dataset({"prediction": [0, 1], "kind": ["a", None]}))
    assert caught.value.row == 1
