"""What is known of each estimator of cuML: what it does, and how what it learns is kept, or why it is refused.

Of each: its name below ``cuml``; what it is; the methods that score rows it was not fitted on; the argument of `fit`
for weights; whether `fit` takes no label, one, or several; its twin on a CPU; how what it learns is kept; and the class
that fits it on several GPUs, itself where it can.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.extras import importing, require_module
from penstock.stages.training.sklearn._kinds import Described
from penstock.stages.training.sklearn._store import store

_REFUSED = "refused: "
_STAGE = "stage:"
REASONS = {
    "converts in part": "is converted to scikit-learn's in some of its modes only",
    "learns labels alone": "learns labels, and takes no features",
    "no twin": "has no as_sklearn(), so what it learns could not score without a GPU",
    "scores no rows": "has neither predict nor transform",
    "time series": "forecasts one series, and takes no features",
    "transductive": "says something of the rows that it is fitted on, and of no others",
    "twin outside scikit-learn": "becomes an estimator outside scikit-learn, which skops does not store",
}
"""Why what an estimator learns cannot be kept, by the words of the table."""
INSTEAD = {
    "BernoulliNB": "NaiveBayes", "CD": "LinearRegression", "ComplementNB": "NaiveBayes", "GaussianNB": "NaiveBayes",
    "KBinsDiscretizer": "KBinsDiscretizer", "LabelEncoder": "StringIndexer", "Lars": "LinearRegression",
    "MBSGDClassifier": "LogisticRegression", "MBSGDRegressor": "LinearRegression", "MaxAbsScaler": "MaxAbsScaler",
    "MinMaxScaler": "MinMaxScaler", "MissingIndicator": "MissingIndicator", "MultinomialNB": "NaiveBayes",
    "Binarizer": "Binarizer", "Normalizer": "Normalizer", "OrdinalEncoder": "StringIndexer",
    "PolynomialFeatures": "PolynomialExpansion", "PowerTransformer": "PowerTransformer", "QN": "LogisticRegression",
    "QuantileTransformer": "QuantileTransformer", "RobustScaler": "RobustScaler", "SGD": "LinearRegression",
    "SimpleImputer": "Imputer", "TargetEncoder": "TargetEncoder",
}  # fmt: skip
"""The stage of this library that does the same, or the same task, of estimators that are refused."""


@dataclass(frozen=True)
class Entry:
    """A line of the table.

    Attributes
    ----------
    name : str
        Below ``cuml``: "KMeans", "naive_bayes.GaussianNB".
    kind : str
        "classifier", "regressor", "clusterer", "transformer", "outlier_detector", or "other".
    methods : tuple of str
        Those that score rows which it was not fitted on.
    weights : str or None
        The argument of `fit` for weights.
    labels : {"none", "one", "several"}
        How many `fit` has to be given; one or several where it takes several.
    twin : str or None
        The estimator for a CPU that `as_sklearn` makes of it: module and class.
    kept : str
        "stage:KMeans", as the state of a stage; "sklearn", by skops, or "sklearn, two classes"; "refused: <reason>".
    several : str or None
        The class that fits it on several GPUs, below ``cuml``: its own name where it does so itself.

    Examples
    --------
    >>> entry = entries()["PCA"]
    >>> entry.stage, entry.twin, entry.refusal, entries()["TSNE"].refusal
    ('PCA', 'sklearn.decomposition.PCA', None, 'transductive')
    >>> entry.several
    'decomposition.pca_mg.PCAMG'
    """

    name: str
    kind: str
    methods: tuple[str, ...]
    weights: str | None
    labels: str
    twin: str | None
    kept: str
    several: str | None

    @property
    def stage(self) -> str | None:
        """The stage whose state it becomes."""
        return self.kept.removeprefix(_STAGE) if self.kept.startswith(_STAGE) else None

    @property
    def refusal(self) -> str | None:
        """Why it is refused, a key of `REASONS`."""
        return self.kept.removeprefix(_REFUSED) if self.kept.startswith(_REFUSED) else None

    @property
    def two_classes(self) -> bool:
        """Whether it is converted where it has learned two classes, and not where more."""
        return self.kept.endswith("two classes")


@functools.cache
def entries() -> Mapping[str, Entry]:
    """Return the lines of the table by the name of the class, which is the last part of an estimator's name."""
    cells = (map(str.strip, line.split("|")) for line in TABLE.splitlines())
    _, *rows = ([None if cell == "-" else cell for cell in line] for line in cells)
    found = [Entry(name, kind, tuple((methods or "").split()), *rest) for name, kind, methods, *rest in rows]  # type: ignore[arg-type]
    return {each.name.rpartition(".")[2]: each for each in found}


