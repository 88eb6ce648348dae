"""What an estimator says of the rows that it is fitted on, as a column beside them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import check_names
from penstock.core.notices import warn
from penstock.core.scheduler import relational
from penstock.core.selectors import Columns
from penstock.dataset.beside import ColumnsBeside, RowsBeside
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.steps import check_numbered
from penstock.pipeline.pipeline import Pipeline
from penstock.stages.base import name_taken
from penstock.stages.training.transductive._stage import RESULT, _TransductiveEstimator


def fit_predict(
    dataset: Dataset,
    estimator: Any,
    *,
    features: Columns | None = None,
    output_column: str = "cluster",
    memory_limit: int | None = None,
) -> Dataset:
    """Add the label that an estimator gives to each row that it is fitted on.

    For estimators that label the rows they are fitted on and no others: scikit-learn's `DBSCAN`, `HDBSCAN`, `OPTICS`,
    `AgglomerativeClustering`, `SpectralClustering`, `LocalOutlierFactor`; cuML's `DBSCAN`, `HDBSCAN`,
    `AgglomerativeClustering`. One that predicts new rows too, as `KMeans`, is a stage of a pipeline by
    `SklearnEstimator` or `CumlEstimator`.

    It is called now, on one rank, whatever the engine, with a matrix of all rows, in the order of the dataset; how
    large that is, is said before it is read. Rows, their order, their numbers and all other columns stay as they are.
    Labels are kept in memory, or beyond 8 MiB in a temporary file, as rows of a query are; see `Engine.query`.

    Parameters
    ----------
    dataset : Dataset
    estimator : estimator
        Of scikit-learn (one of a `sklearn.pipeline.Pipeline`, say) or cuML. A copy is fitted, and what is passed is
        never changed.
    features : str, sequence of str, or Selector, optional
        Numeric columns, and dense vectors, of which each element is a column of the matrix; all numeric columns, unless
        given. Without null, unless the estimator takes missing values.
    output_column : str, default "cluster"
        The new column.
    memory_limit : int, optional
        The most bytes that the matrix may take; a quarter of the memory that the process, or for cuML the GPU, has,
        unless given.

    Returns
    -------
    Dataset
        With the new column, int32, without null: the number of a cluster, -1 for an outlier, as the estimator says.
        The matrix is float64 for scikit-learn, so that labels are those of the estimator itself on the same rows,
        on every engine; float32, on the GPU, for cuML.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed.
    ConfigError
        Before anything is read: the estimator is none, a class say, has no ``fit_predict``, or learns from a label; it
        is one of cuML's and there is no GPU; `output_column` is there already; rows have no numbers (after
        `map_partitions`); workers are on other machines and the engine has no ``staging_dir``. Before the matrix is
        read: it is larger than the limit. Names rows, columns, bytes, limit. After the fit: it gives something else.
    SchemaError
        Before reading: a column is missing or of the wrong type.
    EmptyInputError, DataValueError
        Before the fit: there are no rows; a feature is null or infinite, with its file and row, or a list has another
        length. And whatever values the estimator refuses.
    RowCountError
        Rows are not the same each time that they are read.

    Warns
    -----
    UserWarning
        What the estimator warned of.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from sklearn.cluster import DBSCAN
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [0.0, 0.1, 9.0, 5.0, 5.1]}))
    >>> ps.fit_predict(data, DBSCAN(eps=0.5, min_samples=2)).to_arrow()["cluster"].to_pylist()
    [0, 0, -1, 1, 1]
    """
    return _with_results(dataset, estimator, "fit_predict", features, output_column, memory_limit)


def fit_transform(
    dataset: Dataset,
    estimator: Any,
    *,
    features: Columns | None = None,
    output_column: str = "embedding",
    memory_limit: int | None = None,
) -> Dataset:
    """Add the vector that an estimator gives to each row that it is fitted on.

    For estimators that place the rows they are fitted on and no others: scikit-learn's `TSNE`, `MDS`,
    `SpectralEmbedding`; cuML's `TSNE`, `SpectralEmbedding`, `UMAP`. One that transforms new rows too, as `PCA`, is a
    stage of a pipeline. Everything else is as for `fit_predict`, but for:

    Returns
    -------
    Dataset
        With the new column, a list of float64 of one length. It is null where the estimator gives NaN for a row with a
        missing value. Last digits may depend on the number of threads, and with ``random_state=None`` each call gives
        others.

    Raises
    ------
    ConfigError
        Also: the estimator has no ``fit_transform``, or gives no numbers for each row.
    DataValueError
        Also: it gives infinity, or NaN for a row without a missing value.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from sklearn.manifold import SpectralEmbedding
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [0.0, 1.0, 2.0, 3.0]}))
    >>> placed = ps.fit_transform(data, SpectralEmbedding(1, affinity="rbf", random_state=0))
    >>> placed.schema.field("embedding").type, len(placed.head()["embedding"][0])
    (ListType(list<item: double>), 1)
    """
    return _with_results(dataset, estimator, "fit_transform", features, output_column, memory_limit)


def _with_results(
    dataset: Dataset,
    estimator: Any,
    method: str,
    features: Columns | None,
    output_column: str,
    memory_limit: int | None,
) -> Dataset:
    check_dataset(dataset, method)
    check_numbered(dataset.steps, method, "Write the rows to Parquet and read them again.", stage=method)
    _check_new(dataset.schema, output_column, method)
    stage = _TransductiveEstimator(estimator, method, features=features, memory_limit=memory_limit)
    stage.check_device(dataset.engine.kind)
    engine = relational(dataset.engine, method)
    engine.check_relation((), method)
    (fitted,) = Pipeline(stage).fit(dataset).fitted
    for text in fitted["warnings"]:
        warn(f"{method}: {text}", stacklevel=3)
    rows = max(fragment.rows for fragment in dataset.fragments)
    kept = engine.keep(fitted["results"], method, fragment_rows=rows)
    added = pa.schema({output_column: stage.results.field(RESULT).type})
    return dataset.with_step(ColumnsBeside(added, RowsBeside.of(kept, method), method))


def _check_new(schema: pa.Schema, name: str, method: str) -> None:
    """Raise ConfigError or SchemaError for a name that a new column cannot have."""
    if not isinstance(name, str):
        raise ConfigError(f"output_column of {method} is {name!r:.100}, expected a name", stage=method)
    check_names([name], method, stage=method)
    if name in schema.names:
        raise name_taken(method, name, "Pass another output_column.")
