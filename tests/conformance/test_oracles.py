"""Every stage against a closed form or another library, of ordinary and of hostile data."""

from __future__ import annotations

import pytest
from demanding import demand_all
from grouping import EXAMPLES, by_class
from oracles import ORACLES

from penstock import stages as st
from penstock.testing import checks_for
from penstock.testing.trials import home

CHECKS = [
    check
    for stage in EXAMPLES
    for check in checks_for(stage, ORACLES.get(type(stage)))
    if check.name.startswith("check_oracle")
]


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


def test_every_stage_has_an_oracle():
    assert {type(stage) for stage in EXAMPLES} == {*ORACLES, *ELSEWHERE}


@pytest.mark.parametrize("checks", by_class(CHECKS))
def test_what_comes_out_is_what_the_oracle_says(checks, local):
    demand_all(checks, home(local.kind))  # the others give what this process gives: test_stages.py
