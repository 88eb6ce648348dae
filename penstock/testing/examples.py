"""Examples of the stages of the library, which the conformance suite is run with, over the columns of its tables.

A stage has one here for each way of working that has a code of its own. One that has none is made with columns alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import narwhals as nw

from penstock import stages as st
from penstock.stages.base import Stage
from penstock.stages.functions import register_function
from penstock.stages.inference._examples import example

Examples = tuple[Stage, ...]


def library_examples(kind: type[Stage]) -> Examples:
    """Return the examples of a class of stages; none of a class that is not of the library, or has none of its own.

    Examples
    --------
    >>> library_examples(st.DateDifference)[0], library_examples(st.Log1p)
    (DateDifference(start='t1', end='t2', unit='minutes', output_column=None), ())
    """
    make = next(
        (make for place, make in _MAKE.items() if kind.__module__.startswith(f"penstock.stages.{place}.")), None
    )
    return () if make is None else tuple(each for each in make() if type(each) is kind)


@functools.cache
def _preprocessing() -> Examples:
    return (*_numbers(), *_categories(), *_others())


def _numbers() -> Examples:
    return (
        st.Binarizer(("n1", "n2", "b"), threshold=(9, 0.5, 0)),
        st.Binarizer("n3", threshold=0.1, output_columns=("above",)),
        st.Bucketizer(("n1", "n2", "b"), splits=((0, 4, 19), (0.5, 1, 2, math.inf), (0, 1, 2)), handle_invalid="keep"),
        st.Bucketizer(("n1", "n2"), splits=(-math.inf, 0.5, 3), handle_invalid="skip", output_columns=("i", "j")),
        st.Bucketizer("n3", splits=(-10, -0.5, 0, 0.5, 10)),
        st.KBinsDiscretizer(("n1", "n2", "b"), n_bins=(4, 10, 2), handle_invalid="keep"),
        st.KBinsDiscretizer(("n1", "n2"), handle_invalid="skip", output_columns=("i", "j")),
        st.KBinsDiscretizer("n3", n_bins=3),
        st.QuantileDiscretizer(("n1", "n2", "b"), num_buckets=(4, 10, 2), handle_invalid="keep"),
        st.QuantileDiscretizer(("n1", "n2"), num_buckets=3, handle_invalid="skip", output_columns=("i", "j")),
        st.QuantileDiscretizer("n3", num_buckets=5),
        st.Arcsinh(("n1", "n2", "n3", "b")),
        st.Clip(("n1", "n2"), lower=1, upper=5.5),
        st.Clip("n3", lower=-1, output_columns=("clipped",)),
        st.DropOutliers(("n1", "n2", "n3"), capping_method="iqr", tail="both", fold=0.5),
        st.DropMahalanobisOutliers(("n3", "y"), quantile=0.8),
        st.DropMahalanobisOutliers(("n3", "w", "label"), quantile=0.9, shrinkage=0.2),
        st.HaversineDistance("n1", "n2", "b", "n1"),
        st.MahalanobisDistance(("n3", "y", "w")),
        st.MahalanobisDistance(("n3", "y"), shrinkage="auto", quantile=0.7, output_column="far", outlier_column="odd"),
        st.Interaction(("n1", "n2")),
        st.Interaction(("n3", ("n2", "b"), ("n1", "n2"))),
        st.Log("n2", base="10", output_columns=("magnitude",)),
        st.PolynomialExpansion(("n1", "n2", "b")),
        st.PolynomialExpansion(("n3", "n1", "n2"), 3, interaction_only=True),
        st.PolynomialExpansion("n2", 4),
        st.Sqrt(("n1", "n2", "b")),
        st.Power(("n1", "n2", "b"), exponent=1.5),
        st.Power("n3", exponent=2, output_columns=("squared",)),
        st.PowerTransformer(("n1", "n2", "n3", "b")),
        st.PowerTransformer("n2", method="box-cox", standardize=False, output_columns=("z",)),
        st.QuantileTransformer(("n1", "n2", "b")),
        st.QuantileTransformer(("n1", "n3"), n_quantiles=20, output_distribution="normal", output_columns=("i", "z")),
        st.ReduceDtypes(("n1", "n2", "n3", "b"), tolerance=1e-6),
        st.Winsorizer(("n1", "n2", "b"), tail="both", fold=1.5),
        st.Winsorizer(("n2", "n3"), capping_method="mad", output_columns=("p", "q")),
        st.PCA(("n3", "y", "w"), 2),
        st.PCA(("y", "n3"), 2, prefix="c", centre=False, whiten=True),
        st.TruncatedSVD(("n3", "y", "w"), 2),
        st.TruncatedSVD(("y", "n3"), 2, prefix="c"),
        st.GroupScaler(("n2", "n3"), by="s1"),
        st.GroupScaler("n2", by=("n1", "b"), method="minmax", handle_invalid="keep", output_columns=("z",)),
        st.MaxAbsScaler(("n1", "n2", "n3")),
        st.MaxAbsScaler(("n3", "b"), output_columns=("z", "c")),
        st.MinMaxScaler(("n1", "n2", "n3")),
        st.MinMaxScaler(("n2", "b"), min=-1.5, max=1, output_columns=("z", "c")),
        st.Normalizer(("n1", "n2", "b")),
        st.Normalizer(("n1", "n3"), norm="l1", output_columns=("p", "q")),
        st.Normalizer(("n2", "b"), norm="max"),
        st.Normalizer(("n1", "n2"), norm=2.5),
        st.RobustScaler(("n1", "n2", "n3")),
        st.RobustScaler(("n2", "b"), lower=0.05, upper=1, with_centering=False, output_columns=("z", "c")),
        st.StandardScaler(("n1", "n2", "n3")),
        st.StandardScaler(("n2", "b"), with_mean=False, output_columns=("z", "c")),
        st.CorrelationSelector(("y", "n3", "label", "w"), threshold=0.6),
        st.PSISelector(("n2", "n3", "s1", "b"), "label", 0, bins=5),
        st.StepwiseSelector(("n3", "label", "w"), "y"),
        st.StepwiseSelector(("label", "n3"), "y", direction="backward", criterion="p_value", weight="w"),
        st.UnivariateFeatureSelector(
            ("n1", "s1", "s2", "b"), feature_type="categorical", label_type="categorical", selection_threshold=2
        ),
        st.UnivariateFeatureSelector(
            ("y", "n3", "w"), "class", feature_type="continuous", label_type="categorical", selection_mode="fwe"
        ),
        st.VarianceInflationSelector(("y", "n3", "label", "w"), threshold=1.5),
        st.VarianceThresholdSelector(("n1", "n2", "n3", "b"), 0.5),
    )


def _categories() -> Examples:
    letters = tuple("abcdefghijklmnopqrst")
    return (
        st.CountEncoder(("s1", "s2", "n1", "b")),
        st.CountEncoder(("s1", "b"), normalize=True, output_columns=("s_share", "b_share")),
        st.FeatureHasher(("n1", "n2", "s1", "b", "s2"), num_features=64, categorical_columns=("n1",)),
        st.GroupStatistics(("n2", "n3"), by="s1"),
        st.GroupStatistics("n2", by=("s1", "b"), aggregates=("count", "std"), handle_invalid="keep"),
        st.HashBucket(("s1", "s2", "n1", "b"), (100, 7, 2**31 - 1, 2)),
        st.HashedCross(("s1", "n1", "b"), num_buckets=1000, output_column="cross"),
        st.IndexToString(("n1", "b"), labels=letters, output_columns=("letter", "flag")),
        st.IndexToString(("n1", "n2", "n3"), labels=(7, -1, 2**40), handle_invalid="ignore"),
        st.IndexToString("b", labels=(True, False)),
        st.MultiHot(("words", "v_indices"), max_categories=3, min_frequency=0.1),
        st.MultiHot("words", categories=(("a", "größe"),), handle_invalid="ignore"),
        st.OneHotEncoder(("s1", "s2", "n1", "b"), max_categories=4),
        st.OneHotEncoder(("s1", "b"), categories=(("a", "b"), (True,)), handle_invalid="ignore"),
        st.OneHotEncoder(("s1", "n1"), max_categories=20, handle_invalid="error", drop="first"),
        st.OneHotEncoder("s2", max_categories=8, min_frequency=0.05, drop="last"),
        st.StringIndexer(("s1", "s2", "n1", "b")),
        st.StringIndexer(("s1", "s2"), min_frequency=0.05, max_categories=4, num_oov_buckets=3, joint=True),
        st.StringIndexer(("s1", "n1"), handle_invalid="error", output_columns=("s_code", "n_code")),
        st.StringIndexer(("s2", "n1"), max_categories=4, sketch_size=1000),
        st.StringIndexer(("s2", "b"), string_order_type="alphabetDesc"),
        st.StringIndexer(("s1", "s2", "n1"), min_frequency=2, max_categories=9, order="append"),
        st.TargetEncoder(("s1", "s2", "n1", "b")),
        st.TargetEncoder(("s1", "n1"), label="y", target_type="continuous", smoothing=5.0, output_columns=("s", "n")),
        st.TargetEncoder(("s1", "n1"), smoothing=1, num_folds=None, handle_invalid="error"),
        st.TargetEncoder(("s1", "b"), label="class", target_type="multiclass", classes=("low", "middle", "top")),
        st.WeightOfEvidenceEncoder(("s1", "s2", "n1", "b")),
    )


def _others() -> Examples:
    register_function("penstock: sum of two")(_sum_of_two)
    of_date = ("year", "month", "day", "weekday", "ordinal_day")
    pixels: dict[str, Any] = {"output_column": "pixels", "size": (2, 3)}
    return (
        st.CyclicalEncoder(("n1", "n2"), period=("hour", 2.5)),
        st.DateDifference("t1", "t2"),
        st.DateDifference("d", "t2", unit="days", output_column="age"),
        st.DateParts(("t1", "t2"), parts=(*of_date, "hour", "minute", "second")),
        st.DateParts("d", parts=of_date),
        st.DecodeImage("image", **pixels, mean=(0.1, 0.2, 0.3), std=(0.5, 0.4, 0.3)),
        st.DecodeImage("image", **pixels, mode="L", resize="stretch", scale=1.0, on_error="null"),
        st.ElementwiseProduct(("n1", "n2"), scaling_vec=(-2.5, 0)),
        st.VectorSlicer(("n1", "n2", "n3"), indices=(2, 0)),
        st.ListSlice(("words", "v_indices"), start=-3, end=-1),
        st.ListPad("words", length=4, value="-"),
        st.DropNulls(("n1", "s1")),
        st.DropNulls(("n1", "n2", "t1"), how="all"),
        st.EndTailImputer(("n1", "n2", "b")),
        st.EndTailImputer(("n2", "n3"), imputation_method="iqr", tail="left", fold=1.5),
        st.EndTailImputer(("n1", "n2"), imputation_method="max", output_columns=("p", "q")),
        st.Imputer(("n1", "n2", "b")),
        st.Imputer(("n1", "n2", "n3"), strategy="median", add_indicator=True),
        st.Imputer(("n1", "s1", "b"), strategy="mode", output_columns=("i", "s", "t")),
        st.Imputer(("n1", "n2"), strategy="constant", fill_value=-1),
        st.Imputer(("s1", "s2"), strategy="mode", missing_value="b", add_indicator=True),
        st.Imputer(("n1", "n2"), by="s1", add_indicator=True),
        st.Imputer(("n2", "n3"), by=("s1", "b"), strategy="median", output_columns=("p", "q")),
        st.Imputer(("n1", "s2", "n3"), by="b", strategy="mode"),
        st.MissingIndicator(("n1", "n2", "s1", "b", "t1")),
        st.CountVectorizer("words", vocab_size=4, min_df=2, min_tf=0.3),
        st.CountVectorizer("words", vocabulary=("b", "zz", "a")),
        st.HashingTF("words", num_features=5, output_columns=("tf",)),
        st.IDF("v", min_doc_freq=3, output_columns=("weighed",)),
        st.NGram("words", n=3, output_columns=("grams",)),
        st.StopWordsRemover("words", stop_words=("THE", "", "größe"), output_columns=("rest",)),
        st.TextLength(("s1", "s2"), measures=("characters", "words", "mean_word_length", "digits")),
        st.RegexTokenizer(("s1", "s2")),
        st.RegexTokenizer("s2", pattern=r"\w", gaps=False, to_lowercase=False, output_columns=("letters",)),
        st.Expect("n2 > 0.5", action="drop"),
        st.Expect("n1 is None or n1 < 15", action="quarantine"),
        st.Expect("b is None or n3 > -9"),
        st.Expect("n1 % 7 != 0 and n1 * 7 / 49 != 2", action="drop"),
        st.FunctionStage("penstock: sum of two", ("n1", "n2"), {"sum": "float64"}),
        st.Cast({"n1": "int8", "b": "float32", "d": "timestamp"}, errors="null"),
        st.Cast({"n1": "float64", "t1": "string"}, formats={"t1": "%d.%m.%Y %H:%M"}),
        st.Cast({"s2": "float64"}, errors="quarantine"),
        st.CleanText(("s1", "s2"), case="upper", empty_to_null=True),
        st.CleanText("s2", normalize=None, replace=(("[a-c]", "<$0>"),), collapse_whitespace=False, strip=False),
        st.Derive("n2 / (n1 * n1 + 1)", as_="ratio"),
        st.Derive("coalesce(n1, 0) if not b or n2 > 1 else None", as_="n1"),
        st.Derive("lower(s1)", as_="small"),
        st.Drop(("n1", "s2")),
        st.Rename({"n1": "count", "s1": "n1"}),
        st.Select(("s1", "id", "n1")),
    )


def _sum_of_two(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    first, second = (nw.col(name).cast(nw.Float64) for name in frame.columns)
    return frame.select(sum=first + second)


@functools.cache
def _training() -> Examples:
    # What a sample holds depends on the number of ranks, so that these draw none.
    all_of_them: dict[str, Any] = {
        "num_trees": 2,
        "max_depth": 2,
        "subsampling_rate": 1.0,
        "feature_subset_strategy": "all",
    }
    pairs: dict[str, Any] = {"objective": "rank:pairwise", "params": {"lambdarank_num_pair_per_sample": 200}}
    return (
        st.NaiveBayes("label", features=("n3", "y"), model_type="gaussian"),
        st.NaiveBayes("class", features=("n3", "y"), weight="w", model_type="gaussian", thresholds=(0.2, 0.5, 0.3)),
        st.NaiveBayes("class", features=("w", "label")),
        st.NaiveBayes("class", features=("w", "label"), model_type="complement"),
        st.NaiveBayes("class", features="label", model_type="bernoulli", smoothing=0.5),
        st.LinearDiscriminantAnalysis("label", features=("n3", "y")),
        st.LinearDiscriminantAnalysis(
            "class", features=("n3", "y", "label"), weight="w", shrinkage=0.2, priors=(0.2, 0.5, 0.3)
        ),
        st.LinearDiscriminantAnalysis("class", features=("n3", "w"), shrinkage="auto", thresholds=(0.2, 0.5, 0.3)),
        st.QuadraticDiscriminantAnalysis("label", features=("n3", "y")),
        st.QuadraticDiscriminantAnalysis("class", features=("n3", "y"), weight="w", reg_param=0.1),
        st.QuadraticDiscriminantAnalysis("class", features=("n3", "w"), shrinkage="oas"),
        st.GaussianMixture(("n3", "y"), k=2, seed=1),
        st.GaussianMixture(("n3", "y", "label"), k=3, weight="w", max_iter=5),
        st.KMeans(("n3", "y"), k=3, seed=1),
        st.KMeans(("n3", "y"), k=2, weight="w", tol=0.0),
        st.KMeans(("n3", "y"), k=2, init=((0.0, -1.0), (1.0, 1.0))),
        st.KMeans(("n3", "y", "w"), k=2, distance_measure="cosine", distance="distance"),
        st.GeneralizedLinearRegression("w", features=("label", "y"), offset="n3"),
        st.GeneralizedLinearRegression(
            "label", features=("n3", "w"), family="binomial", link_prediction="linkPrediction"
        ),
        st.GeneralizedLinearRegression("label", features=("n3", "y"), family="poisson", weight="w"),
        st.GeneralizedLinearRegression(
            "w", features=("n3", "label"), family="tweedie", variance_power=1.5, link_power=0.0
        ),
        st.IsotonicRegression("y", features="n3", weight="w"),
        st.IsotonicRegression("label", features="w", isotonic=False),
        st.IsotonicRegression("y", features="n3", num_bins=16),
        st.LinearRegression("y", features=("n3", "label", "w")),
        st.ProbabilityCalibrator("label", raw_prediction="n3", weight="w", thresholds=(0.6, 0.4)),
        st.ProbabilityCalibrator("label", raw_prediction="n3", method="isotonic", prediction=None),
        st.ThresholdTuner("label", probability="n3", weight="w", metric="f1"),
        st.ThresholdTuner("label", probability="n3", costs={"fp": 1.0, "fn": 2.5}, min_recall=0.3, num_bins=16),
        st.LinearRegression("y", features=("n3", "label"), weight="w", reg_param=0.1, elastic_net_param=0.5),
        st.LinearRegressionCV("y", features=("n3",), weight="w", reg_params=(0.0, 0.5), num_folds=2, fold="label"),
        st.LogisticRegression("label", features=("n3", "w")),
        st.LogisticRegression("class", features=("n3", "y"), weight="w", reg_param=0.1, thresholds=(0.2, 0.5, 0.3)),
        st.LogisticRegression("class", features=("n3", "w"), reg_param=0.1, class_weight="balanced"),
        st.LogisticRegression(
            "class", features=("n3", "y"), reg_param=0.05, elastic_net_param=0.5, standardization=False
        ),
        st.PerKey(st.StandardScaler(("n1", "n2")), by="s1"),
        st.PerKey(st.StringIndexer(("s1", "s2")), by=("b", "n1"), handle_invalid="keep"),
        st.PerKey(st.LinearRegression("y", features=("n3", "w")), by="s1"),
        st.PerKey(st.LinearRegression("y", features="n3", weight="w"), by="s1", handle_invalid="keep", errors="skip"),
        st.PerKey(st.XGBoostRegressor("y", features=("n1", "n2"), num_boost_round=2, max_depth=2), by="s1"),
        st.PerKey(st.NaiveBayes("label", features=("n3", "y"), model_type="gaussian"), by="b", errors="skip"),
        st.RandomForestClassifier("label", features=("n1", "n2"), **all_of_them),
        st.RandomForestClassifier(
            "class", features=("n1", "n3"), weight="w", thresholds=(0.2, 0.5, 0.3), **all_of_them
        ),
        st.RandomForestRegressor("y", features=("n1", "n2"), weight="w", **all_of_them),
        st.XGBoostClassifier("label", features=("n1", "n2", "b"), num_boost_round=3, max_depth=2, contributions=True),
        st.XGBoostClassifier(
            "class", features=("n1", "n3"), num_boost_round=2, max_depth=2, weight="w", thresholds=(2, 1, 0)
        ),
        st.XGBoostRanker("label", group="class", features=("n1", "n2"), num_boost_round=3, max_depth=2, **pairs),
        st.XGBoostRegressor("y", features=("n2", "v_indices", "v_values"), num_boost_round=3, max_depth=2, weight="w"),
    )


@functools.cache
def _sklearn() -> Examples:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.preprocessing import PolynomialFeatures

    boosted = HistGradientBoostingClassifier(max_iter=2, random_state=0)
    return (
        st.SklearnEstimator(boosted, "class", features=("n1", "n2", "b"), weight="w"),
        st.SklearnEstimator(PolynomialFeatures(include_bias=False), features=("n3", "y")),
    )


@functools.cache
def _cuml() -> Examples:
    """Return stages as a model that was saved has them: to make others takes cuML."""
    from penstock.stages.training.cuml._estimators import describe_as, entries

    def saved(name: str, text: str) -> dict[str, Any]:
        return describe_as(entries()[name], text).to_json()

    return (
        st.CumlEstimator(saved("KMeans", "KMeans(n_clusters=3)"), features=("n3", "y")),
        st.CumlEstimator(saved("SVC", "SVC()"), "label", features=("n3", "y"), weight="w", dtype="float64"),
    )


@functools.cache
def _spark_ml() -> Examples:
    """Return stages as a model that was saved has them: to make others takes Spark."""
    svc = {"featuresCol": "v_values", "labelCol": "label", "predictionCol": "p", "rawPredictionCol": "raw"}
    return (
        st.SparkMLEstimator({"name": "pyspark.ml.classification.LinearSVC", "params": svc, "columns": svc, "uid": ""}),
    )


@functools.cache
def _torch() -> Examples:
    return (
        st.TorchClassifier("label", features=("n3", "y"), module_options={"hidden": [4]}, epochs=2, batch_size=200),
        st.TorchClassifier(
            "class", features=("n3",), categories=("label",), module="tabular", weight="w", epochs=2, batch_size=200
        ),
        st.TorchRegressor(
            "y", features=("w",), categories=("label",), module="tabular", loss="huber", epochs=2, batch_size=200
        ),
    )


@functools.cache
def _inference() -> Examples:
    return (
        st.OnnxInference(("n1", "n2"), example("mean.onnx"), batch_size=16),
        st.TorchInference(("n1", "n2"), program=example("mean.pt2"), batch_size=16),
    )


_MAKE: Mapping[str, Callable[[], Examples]] = {
    "preprocessing": _preprocessing,
    "training.cuml": _cuml,
    "training.sklearn": _sklearn,
    "training.spark_ml": _spark_ml,
    "training.torch": _torch,
    "training": _training,
    "inference": _inference,
}
"""By where a stage is: what another family imports, PyTorch say, is not needed for the examples of this one."""
