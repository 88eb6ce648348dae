"""The estimators of cuML, by `tools/cuml_table.py`, which `make check-gpu` has compare them with cuML.

Of each: its name below ``cuml``; what it is; the methods that score rows it was not fitted on; the argument of `fit`
for weights; whether `fit` takes no label, one, or several; its twin on a CPU; how what it learns is kept; and the class
that fits it on several GPUs, itself where it can.
"""

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
