"""Writes docs/stages.md from the stages themselves: what each does, takes and learns, and what is like it elsewhere."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

import penstock as ps
from penstock import stages
from penstock.stages.base import ColumnStage, Stage
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.preprocessing.projection._projection import Projection
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.registry import discover
from penstock.stages.trainer import as_trainer
from penstock.testing import examples_of, tables
from tools.pages import code, table, write_or_check

PAGE = Path(__file__).resolve().parents[1] / "docs" / "stages.md"
ENGINES = ("local", "Dask", "Spark")
"""What the conformance suite runs every stage on; a test compares it with the engines of the suite."""

COUNTERPARTS = {
    "Binarizer": ("feature.Binarizer", "preprocessing.Binarizer"),
    "BinaryClassificationEvaluator": ("evaluation.BinaryClassificationEvaluator", ""),
    "Bucketizer": ("feature.Bucketizer", ""),
    "ClusteringEvaluator": ("evaluation.ClusteringEvaluator", ""),
    "CountVectorizer": ("feature.CountVectorizer", "feature_extraction.text.CountVectorizer"),
    "FeatureHasher": ("feature.FeatureHasher", "feature_extraction.FeatureHasher"),
    "FunctionStage": ("", "preprocessing.FunctionTransformer"),
    "GaussianMixture": ("clustering.GaussianMixture", "mixture.GaussianMixture"),
    "GeneralizedLinearRegression": (
        "regression.GeneralizedLinearRegression",
        "linear_model.GammaRegressor linear_model.PoissonRegressor linear_model.TweedieRegressor",
    ),
    "ElementwiseProduct": ("feature.ElementwiseProduct", ""),
    "HashingTF": ("feature.HashingTF", "feature_extraction.text.HashingVectorizer"),
    "IDF": ("feature.IDF", "feature_extraction.text.TfidfTransformer"),
    "Imputer": ("feature.Imputer", "impute.SimpleImputer"),
    "IndexToString": ("feature.IndexToString", ""),
    "Interaction": ("feature.Interaction", ""),
    "IsotonicRegression": ("regression.IsotonicRegression", "isotonic.IsotonicRegression"),
    "KBinsDiscretizer": ("", "preprocessing.KBinsDiscretizer"),
    "KMeans": ("clustering.KMeans", "cluster.KMeans"),
    "LinearDiscriminantAnalysis": ("", "discriminant_analysis.LinearDiscriminantAnalysis"),
    "LinearRegression": (
        "regression.LinearRegression",
        "linear_model.LinearRegression linear_model.Ridge linear_model.Lasso linear_model.ElasticNet",
    ),
    "LinearRegressionCV": ("", "linear_model.RidgeCV linear_model.ElasticNetCV"),
    "LogisticRegression": ("classification.LogisticRegression", "linear_model.LogisticRegression"),
    "MahalanobisDistance": ("", "covariance.EllipticEnvelope"),
    "MaxAbsScaler": ("feature.MaxAbsScaler", "preprocessing.MaxAbsScaler"),
    "MinMaxScaler": ("feature.MinMaxScaler", "preprocessing.MinMaxScaler"),
    "MissingIndicator": ("", "impute.MissingIndicator"),
    "MultiHot": ("", "preprocessing.MultiLabelBinarizer"),
    "MulticlassClassificationEvaluator": ("evaluation.MulticlassClassificationEvaluator", ""),
    "MultilabelClassificationEvaluator": ("evaluation.MultilabelClassificationEvaluator", ""),
    "NGram": ("feature.NGram", ""),
    "NaiveBayes": (
        "classification.NaiveBayes",
        "naive_bayes.BernoulliNB naive_bayes.ComplementNB naive_bayes.GaussianNB naive_bayes.MultinomialNB",
    ),
    "Normalizer": ("feature.Normalizer", "preprocessing.Normalizer"),
    "OneHotEncoder": ("feature.OneHotEncoder", "preprocessing.OneHotEncoder"),
    "PCA": ("feature.PCA", "decomposition.PCA"),
    "PolynomialExpansion": ("feature.PolynomialExpansion", "preprocessing.PolynomialFeatures"),
    "PowerTransformer": ("", "preprocessing.PowerTransformer"),
    "ProbabilityCalibrator": ("", "calibration.CalibratedClassifierCV"),
    "QuadraticDiscriminantAnalysis": ("", "discriminant_analysis.QuadraticDiscriminantAnalysis"),
    "QuantileDiscretizer": ("feature.QuantileDiscretizer", "preprocessing.KBinsDiscretizer"),
    "QuantileTransformer": ("", "preprocessing.QuantileTransformer"),
    "RandomForestClassifier": ("classification.RandomForestClassifier", "ensemble.RandomForestClassifier"),
    "RandomForestRegressor": ("regression.RandomForestRegressor", "ensemble.RandomForestRegressor"),
    "RankingEvaluator": ("evaluation.RankingEvaluator", ""),
    "RegexTokenizer": ("feature.RegexTokenizer", ""),
    "RegressionEvaluator": ("evaluation.RegressionEvaluator", ""),
    "RobustScaler": ("feature.RobustScaler", "preprocessing.RobustScaler"),
    "StandardScaler": ("feature.StandardScaler", "preprocessing.StandardScaler"),
    "StopWordsRemover": ("feature.StopWordsRemover", ""),
    "StringIndexer": ("feature.StringIndexer", "preprocessing.OrdinalEncoder"),
    "TargetEncoder": ("feature.TargetEncoder", "preprocessing.TargetEncoder"),
    "ThresholdTuner": ("", "model_selection.TunedThresholdClassifierCV"),
    "Tokenizer": ("feature.Tokenizer", ""),
    "TorchClassifier": ("classification.MultilayerPerceptronClassifier", "neural_network.MLPClassifier"),
    "TorchRegressor": ("", "neural_network.MLPRegressor"),
    "TruncatedSVD": ("", "decomposition.TruncatedSVD"),
    "UnivariateFeatureSelector": (
        "feature.UnivariateFeatureSelector feature.ChiSqSelector",
        "feature_selection.GenericUnivariateSelect",
    ),
    "VarianceThresholdSelector": ("feature.VarianceThresholdSelector", "feature_selection.VarianceThreshold"),
    "VectorAssembler": ("feature.VectorAssembler", ""),
    "VectorSlicer": ("feature.VectorSlicer", ""),
    "XGBoostClassifier": ("classification.GBTClassifier", "ensemble.HistGradientBoostingClassifier"),
    "XGBoostRegressor": ("regression.GBTRegressor", "ensemble.HistGradientBoostingRegressor"),
}
"""The nearest classes of MLlib, below ``pyspark.ml``, and of scikit-learn, below ``sklearn``; none where there is none.
Where parameters or numbers differ, the docstring of the stage says so."""

HEAD = """# Stages

