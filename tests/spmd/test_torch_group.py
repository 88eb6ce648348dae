"""The group that ranks of PyTorch form, also in a process in which one was not formed before."""

import multiprocessing
from types import SimpleNamespace
from typing import Any

import pytest

HOST = "127.0.0.1"


def rank(index: int, timeout: float, gathered: Any) -> Any:
    return SimpleNamespace(index=index, size=2, timeout=timeout, host=HOST, gather=gathered)


def join(address: Any) -> None:
    """Be rank 1 of a group, in a process that has been in none before."""
    import torch
    import torch.distributed as dist

    from penstock.stages.training.torch import _group

    _group._form(rank(1, 120.0, lambda _: [address.get(timeout=120)]), torch.device("cpu"))
    dist.destroy_process_group()


@pytest.mark.slow
@pytest.mark.faults
def test_ranks_find_each_other_after_a_group_that_was_not_formed() -> None:
    import torch
    import torch.distributed as dist

    from penstock.stages.training.torch import _group

    with pytest.raises(dist.DistStoreError):
        _group._form(rank(0, 1.0, lambda _: None), torch.device("cpu"))  # nobody comes
    context = multiprocessing.get_context("spawn")
    address = context.Queue()
    other = context.Process(target=join, args=(address,), daemon=True)
    other.start()
    try:
        _group._form(rank(0, 120.0, address.put), torch.device("cpu"))
        assert dist.get_world_size() == 2
        dist.destroy_process_group()
    finally:
        other.join(30)
        other.kill()
