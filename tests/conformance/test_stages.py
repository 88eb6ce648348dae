"""Every stage of the library through the suite that is shipped, and against a closed form or another library.

A test is a class of stages, a sub-test one check of one example. Of checks that
fit a stage again, and of stages on clusters, a sample is drawn; ``exhaustive.py`` runs all others.
"""

import pytest
from stage_checks import KINDS, each_stage, in_process, on_clusters
from timed_subtests import run_checks

from penstock import stages as st

ELSEWHERE = {
    st.CumlEstimator: "it is fitted on a GPU: what becomes of scikit-learn's estimators is held to these"
    " in tests/stages/training/test_cuml.py",
    st.GaussianMixture: "the number of a component means nothing to another library: parameters are held to"
    " scikit-learn's in tests/stages/training/test_gaussian_mixture.py",
    st.KMeans: "the number of a cluster means nothing to another library: centres and costs are held to scikit-learn's"
    " and MLlib's in tests/stages/training/test_kmeans.py",
    st.LinearRegressionCV: "scikit-learn fits every model of every fold in tests/stages/training/test_linear_cv.py",
    st.LogisticRegression: "coefficients are held to scikit-learn's and MLlib's"
    " in tests/stages/training/test_logistic.py",
    st.PowerTransformer: "lambdas agree with SciPy's as far as those are exact, to about 1e-8:"
    " tests/stages/preprocessing/test_power_transformer.py",
    st.SparkMLEstimator: "Spark fits it and scores: it is held to Spark ML itself in tests/engines/test_spark_ml.py",
    st.TorchClassifier: "weights are held to NumPy's and PyTorch's own in tests/stages/training/test_torch.py",
    st.TorchRegressor: "weights are held to NumPy's and PyTorch's own in tests/stages/training/test_torch.py",
}


@each_stage
def test_a_stage_in_one_process(name, subtests, here, request):
    run_checks(in_process(name, fast=request.config.option.fast), here, subtests)


@pytest.mark.one_cluster
@each_stage
def test_a_stage_on_a_cluster(name, subtests, distributed_engine):
    checks = on_clusters(name)
    if not checks:
        pytest.skip(f"no check of {name} is about an engine")
    run_checks(checks, distributed_engine, subtests)


def test_every_stage_has_an_oracle():
    from oracles import ORACLES

    assert set(KINDS.values()) == {*ORACLES, *ELSEWHERE}