Written by `make docs` from the stages themselves; `make check` fails when a stage and its line differ.

* **takes**: the types of the columns it works on. Categorical ones are strings, integers and booleans; `any` is for
  stages that look at types by themselves or by their parameters. `help(stage)` has the details.
* **scans**: passes over the data at fit. 0 learns nothing, "0 or 1" depends on the parameters, and with "1 + training"
  one scan checks labels and features, and training follows, as it does where `LinearRegression` is given a sparse
  vector. Stages that do not depend on one another share a scan.
* **engines**, **devices**: what runs it. The conformance suite compares all engines with each other.
* **row**: it has a function for one row, so that `model.predict` calls no frame library; a few parameters do without.
* **MLlib**, **scikit-learn**: the nearest classes there, below `pyspark.ml` and `sklearn`.

A stage of your own: [own-stages.md](own-stages.md).
"""
FAMILIES = ("Preprocessing", "Selection", "Projection", "Text and lists", "Training", "Evaluation", "Inference")
STAGE_COLUMNS = ("stage", "what it does", "takes", "scans", "engines", "devices", "row", "MLlib", "scikit-learn")
EVALUATOR_COLUMNS = ("evaluator", "what it reports", "reads", "metrics", "scans", "engines", "MLlib")


def summary(kind: type) -> str:
    """Return the first sentence of a docstring, as Markdown."""
    paragraph = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s", paragraph)[0]
    return re.sub(r":\w+:(?=`)", "", sentence).replace("``", "`").replace("|", r"\|")


def family(kind: type[Stage], schema: pa.Schema) -> str:
    """Return the heading that a stage stands under: that of its package, or what its class or columns say."""
    package = kind.__module__.split(".")[2]
    if package != "preprocessing":
        return package.capitalize()
    if issubclass(kind, FeatureSelector):
        return "Selection"
    if issubclass(kind, Projection):
        return "Projection"
    inputs = examples_of(kind)[0].bind(schema).inputs()
    of_lists = bool(inputs) and all(pa.types.is_list(schema.field(name).type) for name in inputs)
    return "Text and lists" if kind.tags.accepts == "string" or of_lists else "Preprocessing"


def scans(kind: type[Stage], data: ps.Dataset) -> str:
    """Return how many passes over the data the examples of a stage ask for when they are fitted."""
    found = sorted({ps.Pipeline(example).plan(data).scans for example in examples_of(kind)})
    told = " or ".join(map(str, found))
    trained = any(as_trainer(example.bind(data.schema), data.schema) for example in examples_of(kind))
    return f"{told} + training" if trained else told


def has_row_function(kind: type[Stage]) -> bool:
    """Return whether a stage has a function of one row, or of one value, of its own."""
    if kind.row_function not in (Stage.row_function, ColumnStage.row_function):
        return True
    return issubclass(kind, ColumnStage) and kind.value_function is not ColumnStage.value_function


def counterparts(name: str) -> tuple[str, str]:
    """Return the cells of MLlib and scikit-learn."""
    mllib, sklearn = COUNTERPARTS.get(name, ("", ""))
    return code(mllib.split()), code(sklearn.split())


def stage_cells(kind: type[Stage], data: ps.Dataset) -> tuple[str, ...]:
    """Return the line of a stage."""
    devices = ", ".join(sorted(kind.tags.devices))
    row = "yes" if has_row_function(kind) else "no"
    learnt = (summary(kind), kind.tags.accepts, scans(kind, data))
    engines = ENGINES if kind.tags.devices else ("Spark",)  # which computes it as a whole
    return (code([kind.__name__]), *learnt, ", ".join(engines), devices, row, *counterparts(kind.__name__))


def evaluator_cells(kind: type[Evaluator]) -> tuple[str, ...]:
    """Return the line of an evaluator, with the columns that it reads by default."""
    evaluator = kind()
    passes = "1" if kind.follow_up is Evaluator.follow_up else "2"
    told = (summary(kind), code(evaluator.columns()), str(len(evaluator.names)), passes, ", ".join(ENGINES))
    return (code([kind.__name__]), *told, counterparts(kind.__name__)[0])


def evaluators() -> list[type[Evaluator]]:
    """Return the evaluators of the library, by name."""
    kinds = (getattr(stages, name) for name in stages.__all__)
    return [kind for kind in kinds if issubclass(kind, Evaluator)]


def page() -> str:
    """Return docs/stages.md."""
    data = ps.LocalEngine(device="cpu").from_arrow(tables.ordinary())
    lines: dict[str, list[Sequence[str]]] = {name: [] for name in FAMILIES}
    for kind in discover().values():
        lines[family(kind, data.schema)].append(stage_cells(kind, data))
    lines["Evaluation"] += [evaluator_cells(kind) for kind in evaluators()]
    parts = [
        f"## {name}\n\n{table(EVALUATOR_COLUMNS if name == 'Evaluation' else STAGE_COLUMNS, rows)}"
        for name, rows in lines.items()
    ]
    return "\n".join([HEAD, *parts])


def main() -> int:
    """Write the page, or tell whether it is as it should be."""
    return write_or_check(__doc__, lambda: {PAGE: page()}, "the stages")


if __name__ == "__main__":
    sys.exit(main())
