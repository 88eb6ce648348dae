"""Every stage of the library by name; the module of a stage is imported when the stage is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.lazy_imports import lazy_imports

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
    from penstock.stages.preprocessing.binning.binarizer import Binarizer as Binarizer
    from penstock.stages.preprocessing.binning.bucketizer import Bucketizer as Bucketizer
    from penstock.stages.preprocessing.binning.kbins_discretizer import KBinsDiscretizer as KBinsDiscretizer
    from penstock.stages.preprocessing.binning.quantile_discretizer import QuantileDiscretizer as QuantileDiscretizer
    from penstock.stages.preprocessing.categories.count_encoder import CountEncoder as CountEncoder
    from penstock.stages.preprocessing.categories.feature_hasher import FeatureHasher as FeatureHasher
    from penstock.stages.preprocessing.categories.group_statistics import GroupStatistics as GroupStatistics
    from penstock.stages.preprocessing.categories.hash_bucket import HashBucket as HashBucket
    from penstock.stages.preprocessing.categories.hashed_cross import HashedCross as HashedCross
    from penstock.stages.preprocessing.categories.index_to_string import IndexToString as IndexToString
    from penstock.stages.preprocessing.categories.multi_hot import MultiHot as MultiHot
    from penstock.stages.preprocessing.categories.one_hot_encoder import OneHotEncoder as OneHotEncoder
    from penstock.stages.preprocessing.categories.string_indexer import StringIndexer as StringIndexer
    from penstock.stages.preprocessing.categories.target_encoder import TargetEncoder as TargetEncoder
    from penstock.stages.preprocessing.categories.weight_of_evidence_encoder import (
        WeightOfEvidenceEncoder as WeightOfEvidenceEncoder,
    )
    from penstock.stages.preprocessing.dates.cyclical_encoder import CyclicalEncoder as CyclicalEncoder
    from penstock.stages.preprocessing.dates.date_difference import DateDifference as DateDifference
    from penstock.stages.preprocessing.dates.date_parts import DateParts as DateParts
    from penstock.stages.preprocessing.derive import Derive as Derive
    from penstock.stages.preprocessing.expect import Expect as Expect
    from penstock.stages.preprocessing.function_stage import FunctionStage as FunctionStage
    from penstock.stages.preprocessing.images.decode_image import DecodeImage as DecodeImage
    from penstock.stages.preprocessing.lists.list_slice import ListPad as ListPad
    from penstock.stages.preprocessing.lists.list_slice import ListSlice as ListSlice
    from penstock.stages.preprocessing.missing.drop_nulls import DropNulls as DropNulls
    from penstock.stages.preprocessing.missing.end_tail_imputer import EndTailImputer as EndTailImputer
    from penstock.stages.preprocessing.missing.imputer import Imputer as Imputer
    from penstock.stages.preprocessing.missing.missing_indicator import MissingIndicator as MissingIndicator
    from penstock.stages.preprocessing.numeric.arcsinh import Arcsinh as Arcsinh
    from penstock.stages.preprocessing.numeric.clip import Clip as Clip
    from penstock.stages.preprocessing.numeric.drop_mahalanobis_outliers import (
        DropMahalanobisOutliers as DropMahalanobisOutliers,
    )
    from penstock.stages.preprocessing.numeric.drop_outliers import DropOutliers as DropOutliers
    from penstock.stages.preprocessing.numeric.haversine_distance import HaversineDistance as HaversineDistance
    from penstock.stages.preprocessing.numeric.interaction import Interaction as Interaction
    from penstock.stages.preprocessing.numeric.log import Log as Log
    from penstock.stages.preprocessing.numeric.log1p import Log1p as Log1p
    from penstock.stages.preprocessing.numeric.mahalanobis_distance import MahalanobisDistance as MahalanobisDistance
    from penstock.stages.preprocessing.numeric.polynomial_expansion import PolynomialExpansion as PolynomialExpansion
    from penstock.stages.preprocessing.numeric.power import Power as Power
    from penstock.stages.preprocessing.numeric.power import Sqrt as Sqrt
    from penstock.stages.preprocessing.numeric.power_transformer import PowerTransformer as PowerTransformer
    from penstock.stages.preprocessing.numeric.quantile_transformer import QuantileTransformer as QuantileTransformer
    from penstock.stages.preprocessing.numeric.reduce_dtypes import ReduceDtypes as ReduceDtypes
    from penstock.stages.preprocessing.numeric.winsorizer import Winsorizer as Winsorizer
    from penstock.stages.preprocessing.projection.pca import PCA as PCA
    from penstock.stages.preprocessing.projection.truncated_svd import TruncatedSVD as TruncatedSVD
    from penstock.stages.preprocessing.scaling.group_scaler import GroupScaler as GroupScaler
    from penstock.stages.preprocessing.scaling.max_abs_scaler import MaxAbsScaler as MaxAbsScaler
    from penstock.stages.preprocessing.scaling.min_max_scaler import MinMaxScaler as MinMaxScaler
    from penstock.stages.preprocessing.scaling.normalizer import Normalizer as Normalizer
    from penstock.stages.preprocessing.scaling.robust_scaler import RobustScaler as RobustScaler
    from penstock.stages.preprocessing.scaling.standard_scaler import StandardScaler as StandardScaler
    from penstock.stages.preprocessing.schema.cast import Cast as Cast
    from penstock.stages.preprocessing.schema.rename import Rename as Rename
    from penstock.stages.preprocessing.schema.select import Drop as Drop
    from penstock.stages.preprocessing.schema.select import Select as Select
    from penstock.stages.preprocessing.selection.correlation_selector import CorrelationSelector as CorrelationSelector
    from penstock.stages.preprocessing.selection.psi_selector import PSISelector as PSISelector
    from penstock.stages.preprocessing.selection.stepwise_selector import StepwiseSelector as StepwiseSelector
    from penstock.stages.preprocessing.selection.univariate_feature_selector import (
        UnivariateFeatureSelector as UnivariateFeatureSelector,
    )
    from penstock.stages.preprocessing.selection.variance_inflation_selector import (
        VarianceInflationSelector as VarianceInflationSelector,
    )
    from penstock.stages.preprocessing.selection.variance_threshold_selector import (
        VarianceThresholdSelector as VarianceThresholdSelector,
    )
    from penstock.stages.preprocessing.text.clean_text import CleanText as CleanText
    from penstock.stages.preprocessing.text.count_vectorizer import CountVectorizer as CountVectorizer
    from penstock.stages.preprocessing.text.hashing_tf import HashingTF as HashingTF
    from penstock.stages.preprocessing.text.idf import IDF as IDF
    from penstock.stages.preprocessing.text.ngram import NGram as NGram
    from penstock.stages.preprocessing.text.stop_words_remover import StopWordsRemover as StopWordsRemover
    from penstock.stages.preprocessing.text.text_length import TextLength as TextLength
    from penstock.stages.preprocessing.text.tokenizer import RegexTokenizer as RegexTokenizer
    from penstock.stages.preprocessing.text.tokenizer import Tokenizer as Tokenizer
    from penstock.stages.preprocessing.vectors.elementwise_product import ElementwiseProduct as ElementwiseProduct
    from penstock.stages.preprocessing.vectors.vector_assembler import VectorAssembler as VectorAssembler
    from penstock.stages.preprocessing.vectors.vector_assembler import VectorSlicer as VectorSlicer
    from penstock.stages.training.bayes.naive_bayes import NaiveBayes as NaiveBayes
    from penstock.stages.training.calibration.isotonic_regression import IsotonicRegression as IsotonicRegression
    from penstock.stages.training.calibration.probability_calibrator import (
        ProbabilityCalibrator as ProbabilityCalibrator,
    )
    from penstock.stages.training.calibration.threshold_tuner import ThresholdTuner as ThresholdTuner
    from penstock.stages.training.clustering.gaussian_mixture import GaussianMixture as GaussianMixture
    from penstock.stages.training.clustering.kmeans import KMeans as KMeans
    from penstock.stages.training.cuml.cuml_estimator import CumlEstimator as CumlEstimator
    from penstock.stages.training.discriminant.linear_discriminant_analysis import (
        LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
    )
    from penstock.stages.training.discriminant.quadratic_discriminant_analysis import (
        QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
    )
    from penstock.stages.training.linear.generalized_linear_regression import (
        GeneralizedLinearRegression as GeneralizedLinearRegression,
    )
    from penstock.stages.training.linear.linear_regression import LinearRegression as LinearRegression
    from penstock.stages.training.linear.linear_regression_cv import LinearRegressionCV as LinearRegressionCV
    from penstock.stages.training.linear.logistic_regression import LogisticRegression as LogisticRegression
    from penstock.stages.training.per_key.per_key import PerKey as PerKey
    from penstock.stages.training.sklearn.sklearn_estimator import SklearnEstimator as SklearnEstimator
    from penstock.stages.training.spark_ml.spark_ml_estimator import SparkMLEstimator as SparkMLEstimator
    from penstock.stages.training.torch.torch_classifier import TorchClassifier as TorchClassifier
    from penstock.stages.training.torch.torch_regressor import TorchRegressor as TorchRegressor
    from penstock.stages.training.trees.random_forest import RandomForestClassifier as RandomForestClassifier
    from penstock.stages.training.trees.random_forest import RandomForestRegressor as RandomForestRegressor
    from penstock.stages.training.trees.xgboost_classifier import XGBoostClassifier as XGBoostClassifier
    from penstock.stages.training.trees.xgboost_ranker import XGBoostRanker as XGBoostRanker
    from penstock.stages.training.trees.xgboost_regressor import XGBoostRegressor as XGBoostRegressor

__getattr__, __dir__, __all__ = lazy_imports(__name__)
