"""Every stage against a closed form or another library, of ordinary and of hostile data, on each engine and device."""

from __future__ import annotations

import pytest
from oracles import ORACLES

from penstock.testing import checks_for, discover_examples

EXAMPLES = discover_examples()
CHECKS = [
    check
    for stage in EXAMPLES
    for check in checks_for(stage, ORACLES.get(type(stage)))
    if check.name.startswith("check_oracle")
]


def test_every_stage_has_an_oracle():
    assert {type(stage) for stage in EXAMPLES} == set(ORACLES)


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_what_comes_out_is_what_the_oracle_says(check, engine):
    check(engine)
