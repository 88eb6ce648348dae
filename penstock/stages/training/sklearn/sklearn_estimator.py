"""Any estimator of scikit-learn, or of cuML: fitted on one rank, scored on all partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.training.sklearn import _fit as fit
from penstock.stages.training.sklearn._estimator_stage import EstimatorStage
from penstock.stages.training.sklearn._kinds import Described, describe, kept, to_fit, unfitted
from penstock.stages.training.sklearn._store import store


@dataclass(frozen=True, eq=False)
class SklearnEstimator(EstimatorStage):
    """A classifier, regressor, clusterer, outlier detector or transformer of scikit-learn or cuML.

    It is fitted on one rank, whatever the world size, on a float64 matrix of all rows, in the order of the dataset; how
    large that is, is said before it is read. It then scores every partition where it lies. Columns that `transform`
    adds, by the method that is called; a row with a null feature has null in all of them, unless the estimator takes
    missing values (`HistGradientBoostingClassifier`, or a pipeline that begins with a `SimpleImputer`):

    =================== ======================================================================
    method              columns
    =================== ======================================================================
    predict_proba       ``probability``, ``prediction``
    decision_function   ``rawPrediction``, ``prediction``
    predict             ``prediction``
    transform           ``output_columns``
    =================== ======================================================================

    ``prediction`` is the class in the label's type; float64 of a regressor, a list of float64 of several labels; int32
    of anything else: the number of a cluster, -1 for an outlier. ``probability`` is float64, of class 2, for two
    classes; a list of float64, of each class, otherwise. ``rawPrediction`` is float64, or a list, as `estimator` has
    one or more for a row.

    Parameters
    ----------
    estimator : estimator
        Unfitted: ``SVC(C=2.0)``, or a `sklearn.pipeline.Pipeline` of such. A copy is kept, and nothing that is passed
        is ever changed. It sees no column names: a `ColumnTransformer` takes positions among `features`.
    label : str or sequence of str, optional
        The column to learn: integers, booleans, strings or whole numbers of a classifier; numbers of a regressor,
        several where it learns several at once. Without null.
    features : str, sequence of str, or Selector, optional
        Numeric columns; all but label and weight, unless given.
    weight : str, optional
        Column of row weights, not negative, without null, for an estimator whose `fit` takes ``sample_weight``; those
        of a pipeline go to its last step.
    method : {"auto", "predict_proba", "decision_function", "predict", "transform"}, default="auto"
        What is called to score. Auto is the first that there is: of a classifier in this order, of others predict, then
        transform; transform of no classifier or regressor.
    memory_limit : int, optional
        The most bytes that the matrix of features, label and weight may take; a quarter of the memory that the process
        may use, unless given.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.
    output_columns : str or sequence of str, default="transformed"
        Of `transform`: a name for each number that it gives, or one for a list of all of them.

    Raises
    ------
    ConfigError
        Before anything is read: the estimator has no such method, takes no weights, needs a label, or the label is
        among the features. Before the matrix is read: it is larger than the limit. Names rows, columns, bytes, limit.
    SchemaError
        Before reading: a column is missing or of the wrong type.
    DataValueError
        Before training: a label, weight or feature is null or infinite, a feature has no value at all, a label of a
        classifier has a fraction, a weight is negative, all are 0, there is one class or more than 1,000. Also when
        predicting: a feature, or what the estimator gives, is infinite. And whatever values the estimator refuses.
    UnsupportedStepError
        Before the fit on all rows: the estimator, unfitted or fitted on a few rows, cannot be stored without running
        code, see below.
    ArtifactVersionError, UntrustedArtifactError
        When scoring with a loaded model: it was fitted by another minor version of scikit-learn, or is not to be
        trusted.

    Notes
    -----
    Learned are ``estimator`` (a skops file), ``sklearn`` (the version), ``rows``, ``classes``, ``widths`` (how many
    numbers a column has for each row, 0 for one that is no list) and ``warnings``, of convergence say.
    `fitted_estimator` returns the estimator itself, and `sklearn.base.clone` of that one can be fitted again: the stage
    of a loaded model has only a description of its estimator.

    An estimator that says something of the rows that it is fitted on, and of no others (`DBSCAN`, `TSNE`), has nothing
    to score with: `penstock.fit_predict` and `penstock.fit_transform` add what it says to those rows.

    It has no thresholds of its own: take scikit-learn's `FixedThresholdClassifier` around an estimator of two classes.

    Stored are estimators of scikit-learn, alone, in pipelines and in meta-estimators, that fitted are made of types
    that skops, or this library, trusts; no pickle, and no way for a file to name more types. Of a search that is what
    it found best. Trees that are loaded are checked node by node, as skops leaves to its users. An estimator with parts
    of your own, a function say, `Birch`, `BisectingKMeans`, and `KNeighborsClassifier` with a tree
    (``algorithm="brute"`` has none) are fitted and score in this session, but are not saved.

    The same matrix is fitted on every engine; the last digits of sums may depend on the number of threads, and where
    scikit-learn multiplies matrices, those of a row's score on the rows beside it. With ``random_state=None`` each fit
    is another.

    An estimator of cuML is fitted on the GPU of the rank, and kept as its counterpart of scikit-learn, which cuML makes
    of it (``as_sklearn()``); that one scores, on a CPU, so that a model needs neither GPU nor cuML. Among the steps of
    a `Pipeline` it is not converted, and refused. `CumlEstimator` leaves the matrix on the GPU, and knows before the
    fit what can be kept. Prefer cuML where the fit is what takes long, as that of support vectors or of a forest on
    many rows, and a few copies of the matrix have room in the memory of one GPU. Small matrices only wait for a GPU;
    and what does not fit on one rank is for stages that train on all of them, as `XGBoostClassifier`,
    `LogisticRegression` and `KMeans` of this library do, on GPUs too.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> from sklearn.svm import SVC
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0, 4.0, 5.0], "size": ["s", "s", "l", "l"]}))
    >>> model = ps.Pipeline(st.SklearnEstimator(SVC(), label="size")).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist()
    ['s', 's', 'l', 'l']
    """

    def _unfitted(self) -> Any:
        return unfitted(self.estimator)

    def _describe(self) -> Described:
        return describe(self.estimator)

    def _check_storable(self) -> None:
        store(kept(self.estimator), self.title)

    def _to_fit(self, rank: Rank) -> Any:
        estimator = to_fit(self.estimator, on_gpu=rank.kind == "gpu")
        self._check_storable()
        return estimator

    def _try_out(self, estimator: Any, rows: fit.Rows, threads: int) -> None:
        """Raise UnsupportedStepError where the estimator, fitted on a few of very many rows, cannot be stored."""
        few, trial = fit.few(rows), unfitted(estimator)
        if few is None:
            return
        try:
            fit.fit(trial, few, self._described.weight_argument, threads)
        except Exception:  # they may be too few for it: the fit on all rows has the last word
            return
        store(kept(trial), self.title)

    def _learn(self, estimator: Any, learned: Fitted) -> Fitted:
        return super()._learn(kept(estimator), learned)