def entry_of(estimator: Any, stage: str) -> Entry:
    """Return what is known of an estimator of cuML whose learned state can be kept.

    Raises
    ------
    ConfigError
        It is none that `known_entry` knows, or one whose learned state cannot be kept.
    """
    entry = known_entry(estimator, stage)
    if entry.refusal is None:
        return entry
    instead = INSTEAD.get(entry.name.rpartition(".")[2])
    hint = _HINT if instead is None else f"Take {instead} of this library."
    if entry.refusal in _HAS_OWN_ROWS:
        hint = f"{_OWN_ROWS[entry.kind]} the rows that it is fitted on."
    problem = f"cuml.{entry.name} {REASONS[entry.refusal]}: it cannot be kept, and is not fitted"
    raise ConfigError(problem, hint=hint, stage=stage)


def known_entry(estimator: Any, stage: str) -> Entry:
    """Return what is known of an estimator of cuML.

    Raises
    ------
    ConfigError
        It is none, or one of the classes that `cuml.dask` has for several GPUs.
    """
    name, module = type(estimator).__name__, type(estimator).__module__
    if module.partition(".")[0] != "cuml":
        raise ConfigError(
            f"estimator is {estimator!r:.200}, expected an estimator of cuML",
            hint="Pass an instance, as cuml.KMeans(n_clusters=8); SklearnEstimator takes those of scikit-learn.",
            stage=stage,
        )
    if module.startswith("cuml.dask.") or module.endswith("_mg"):
        problem = f"{module}.{name} is an estimator of several GPUs, expected one of a single GPU"
        raise ConfigError(problem, hint="Pass cuml's own of that name: ranks fit it together.", stage=stage)
    if name not in entries():
        known = did_you_mean(name, entries())
        raise ConfigError(f"{name} is none of the estimators of cuML {VERSION}.{known}", hint=_HINT, stage=stage)
    return entries()[name]


@dataclass(frozen=True, repr=False)
class CumlDescribed(Described):
    """What a stage knows of its estimator of cuML, also when the model is loaded where cuML is not.

    Attributes
    ----------
    name : str
        Below ``cuml``.
    stage : str or None
        The stage that it becomes; None where scikit-learn's estimator is kept.
    two_classes : bool
        It is not kept where it has learned more than two.
    fit_intercept, whiten : bool
        Its parameters of these names, which that stage has too.
    """

    name: str
    stage: str | None
    two_classes: bool
    fit_intercept: bool
    whiten: bool


def own(estimator: Any, stage: str) -> Any:
    """Return an estimator of cuML: as it is, or the one that a proxy of `cuml.accel` would fit.

    Raises
    ------
    MissingExtraError
        cuML is not installed.
    ConfigError
        The proxy would fit scikit-learn's estimator, on the CPU.
    """
    with importing("cuML", "gpu", stage):
        require_module("cuml")
    behind = getattr(type(estimator), "_gpu_class", None)
    if behind is None or behind.__module__.partition(".")[0] != "cuml":
        return estimator
    try:
        return behind(**behind._params_from_cpu(estimator._cpu))
    except ValueError as error:
        problem = f"{estimator!r:.200} is not fitted on the GPU by cuml.accel: {error}"
        hint = "Change the parameter that it names, or use SklearnEstimator, which fits on the CPU."
        raise ConfigError(problem, hint=hint, stage=stage) from error


def unfitted(estimator: Any, stage: str) -> Any:
    """Return a copy of an estimator that can be kept, without what it has learned.

    Raises
    ------
    ConfigError
        It is none of cuML's, or what it learns cannot be kept.
    """
    entry_of(estimator, stage)
    from sklearn.base import clone

    return clone(estimator)


def describe(estimator: Any, stage: str) -> CumlDescribed:
    """Return what an unfitted estimator can do, by the table."""
    return describe_as(
        entry_of(estimator, stage),
        " ".join(repr(estimator).split()),
        fit_intercept=bool(getattr(estimator, "fit_intercept", True)),
        whiten=bool(getattr(estimator, "whiten", False)),
    )


def describe_as(entry: Entry, text: str, *, fit_intercept: bool = True, whiten: bool = False) -> CumlDescribed:
    """Return what the table says of an estimator that prints itself as `text`, and its parameters that a stage has too.

    Examples
    --------
    >>> told = describe_as(entries()["PCA"], "PCA(n_components=2)", whiten=True)
    >>> told, told.methods, told.stage, told.whiten
    (PCA(n_components=2), ('transform',), 'PCA', True)
    """
    return CumlDescribed(
        text=text,
        kind=entry.kind if entry.kind in ("classifier", "regressor") else "other",
        methods=entry.methods,
        allow_nan=False,
        needs_label=entry.labels != "none",
        multi_output=entry.labels == "several",
        weight_argument=entry.weights,
        name=entry.name,
        stage=entry.stage,
        two_classes=entry.two_classes,
        fit_intercept=fit_intercept,
        whiten=whiten,
    )


