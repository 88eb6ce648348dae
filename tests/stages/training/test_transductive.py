"""An estimator says of the rows that it is fitted on what it says of the same matrix by hand, on any engine."""

import gc
import itertools
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import MDS, TSNE, SpectralEmbedding
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.core import scheduler
from penstock.dataset import Dataset
from penstock.dataset.beside import ColumnsBeside
from penstock.engines import relational
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, MissingExtraError, RowCountError, SchemaError
from penstock.stages.training.sklearn import _fit as fit

ROWS = 90
FEATURES = ("a", "b", "c")
DENSITY = DBSCAN(eps=0.8, min_samples=4)


def rows_of_three_clusters() -> np.ndarray:
    draw = np.random.default_rng(5)
    return draw.normal(size=(3, 3))[np.arange(ROWS) % 3] * 4 + draw.normal(size=(ROWS, 3)) / 2


X = rows_of_three_clusters()
TABLE = pa.table({**dict(zip(FEATURES, X.T, strict=True)), "name": [f"row {row}" for row in range(ROWS)]})


def cut(engine: Engine, table: pa.Table = TABLE) -> Dataset:
    """The rows in four fragments."""
    return engine.from_arrow(table, fragment_bytes=table.nbytes // 4)


def labels(data: Dataset, estimator: Any = DENSITY, **options: Any) -> list[int]:
    return ps.fit_predict(data, estimator, **{"features": FEATURES, **options}).to_arrow()["cluster"].to_pylist()


def vectors(data: Dataset, estimator: Any, **options: Any) -> np.ndarray:
    made = ps.fit_transform(data, estimator, **{"features": FEATURES, **options}).to_arrow()
    return np.array(made["embedding"].to_pylist())


# What the estimator says of the matrix itself


@pytest.mark.thorough
def test_labels_are_those_of_scikit_learn_and_all_else_stays(engine):
    made = ps.fit_predict(cut(engine), DENSITY, features=FEATURES).to_arrow()
    expected = clone(DENSITY).fit_predict(X)
    assert len(set(expected)) > 3  # clusters and outliers
    assert made.equals(TABLE.append_column("cluster", pa.array(expected, pa.int32())))


def test_vectors_are_those_of_scikit_learn_and_all_else_stays(engine):
    embedding = SpectralEmbedding(2, affinity="rbf", random_state=0)
    made = ps.fit_transform(cut(engine), embedding, features=FEATURES).to_arrow()
    assert made.drop_columns("embedding").equals(TABLE)
    assert made["embedding"].type == pa.list_(pa.float64())
    np.testing.assert_array_equal(np.array(made["embedding"].to_pylist()), clone(embedding).fit_transform(X))


LABELLING = [
    AgglomerativeClustering(4), HDBSCAN(min_cluster_size=8, copy=True), KMeans(3, n_init=1, random_state=0),
    LocalOutlierFactor(5), OPTICS(min_samples=5), SpectralClustering(3, random_state=0),
    make_pipeline(StandardScaler(), DBSCAN(eps=0.3)),
]  # fmt: skip
PLACING = [
    MDS(2, n_init=1, init="random", random_state=0), PCA(2), TSNE(2, perplexity=9, max_iter=250, random_state=0),
    make_pipeline(StandardScaler(), SpectralEmbedding(1, affinity="rbf", random_state=0)),
]  # fmt: skip


@pytest.mark.thorough
def test_an_estimator_labels_or_places_its_rows_as_by_hand(local, subtests):
    for estimator in LABELLING:
        with subtests.test(type(estimator).__name__):
            assert labels(cut(local), estimator) == clone(estimator).fit_predict(X).tolist()
    for estimator in PLACING:
        with subtests.test(type(estimator).__name__):
            np.testing.assert_array_equal(vectors(cut(local), estimator), clone(estimator).fit_transform(X))


@pytest.mark.thorough
def test_a_dense_vector_stands_for_its_elements(local):
    table = pa.table({"a": X[:, 0], "v": X[:, 1:].tolist()})
    assert labels(cut(local, table), features=("a", "v")) == clone(DENSITY).fit_predict(X).tolist()


@pytest.mark.thorough
def test_all_numeric_columns_are_features_unless_they_are_named(local):
    data = cut(local)
    assert labels(data, features=None) == labels(data)
    assert labels(data, features="b") == clone(DENSITY).fit_predict(X[:, 1:2]).tolist() != labels(data)


@pytest.mark.thorough
def test_nulls_are_missing_to_an_estimator_that_takes_them(local):
    holes = X.copy()
    holes[::7, 1] = np.nan
    data = cut(local, TABLE.set_column(1, "b", pa.array(holes[:, 1], from_pandas=True)))
    clusters = HDBSCAN(min_cluster_size=8, copy=True)
    assert labels(data, clusters) == clone(clusters).fit_predict(holes).tolist()
    placed = ps.fit_transform(data, QuantileTransformer(n_quantiles=9), features=FEATURES).to_arrow()["embedding"]
    expected = QuantileTransformer(n_quantiles=9).fit_transform(holes)
    assert placed.to_pylist() == [None if np.isnan(row).any() else row.tolist() for row in expected]


def test_results_that_are_no_arrays_of_numpy_are_taken(local):
    data = local.from_arrow(pa.table({"a": [3, 1, 3]}))
    for encoder in (OneHotEncoder(), OneHotEncoder(sparse_output=False).set_output(transform="polars")):
        assert vectors(data, encoder, features="a").tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


@pytest.mark.thorough
def test_an_estimator_that_is_passed_is_left_as_it_is(local):
    estimator = clone(DENSITY)
    assert labels(cut(local), estimator) == labels(cut(local), estimator)
    assert not hasattr(estimator, "labels_")


# Which row has which result


def test_rows_that_a_filter_keeps_have_their_own_results(engine):
    kept = cut(engine).filter(nw.col("a") > X[:, 0].mean())
    expected = clone(DENSITY).fit_predict(X[X[:, 0] > X[:, 0].mean()])
    assert labels(kept) == expected.tolist()


@pytest.mark.thorough
def test_the_matrix_is_in_the_order_of_the_dataset(engine):
    ordered = np.argsort(X[:, 0])
    made = ps.fit_predict(cut(engine).sort("a"), OPTICS(min_samples=5), features=FEATURES).to_arrow()
    assert made["name"].to_pylist() == [f"row {row}" for row in ordered]
    assert made["cluster"].to_pylist() == OPTICS(min_samples=5).fit_predict(X[ordered]).tolist()


@pytest.mark.thorough
def test_results_stay_with_their_rows_in_all_that_follows(local):
    expected = dict(zip(TABLE["name"].to_pylist(), clone(DENSITY).fit_predict(X).tolist(), strict=True))
    made = ps.fit_predict(cut(local), DENSITY, features=FEATURES)
    train, test = made.split([0.5, 0.5], seed=3)
    for part in (train, test, made.filter(nw.col("b") < 0), made.sort("c"), made.sample(0.3, seed=1)):
        table = part.select("cluster", "name").to_arrow()
        assert table.num_rows > 9
        assert table["cluster"].to_pylist() == [expected[name] for name in table["name"].to_pylist()]


@pytest.mark.thorough
def test_the_column_has_the_name_that_is_asked_for(local):
    for name in ("row", "v0", "a cluster"):
        made = ps.fit_predict(cut(local), DENSITY, features=FEATURES, output_column=name)
        assert made.columns == [*TABLE.column_names, name]
        assert made.select(name).to_arrow()[name].to_pylist() == clone(DENSITY).fit_predict(X).tolist()


@pytest.mark.thorough
def test_two_columns_stand_side_by_side(local):
    once = ps.fit_predict(cut(local), DENSITY, features=FEATURES)
    twice = ps.fit_predict(once, AgglomerativeClustering(2), features=FEATURES, output_column="other").to_arrow()
    assert twice["cluster"].to_pylist() == clone(DENSITY).fit_predict(X).tolist()
    assert twice["other"].to_pylist() == AgglomerativeClustering(2).fit_predict(X).tolist()


@pytest.mark.thorough
def test_many_results_lie_in_files_that_go_with_the_last_dataset(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(relational, "TABLE_BYTES", 0)
    monkeypatch.setattr(engine, "staging_dir", tmp_path)
    made = ps.fit_transform(cut(engine), PCA(2), features=FEATURES).select("embedding")
    gc.collect()
    assert len(list(tmp_path.glob("penstock-*"))) == 1
    np.testing.assert_array_equal(np.array(made.to_arrow()["embedding"].to_pylist()), PCA(2).fit_transform(X))
    del made
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_rows_that_were_not_there_are_told(local):
    (step,) = ps.fit_predict(cut(local), DENSITY, features=FEATURES).steps
    assert isinstance(step, ColumnsBeside)
    fewer = cut(local).with_step(replace(step, rows=replace(step.rows, parts=())))
    with pytest.raises(RowCountError, match="fit_predict has no value for some of the rows 0 to"):
        fewer.to_arrow()


def test_rows_that_were_counted_otherwise_before_are_told():
    table = TABLE.append_column("__row__", pa.array(range(ROWS), pa.int64()))
    rank: Any = SimpleNamespace(
        kind="cpu",
        report=lambda *_: None,
        batches=lambda name, columns, convert: map(convert, [frames.from_arrow(table.select(columns))]),
    )
    for counted in (ROWS - 1, ROWS + 1):
        with pytest.raises(RowCountError, match=f"90 rows were read, and {counted} were counted before"):
            fit.read_numbered(rank, fit.ToRows(FEATURES, (), None, None), counted, None)


# What is refused, before anything is read


class Mine(BaseEstimator):
    """An estimator of the user's own, that gives what it is told to."""

    def __init__(self, given: Any = None) -> None:
        self.given = given

    def fit_predict(self, X: Any) -> Any:
        return self.given

    fit_transform = fit_predict


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        call(*arguments, **options)
    return told.value


def test_what_is_no_estimator_is_refused(local):
    for call, estimator in itertools.product([ps.fit_predict, ps.fit_transform], [DBSCAN, "DBSCAN", None]):
        error = refused(call, cut(local), estimator)
        assert "expected a scikit-learn or cuML estimator" in error.message
        assert "Pass an instance" in error.hint


WITHOUT = [
    (ps.fit_predict, TSNE(), "has no fit_predict, which labels the rows", ["fit_transform", "ps.fit_transform"]),
    (ps.fit_transform, DENSITY, "has no fit_transform, which embeds the rows", ["fit_predict", "ps.fit_predict"]),
    (ps.fit_predict, LocalOutlierFactor(novelty=True), "has no fit_predict", ["decision_function", "SklearnEst"]),
    (ps.fit_predict, LogisticRegression(), "learns from a label, and fit_predict has none", ["SklearnEstimator"]),
    (ps.fit_transform, LinearDiscriminantAnalysis(), "learns from a label", ["SklearnEstimator"]),
    (ps.fit_predict, BaseEstimator(), "has no fit_predict", ["no method that says something of rows"]),
]


def test_an_estimator_without_the_method_is_refused_and_what_it_has_is_told(local, subtests):
    for call, estimator, problem, hints in WITHOUT:
        with subtests.test(type(estimator).__name__):
            error = refused(call, cut(local), estimator)
            assert problem in error.message
            assert [hint for hint in hints if hint not in error.hint] == []


def test_a_stage_names_what_takes_such_an_estimator():
    for estimator in (DENSITY, TSNE(), SpectralEmbedding(), LocalOutlierFactor()):
        error = refused(st.SklearnEstimator, estimator)
        assert "has no predict, to score new rows with" in error.message
        assert "ps.fit_predict" in error.hint
        assert "ps.fit_transform" in error.hint


def test_a_column_that_is_there_already_is_refused(local):
    error = refused(ps.fit_predict, cut(local), DENSITY, output_column="name")
    assert "fit_predict adds 'name', but there is a column of that name" in error.message
    with pytest.raises(SchemaError, match="the name that Penstock keeps for row numbers"):
        ps.fit_transform(cut(local), PCA(), output_column="__row__")
    assert (
        "output_column of fit_predict is ('x',)"
        in refused(ps.fit_predict, cut(local), DENSITY, output_column=("x",)).message
    )


def test_rows_without_numbers_are_refused(local):
    data = cut(local).map_partitions(lambda frame: frame, schema=TABLE.schema)
    assert "rows have no numbers after map_partitions" in refused(ps.fit_predict, data, DENSITY).message


def test_what_is_no_dataset_is_refused():
    assert "fit_predict takes a Dataset, found" in refused(ps.fit_predict, TABLE, DENSITY).message


def test_a_column_of_another_type_is_refused(local):
    with pytest.raises(SchemaError, match="column 'name' is string, but fit_predict takes numeric columns"):
        ps.fit_predict(cut(local), DENSITY, features="name")


def test_workers_that_share_no_directory_are_told_before_the_fit(local, monkeypatch):
    monkeypatch.setattr(type(local), "unshared", lambda self: "its workers are elsewhere")
    error = refused(ps.fit_predict, cut(local), Mine(), features=FEATURES)
    assert "fit_predict needs staging_dir: its workers are elsewhere" in error.message


def test_an_engine_without_queries_is_refused(local, monkeypatch):
    class _No:
        """What no engine is."""

    monkeypatch.setattr(scheduler, "Relational", _No)
    assert "fit_predict needs an engine with a query engine" in refused(ps.fit_predict, cut(local), DENSITY).message


def test_a_limit_that_is_none_is_refused(local):
    for limit in (0, -5, 1.5):
        error = refused(ps.fit_predict, cut(local), DENSITY, memory_limit=limit)
        assert f"memory_limit of fit_predict is {limit}" in error.message


def test_scikit_learn_is_not_needed_until_it_is(local, hide_modules):
    hide_modules("sklearn")
    with pytest.raises(MissingExtraError, match="scikit-learn cannot be imported"):
        ps.fit_predict(cut(local), DENSITY)


# What is refused, before the fit and after it


@pytest.mark.thorough
def test_a_matrix_beyond_the_limit_is_refused_before_it_is_read(local):
    error = refused(ps.fit_predict, cut(local), DENSITY, features=FEATURES, memory_limit=2159)
    assert "90 rows x 3 columns x 8 bytes = 2,160 bytes do not fit on one rank" in error.message
    assert labels(cut(local), memory_limit=2160) == clone(DENSITY).fit_predict(X).tolist()


def test_a_value_that_is_no_number_is_told_with_its_file_and_row(local, tmp_path):
    for value, problem in ((None, "null"), (float("inf"), "infinite")):
        for place in range(2):
            values = [0.0, 1.0, value if place else 2.0]
            pq.write_table(pa.table({"x": pa.array(values, pa.float64())}), tmp_path / f"{place}.parquet")
        with pytest.raises(DataValueError, match=f"1 values that are {problem}") as told:
            ps.fit_predict(local.read_parquet(f"{tmp_path}/*.parquet"), DENSITY)
        assert (told.value.path, told.value.row) == (str(tmp_path / "1.parquet"), 2)
        assert (told.value.column, told.value.stage) == ("x", "fit_predict")


def test_values_that_the_estimator_refuses_are_told(local):
    with pytest.raises(DataValueError, match=r"TSNE\(perplexity=95\) refuses the values of 'a', 'b', 'c'"):
        ps.fit_transform(cut(local), TSNE(perplexity=95), features=FEATURES)


def test_results_of_another_type_or_shape_are_refused(local, subtests):
    numbers = [
        (np.zeros(ROWS), "float64 of shape (90,)"), (np.zeros(ROWS - 1, int), "int64 of shape (89,)"),
        (np.zeros((ROWS, 1), int), "int64 of shape (90, 1)"), (["a"] * ROWS, "<U1 of shape (90,)"),
    ]  # fmt: skip
    lists = [
        (np.zeros(ROWS), "float64 of shape (90,)"), (np.zeros((ROWS + 1, 2)), "float64 of shape (91, 2)"),
        ([["a"]] * ROWS, "<U1 of shape (90, 1)"),
    ]  # fmt: skip
    for call, results, expected in ((ps.fit_predict, numbers, "an integer"), (ps.fit_transform, lists, "numbers")):
        for given, found in results:
            with subtests.test(expected, found=found):
                error = refused(call, cut(local), Mine(given), features=FEATURES)
                assert f"gives {found}, expected {expected} for each of 90 rows" in error.message


def test_a_label_beyond_int32_is_refused(local):
    with pytest.raises(DataValueError, match="2147483648"):
        ps.fit_predict(cut(local), Mine(np.full(ROWS, 2**31)), features=FEATURES)


def test_vectors_that_are_not_finite_are_refused(local):
    for value in (np.nan, np.inf):
        given = np.zeros((ROWS, 2))
        given[7, 1] = value
        with pytest.raises(DataValueError, match=r"fit_transform of Mine\(.* gives NaN or infinity for 1 row"):
            ps.fit_transform(cut(local), Mine(given), features=FEATURES)


def test_what_the_estimator_warns_of_is_a_warning(local):
    with pytest.warns(UserWarning, match="fit_transform: UserWarning: Graph is not fully connected") as told:
        ps.fit_transform(cut(local), SpectralEmbedding(n_neighbors=2, random_state=0), features=FEATURES)
    assert [warning.filename for warning in told] == [__file__]
