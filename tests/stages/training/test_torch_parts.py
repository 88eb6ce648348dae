"""The parts of a training by themselves: the order of rows, the learning rates, packed states."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from penstock.stages.modules import make_for_weights
from penstock.stages.training.torch._loop import Order, round_keys, shuffled

# The order of rows


def sets(total: int, ranks: int, *, size: int = 7, epoch: int = 3, seed: int = 5) -> list[set[int]]:
    """Return the rows of each batch, by their numbers, put together from all ranks."""
    bounds = [total * rank // ranks for rank in range(ranks + 1)]
    parts = [
        [begin + batch for batch in Order(seed, total, begin, end, size).batches(epoch)]
        for begin, end in itertools.pairwise(bounds)
    ]
    return [set(np.concatenate(batch).tolist()) for batch in zip(*parts, strict=True)]


def test_batches_are_whole_and_hold_every_row_once() -> None:
    for total in (1, 6, 7, 8, 100, 5041):
        found = sets(total, 1)
        assert [len(batch) for batch in found] == [7] * (total // 7) + [total % 7] * (total % 7 > 0)
        assert set.union(*found) == set(range(total))


def test_a_batch_is_the_same_set_of_rows_for_any_number_of_ranks() -> None:
    assert sets(100, 2) == sets(100, 3) == sets(100, 11) == sets(100, 1)


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    first = sets(100, 1)
    assert sets(100, 1, epoch=4) != first != sets(100, 1, seed=6)


@pytest.mark.thorough
def test_each_row_comes_at_each_place_as_often() -> None:
    numbers, epochs = np.arange(12, dtype=np.uint64), 1000
    counts = np.zeros((12, 12))
    for epoch in range(epochs):
        counts[numbers, shuffled(numbers, 12, round_keys(1, epoch))] += 1
    spread = (counts - epochs / 12) / np.sqrt(epochs / 12)
    assert np.abs(spread).max() < 5  # of 144 counts, each about normal


def test_neighbours_are_torn_apart() -> None:
    numbers = np.arange(20_000, dtype=np.uint64)
    places = shuffled(numbers, 20_000, round_keys(1, epoch=0)).astype(np.int64)
    together = np.mean(places[1:] // 200 == places[:-1] // 200)
    assert together == pytest.approx(1 / 100, abs=0.004)
    assert abs(np.corrcoef(numbers, places)[0, 1]) < 0.03


# Learning rates


def test_schedules_are_those_of_pytorch(subtests: Any) -> None:
    from torch import optim, zeros

    from penstock.stages.training.torch._optimisers import Rates

    def theirs(name: str, plain: Any, updates: int, epochs: int) -> Any:
        total, schedulers = updates * epochs, optim.lr_scheduler
        if name == "cosine":
            return schedulers.CosineAnnealingLR(plain, total)
        if name == "step":
            return schedulers.StepLR(plain, 2 * updates, 0.5)
        return schedulers.OneCycleLR(plain, 0.3, total_steps=total, cycle_momentum=False)

    sizes = [(7, 5), (1, 3), (2, 1), (1, 1)]
    for name, (updates, epochs) in itertools.product(["cosine", "step", "one_cycle"], sizes):
        plain = optim.SGD([zeros(1, requires_grad=True)], lr=0.3)
        scheduler, rates = theirs(name, plain, updates, epochs), Rates(name, 0.3, updates, epochs, 2, 0.5)
        with subtests.test(name, updates=updates, epochs=epochs):
            for number in range(updates * epochs):
                assert rates.of(number) == pytest.approx(plain.param_groups[0]["lr"], rel=1e-12)
                plain.step()
                if number + 1 < updates * epochs:
                    scheduler.step()


# States


def test_the_state_of_an_optimiser_survives_bytes() -> None:
    import torch

    from penstock.stages.training.torch._state import pack, unpack

    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = torch.optim.AdamW([weight], lr=0.1)
    (weight**2).sum().backward()
    optimiser.step()
    found = unpack(pack(optimiser.state_dict()))
    again = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(2))])
    again.load_state_dict(found)
    expected = optimiser.state_dict()
    assert found["param_groups"][0]["lr"] == expected["param_groups"][0]["lr"] == 0.1
    for name, value in expected["state"][0].items():
        torch.testing.assert_close(again.state_dict()["state"][0][name], value, rtol=0, atol=0)


def test_states_are_stored_without_pickle() -> None:
    import torch

    from penstock.stages.training.torch._state import pack, unpack

    shared = torch.ones(2)
    packed = pack({"one": shared, "other": shared, "sums": [0.1, 2**60], "none": None})
    document, _, tensors = packed.partition(b"\n")
    assert document.startswith(b'{"pairs"')
    assert tensors[8:9] == b"{"  # the header of safetensors
    assert unpack(packed)["sums"] == [0.1, 2**60]


# Modules for weights from a file


def test_threads_that_make_modules_leave_random_numbers_as_they_were() -> None:
    import torch

    def slow() -> torch.nn.Module:
        made = torch.nn.Linear(3, 2)
        time.sleep(0.02)  # so that threads meet; whatever their order, the numbers are left alone
        return made

    before = torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: make_for_weights(slow, {}), range(8)))
    assert len(made) == 8
    assert torch.equal(torch.get_rng_state(), before)
