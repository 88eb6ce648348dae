"""Every stage against a closed form or another library, of ordinary and of hostile data, on each engine and device."""

from __future__ import annotations

import pytest
from oracles import ORACLES

from penstock import stages as st
from penstock.testing import checks_for, discover_examples

EXAMPLES = discover_examples()
CHECKS = [
    check
    for stage in EXAMPLES
    for check in checks_for(stage, ORACLES.get(type(stage)))
    if check.name.startswith("check_oracle")
]


ELSEWHERE = {
    st.KMeans: "the number of a cluster means nothing to another library: centres and costs are held to scikit-learn's"
    " and MLlib's in tests/stages/training/test_kmeans.py",
    st.LogisticRegression: "coefficients are held to scikit-learn's and MLlib's"
    " in tests/stages/training/test_logistic.py",
}


def test_every_stage_has_an_oracle():
    assert {type(stage) for stage in EXAMPLES} == {*ORACLES, *ELSEWHERE}


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_what_comes_out_is_what_the_oracle_says(check, engine):
    check(engine)
