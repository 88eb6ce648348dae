"""Every example of every stage on every table, on the stand-in for a GPU: run where this file is named."""

from __future__ import annotations

import pytest
import test_frames_gpu_contract as contract
from test_frames_gpu_contract import cpu, gpu, stand_in  # noqa: F401  # fixtures

from penstock.testing.cases import CASES
from penstock.testing.suite import shorthand

ASKED = {pair.id for pair in contract.PAIRS}
REST = [pair for stage in contract.STAGES for pair in contract.pairs(stage, CASES) if pair.id not in ASKED]


@pytest.mark.parametrize(("stage", "case"), REST)
def test_a_stage_gives_what_it_gives_on_a_cpu(stage, case, gpu, cpu):  # noqa: F811
    contract.test_a_stage_gives_what_it_gives_on_a_cpu(stage, case, gpu, cpu)


OTHERS = [each for each in contract.STAGES if each not in contract.UNTRAINED]


@pytest.mark.parametrize("stage", OTHERS, ids=shorthand)
def test_a_stage_declares_what_a_gpu_makes(stage, gpu):  # noqa: F811
    contract.test_a_stage_declares_what_a_gpu_makes(stage, gpu)