def check_twin(estimator: Any, stage: str) -> None:
    """Raise an error unless scikit-learn's estimator, as which it is to be kept, can be made and stored.

    Raises
    ------
    MissingExtraError
        skops is not installed.
    ConfigError
        scikit-learn has no such parameters.
    UnsupportedStepError
        The parameters hold code, a function say.
    """
    try:
        twin = estimator._get_cpu_class()(**estimator._params_to_cpu())
    except ValueError as error:
        problem = f"{estimator!r:.200} has no twin in scikit-learn, as which it would be kept: {error}"
        raise ConfigError(problem, hint="Change the parameter that it names.", stage=stage) from error
    store(twin, stage)


_HAS_OWN_ROWS = ("transductive", "twin outside scikit-learn")
_OWN_ROWS = {"clusterer": "ps.fit_predict labels", "transformer": "ps.fit_transform places"}
_HINT = "Take scikit-learn's own with SklearnEstimator, or an estimator of the table in docs/gpu.md."


VERSION = "26.10.0"
TABLE = """\
name                              | kind             | scores by                               | weights       | labels  | twin                                    | kept as                            | several GPUs
AgglomerativeClustering           | clusterer        | -                                       | -             | none    | -                                       | refused: transductive              | -
ARIMA                             | other            | -                                       | -             | none    | -                                       | refused: time series               | -
AutoARIMA                         | other            | -                                       | -             | none    | -                                       | refused: time series               | -
CD                                | other            | predict                                 | sample_weight | one     | -                                       | refused: no twin                   | solvers.cd_mg.CDMG
cluster.SpectralClustering        | clusterer        | -                                       | -             | none    | sklearn.cluster.SpectralClustering      | refused: transductive              | -
compose.ColumnTransformer         | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
DBSCAN                            | clusterer        | -                                       | sample_weight | none    | sklearn.cluster.DBSCAN                  | refused: transductive              | cluster.dbscan_mg.DBSCANMG
ElasticNet                        | regressor        | predict                                 | sample_weight | one     | sklearn.linear_model.ElasticNet         | stage:LinearRegression             | solvers.cd_mg.CDMG
EmpiricalCovariance               | other            | -                                       | -             | none    | sklearn.covariance.EmpiricalCovariance  | refused: scores no rows            | -
ExponentialSmoothing              | other            | -                                       | -             | none    | -                                       | refused: time series               | -
GaussianRandomProjection          | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
HDBSCAN                           | clusterer        | -                                       | -             | none    | hdbscan.HDBSCAN                         | refused: transductive              | -
IncrementalPCA                    | transformer      | transform                               | -             | none    | sklearn.decomposition.IncrementalPCA    | sklearn                            | -
IsolationForest                   | outlier_detector | decision_function predict               | -             | none    | sklearn.ensemble.IsolationForest        | sklearn                            | -
KernelDensity                     | other            | -                                       | sample_weight | none    | sklearn.neighbors.KernelDensity         | refused: scores no rows            | -
KernelRidge                       | regressor        | predict                                 | sample_weight | several | sklearn.kernel_ridge.KernelRidge        | sklearn                            | -
KMeans                            | clusterer        | predict transform                       | sample_weight | none    | sklearn.cluster.KMeans                  | stage:KMeans                       | cluster.kmeans_mg.KMeansMG
KNeighborsClassifier              | classifier       | predict_proba predict                   | -             | one     | sklearn.neighbors.KNeighborsClassifier  | sklearn                            | -
KNeighborsRegressor               | regressor        | predict                                 | -             | several | sklearn.neighbors.KNeighborsRegressor   | sklearn                            | -
Lars                              | regressor        | predict                                 | -             | one     | -                                       | refused: no twin                   | -
Lasso                             | regressor        | predict                                 | sample_weight | one     | sklearn.linear_model.Lasso              | stage:LinearRegression             | solvers.cd_mg.CDMG
LedoitWolf                        | other            | -                                       | -             | none    | sklearn.covariance.LedoitWolf           | refused: scores no rows            | -
LinearRegression                  | regressor        | predict                                 | sample_weight | several | sklearn.linear_model.LinearRegression   | stage:LinearRegression             | linear_model.linear_regression_mg.LinearRegressionMG
LinearSVC                         | classifier       | decision_function predict               | sample_weight | one     | sklearn.svm.LinearSVC                   | sklearn                            | -
LinearSVR                         | regressor        | predict                                 | sample_weight | one     | sklearn.svm.LinearSVR                   | sklearn                            | -
LogisticRegression                | classifier       | predict_proba decision_function predict | sample_weight | one     | sklearn.linear_model.LogisticRegression | stage:LogisticRegression           | linear_model.logistic_regression_mg.LogisticRegressionMG
manifold.SpectralEmbedding        | transformer      | -                                       | -             | none    | sklearn.manifold.SpectralEmbedding      | refused: transductive              | -
MBSGDClassifier                   | classifier       | decision_function predict               | -             | one     | -                                       | refused: no twin                   | -
MBSGDRegressor                    | regressor        | predict                                 | -             | one     | -                                       | refused: no twin                   | -
multiclass.OneVsOneClassifier     | classifier       | decision_function predict               | sample_weight | one     | -                                       | refused: no twin                   | -
multiclass.OneVsRestClassifier    | classifier       | decision_function predict               | sample_weight | one     | -                                       | refused: no twin                   | -
naive_bayes.BernoulliNB           | classifier       | predict_proba predict                   | -             | one     | -                                       | refused: no twin                   | -
naive_bayes.CategoricalNB         | classifier       | predict_proba predict                   | -             | one     | -                                       | refused: no twin                   | -
naive_bayes.ComplementNB          | classifier       | predict_proba predict                   | -             | one     | -                                       | refused: no twin                   | -
naive_bayes.GaussianNB            | classifier       | predict_proba predict                   | sample_weight | one     | -                                       | refused: no twin                   | -
naive_bayes.MultinomialNB         | classifier       | predict_proba predict                   | -             | one     | -                                       | refused: no twin                   | -
NearestNeighbors                  | other            | -                                       | -             | none    | sklearn.neighbors.NearestNeighbors      | refused: scores no rows            | neighbors.nearest_neighbors_mg.NearestNeighborsMG
PCA                               | transformer      | transform                               | -             | none    | sklearn.decomposition.PCA               | stage:PCA                          | decomposition.pca_mg.PCAMG
preprocessing.Binarizer           | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.FunctionTransformer | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.KBinsDiscretizer    | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.KernelCenterer      | transformer      | -                                       | -             | none    | -                                       | refused: no twin                   | -
preprocessing.LabelBinarizer      | transformer      | -                                       | -             | one     | sklearn.preprocessing.LabelBinarizer    | refused: learns labels alone       | -
preprocessing.LabelEncoder        | transformer      | -                                       | -             | one     | sklearn.preprocessing.LabelEncoder      | refused: learns labels alone       | -
preprocessing.MaxAbsScaler        | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.MinMaxScaler        | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.MissingIndicator    | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.Normalizer          | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.OneHotEncoder       | transformer      | transform                               | -             | none    | sklearn.preprocessing.OneHotEncoder     | sklearn                            | -
preprocessing.OrdinalEncoder      | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.PolynomialFeatures  | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.PowerTransformer    | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.QuantileTransformer | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.RobustScaler        | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.SimpleImputer       | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
preprocessing.StandardScaler      | transformer      | transform                               | -             | none    | sklearn.preprocessing.StandardScaler    | sklearn                            | -
preprocessing.TargetEncoder       | transformer      | transform                               | -             | one     | sklearn.preprocessing.TargetEncoder     | refused: converts in part          | -
QN                                | other            | predict                                 | sample_weight | one     | -                                       | refused: no twin                   | -
RandomForestClassifier            | classifier       | predict_proba predict                   | sample_weight | one     | sklearn.ensemble.RandomForestClassifier | sklearn                            | RandomForestClassifier
RandomForestRegressor             | regressor        | predict                                 | sample_weight | one     | sklearn.ensemble.RandomForestRegressor  | sklearn                            | RandomForestRegressor
Ridge                             | regressor        | predict                                 | sample_weight | several | sklearn.linear_model.Ridge              | stage:LinearRegression             | linear_model.ridge_mg.RidgeMG
SGD                               | other            | predict                                 | -             | one     | -                                       | refused: no twin                   | -
SparseRandomProjection            | transformer      | transform                               | -             | none    | -                                       | refused: no twin                   | -
SVC                               | classifier       | decision_function predict               | sample_weight | one     | sklearn.svm.SVC                         | sklearn, two classes               | -
SVR                               | regressor        | predict                                 | sample_weight | one     | sklearn.svm.SVR                         | sklearn                            | -
TruncatedSVD                      | transformer      | transform                               | -             | none    | sklearn.decomposition.TruncatedSVD      | stage:TruncatedSVD                 | decomposition.tsvd_mg.TSVDMG
TSNE                              | transformer      | -                                       | -             | none    | sklearn.manifold.TSNE                   | refused: transductive              | -
UMAP                              | transformer      | transform                               | -             | none    | umap.UMAP                               | refused: twin outside scikit-learn | -
"""  # noqa: E501
