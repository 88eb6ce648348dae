"""Every example of every stage on every table, on the stand-in for a GPU: run where this file is named."""

import test_frames_gpu_contract as contract
from test_frames_gpu_contract import cpu, gpu, stand_in  # noqa: F401  # fixtures

pytestmark = contract.pytestmark


@contract.each_kind
def test_a_stage_gives_what_it_gives_on_a_cpu(name, gpu, cpu, subtests):  # noqa: F811
    contract.demand(name, gpu, cpu, subtests, rest=True)
