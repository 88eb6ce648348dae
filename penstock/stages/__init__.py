"""Every stage of the library by name; the module of a stage is imported when the stage is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.stages.evaluation.binary import BinaryClassificationEvaluator as BinaryClassificationEvaluator
    from penstock.stages.evaluation.clustering import ClusteringEvaluator as ClusteringEvaluator
    from penstock.stages.evaluation.multiclass import (
        MulticlassClassificationEvaluator as MulticlassClassificationEvaluator,
    )
    from penstock.stages.evaluation.multilabel import (
        MultilabelClassificationEvaluator as MultilabelClassificationEvaluator,
    )
    from penstock.stages.evaluation.ranking import RankingEvaluator as RankingEvaluator
    from penstock.stages.evaluation.regression import RegressionEvaluator as RegressionEvaluator
    from penstock.stages.inference.onnx import OnnxInference as OnnxInference
    from penstock.stages.inference.torch import TorchInference as TorchInference
    from penstock.stages.preprocessing.arcsinh import Arcsinh as Arcsinh
    from penstock.stages.preprocessing.binarizer import Binarizer as Binarizer
    from penstock.stages.preprocessing.bucketizer import Bucketizer as Bucketizer
    from penstock.stages.preprocessing.clip import Clip as Clip
    from penstock.stages.preprocessing.correlation_selector import CorrelationSelector as CorrelationSelector
    from penstock.stages.preprocessing.count_encoder import CountEncoder as CountEncoder
    from penstock.stages.preprocessing.count_vectorizer import CountVectorizer as CountVectorizer
    from penstock.stages.preprocessing.cyclical_encoder import CyclicalEncoder as CyclicalEncoder
    from penstock.stages.preprocessing.date_difference import DateDifference as DateDifference
    from penstock.stages.preprocessing.date_parts import DateParts as DateParts
    from penstock.stages.preprocessing.drop_nulls import DropNulls as DropNulls
    from penstock.stages.preprocessing.drop_outliers import DropOutliers as DropOutliers
    from penstock.stages.preprocessing.end_tail_imputer import EndTailImputer as EndTailImputer
    from penstock.stages.preprocessing.expect import Expect as Expect
    from penstock.stages.preprocessing.feature_hasher import FeatureHasher as FeatureHasher
    from penstock.stages.preprocessing.function import FunctionStage as FunctionStage
    from penstock.stages.preprocessing.group_scaler import GroupScaler as GroupScaler
    from penstock.stages.preprocessing.group_statistics import GroupStatistics as GroupStatistics
    from penstock.stages.preprocessing.hash_bucket import HashBucket as HashBucket
    from penstock.stages.preprocessing.hashed_cross import HashedCross as HashedCross
    from penstock.stages.preprocessing.hashing_tf import HashingTF as HashingTF
    from penstock.stages.preprocessing.haversine_distance import HaversineDistance as HaversineDistance
    from penstock.stages.preprocessing.idf import IDF as IDF
    from penstock.stages.preprocessing.image import DecodeImage as DecodeImage
    from penstock.stages.preprocessing.imputer import Imputer as Imputer
    from penstock.stages.preprocessing.index_to_string import IndexToString as IndexToString
    from penstock.stages.preprocessing.indexer import StringIndexer as StringIndexer
    from penstock.stages.preprocessing.interaction import Interaction as Interaction
    from penstock.stages.preprocessing.kbins_discretizer import KBinsDiscretizer as KBinsDiscretizer
    from penstock.stages.preprocessing.list_slice import ListPad as ListPad
    from penstock.stages.preprocessing.list_slice import ListSlice as ListSlice
    from penstock.stages.preprocessing.log import Log as Log
    from penstock.stages.preprocessing.log1p import Log1p as Log1p
    from penstock.stages.preprocessing.max_abs_scaler import MaxAbsScaler as MaxAbsScaler
    from penstock.stages.preprocessing.min_max_scaler import MinMaxScaler as MinMaxScaler
    from penstock.stages.preprocessing.missing_indicator import MissingIndicator as MissingIndicator
    from penstock.stages.preprocessing.multi_hot import MultiHot as MultiHot
    from penstock.stages.preprocessing.ngram import NGram as NGram
    from penstock.stages.preprocessing.normalizer import Normalizer as Normalizer
    from penstock.stages.preprocessing.one_hot import OneHotEncoder as OneHotEncoder
    from penstock.stages.preprocessing.pca import PCA as PCA
    from penstock.stages.preprocessing.polynomial_expansion import PolynomialExpansion as PolynomialExpansion
    from penstock.stages.preprocessing.power import Power as Power
    from penstock.stages.preprocessing.power import Sqrt as Sqrt
    from penstock.stages.preprocessing.power_transformer import PowerTransformer as PowerTransformer
    from penstock.stages.preprocessing.psi_selector import PSISelector as PSISelector
    from penstock.stages.preprocessing.quantile_discretizer import QuantileDiscretizer as QuantileDiscretizer
    from penstock.stages.preprocessing.quantile_transformer import QuantileTransformer as QuantileTransformer
    from penstock.stages.preprocessing.reduce_dtypes import ReduceDtypes as ReduceDtypes
    from penstock.stages.preprocessing.robust_scaler import RobustScaler as RobustScaler
    from penstock.stages.preprocessing.scaler import StandardScaler as StandardScaler
    from penstock.stages.preprocessing.stop_words import StopWordsRemover as StopWordsRemover
    from penstock.stages.preprocessing.target_encoder import TargetEncoder as TargetEncoder
    from penstock.stages.preprocessing.text_length import TextLength as TextLength
    from penstock.stages.preprocessing.tokenizer import RegexTokenizer as RegexTokenizer
    from penstock.stages.preprocessing.tokenizer import Tokenizer as Tokenizer
    from penstock.stages.preprocessing.truncated_svd import TruncatedSVD as TruncatedSVD
    from penstock.stages.preprocessing.univariate_feature_selector import (
        UnivariateFeatureSelector as UnivariateFeatureSelector,
    )
    from penstock.stages.preprocessing.variance_threshold_selector import (
        VarianceThresholdSelector as VarianceThresholdSelector,
    )
    from penstock.stages.preprocessing.weight_of_evidence_encoder import (
        WeightOfEvidenceEncoder as WeightOfEvidenceEncoder,
    )
    from penstock.stages.preprocessing.winsorizer import Winsorizer as Winsorizer
    from penstock.stages.training.forest import RandomForestClassifier as RandomForestClassifier
    from penstock.stages.training.forest import RandomForestRegressor as RandomForestRegressor
    from penstock.stages.training.gaussian_mixture import GaussianMixture as GaussianMixture
    from penstock.stages.training.generalized_linear import GeneralizedLinearRegression as GeneralizedLinearRegression
    from penstock.stages.training.kmeans import KMeans as KMeans
    from penstock.stages.training.linear import LinearRegression as LinearRegression
    from penstock.stages.training.linear_cv import LinearRegressionCV as LinearRegressionCV
    from penstock.stages.training.logistic import LogisticRegression as LogisticRegression
    from penstock.stages.training.naive_bayes import NaiveBayes as NaiveBayes
    from penstock.stages.training.ranker import XGBoostRanker as XGBoostRanker
    from penstock.stages.training.sklearn import SklearnEstimator as SklearnEstimator
    from penstock.stages.training.torch import TorchClassifier as TorchClassifier
    from penstock.stages.training.torch import TorchRegressor as TorchRegressor
    from penstock.stages.training.xgboost import XGBoostClassifier as XGBoostClassifier
    from penstock.stages.training.xgboost import XGBoostRegressor as XGBoostRegressor

_MODULES = {
    "Arcsinh": "penstock.stages.preprocessing.arcsinh",
    "Binarizer": "penstock.stages.preprocessing.binarizer",
    "BinaryClassificationEvaluator": "penstock.stages.evaluation.binary",
    "Bucketizer": "penstock.stages.preprocessing.bucketizer",
    "Clip": "penstock.stages.preprocessing.clip",
    "ClusteringEvaluator": "penstock.stages.evaluation.clustering",
    "CorrelationSelector": "penstock.stages.preprocessing.correlation_selector",
    "CountEncoder": "penstock.stages.preprocessing.count_encoder",
    "CountVectorizer": "penstock.stages.preprocessing.count_vectorizer",
    "CyclicalEncoder": "penstock.stages.preprocessing.cyclical_encoder",
    "DateDifference": "penstock.stages.preprocessing.date_difference",
    "DateParts": "penstock.stages.preprocessing.date_parts",
    "DecodeImage": "penstock.stages.preprocessing.image",
    "DropNulls": "penstock.stages.preprocessing.drop_nulls",
    "DropOutliers": "penstock.stages.preprocessing.drop_outliers",
    "EndTailImputer": "penstock.stages.preprocessing.end_tail_imputer",
    "Expect": "penstock.stages.preprocessing.expect",
    "FeatureHasher": "penstock.stages.preprocessing.feature_hasher",
    "FunctionStage": "penstock.stages.preprocessing.function",
    "GaussianMixture": "penstock.stages.training.gaussian_mixture",
    "GeneralizedLinearRegression": "penstock.stages.training.generalized_linear",
    "GroupScaler": "penstock.stages.preprocessing.group_scaler",
    "GroupStatistics": "penstock.stages.preprocessing.group_statistics",
    "HashBucket": "penstock.stages.preprocessing.hash_bucket",
    "HashedCross": "penstock.stages.preprocessing.hashed_cross",
    "HashingTF": "penstock.stages.preprocessing.hashing_tf",
    "HaversineDistance": "penstock.stages.preprocessing.haversine_distance",
    "IDF": "penstock.stages.preprocessing.idf",
    "Imputer": "penstock.stages.preprocessing.imputer",
    "IndexToString": "penstock.stages.preprocessing.index_to_string",
    "Interaction": "penstock.stages.preprocessing.interaction",
    "KBinsDiscretizer": "penstock.stages.preprocessing.kbins_discretizer",
    "KMeans": "penstock.stages.training.kmeans",
    "LinearRegression": "penstock.stages.training.linear",
    "LinearRegressionCV": "penstock.stages.training.linear_cv",
    "ListPad": "penstock.stages.preprocessing.list_slice",
    "ListSlice": "penstock.stages.preprocessing.list_slice",
    "Log": "penstock.stages.preprocessing.log",
    "Log1p": "penstock.stages.preprocessing.log1p",
    "LogisticRegression": "penstock.stages.training.logistic",
    "MaxAbsScaler": "penstock.stages.preprocessing.max_abs_scaler",
    "MinMaxScaler": "penstock.stages.preprocessing.min_max_scaler",
    "MissingIndicator": "penstock.stages.preprocessing.missing_indicator",
    "MultiHot": "penstock.stages.preprocessing.multi_hot",
    "MulticlassClassificationEvaluator": "penstock.stages.evaluation.multiclass",
    "MultilabelClassificationEvaluator": "penstock.stages.evaluation.multilabel",
    "NGram": "penstock.stages.preprocessing.ngram",
    "NaiveBayes": "penstock.stages.training.naive_bayes",
    "Normalizer": "penstock.stages.preprocessing.normalizer",
    "OneHotEncoder": "penstock.stages.preprocessing.one_hot",
    "OnnxInference": "penstock.stages.inference.onnx",
    "PCA": "penstock.stages.preprocessing.pca",
    "PSISelector": "penstock.stages.preprocessing.psi_selector",
    "PolynomialExpansion": "penstock.stages.preprocessing.polynomial_expansion",
    "Power": "penstock.stages.preprocessing.power",
    "PowerTransformer": "penstock.stages.preprocessing.power_transformer",
    "QuantileDiscretizer": "penstock.stages.preprocessing.quantile_discretizer",
    "QuantileTransformer": "penstock.stages.preprocessing.quantile_transformer",
    "RandomForestClassifier": "penstock.stages.training.forest",
    "RandomForestRegressor": "penstock.stages.training.forest",
    "RankingEvaluator": "penstock.stages.evaluation.ranking",
    "ReduceDtypes": "penstock.stages.preprocessing.reduce_dtypes",
    "RegexTokenizer": "penstock.stages.preprocessing.tokenizer",
    "RegressionEvaluator": "penstock.stages.evaluation.regression",
    "RobustScaler": "penstock.stages.preprocessing.robust_scaler",
    "SklearnEstimator": "penstock.stages.training.sklearn",
    "Sqrt": "penstock.stages.preprocessing.power",
    "StandardScaler": "penstock.stages.preprocessing.scaler",
    "StopWordsRemover": "penstock.stages.preprocessing.stop_words",
    "StringIndexer": "penstock.stages.preprocessing.indexer",
    "TargetEncoder": "penstock.stages.preprocessing.target_encoder",
    "TextLength": "penstock.stages.preprocessing.text_length",
    "Tokenizer": "penstock.stages.preprocessing.tokenizer",
    "TorchClassifier": "penstock.stages.training.torch",
    "TorchInference": "penstock.stages.inference.torch",
    "TorchRegressor": "penstock.stages.training.torch",
    "TruncatedSVD": "penstock.stages.preprocessing.truncated_svd",
    "UnivariateFeatureSelector": "penstock.stages.preprocessing.univariate_feature_selector",
    "VarianceThresholdSelector": "penstock.stages.preprocessing.variance_threshold_selector",
    "WeightOfEvidenceEncoder": "penstock.stages.preprocessing.weight_of_evidence_encoder",
    "Winsorizer": "penstock.stages.preprocessing.winsorizer",
    "XGBoostClassifier": "penstock.stages.training.xgboost",
    "XGBoostRanker": "penstock.stages.training.ranker",
    "XGBoostRegressor": "penstock.stages.training.xgboost",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
