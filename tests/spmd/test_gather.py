"""What every rank gives comes to all of them, by way of the coordinator."""

import threading
from typing import Any

import numpy as np
import pytest
from spmd.rank_threads import Threads, run
from test_channel import arrival, hear, place

from penstock.dataset import Dataset
from penstock.errors import WorkerLostError
from penstock.spmd import Rank, SpmdOptions
from penstock.spmd import messages as m
from penstock.spmd.listener import Listener
from penstock.spmd.worker import Channel, is_lost_peer


def test_every_rank_knows_what_each_gave_in_their_order(data: dict[str, Dataset]) -> None:
    known: dict[int, Any] = {}

    def body(rank: Rank) -> None:
        known[rank.index] = [rank.gather(("first", rank.index)), rank.gather(rank.index**2)]

    run(Threads(), body, data, size=3)
    expected = [[("first", 0), ("first", 1), ("first", 2)], [0, 1, 4]]
    assert known == {0: expected, 1: expected, 2: expected}


def test_arrays_are_added_up_in_the_order_of_the_ranks_and_left_as_they_are(data: dict[str, Dataset]) -> None:
    terms = [np.array([[0.1, 1e16]]), np.array([[0.2, 1.0]]), np.array([[0.3, -1e16]])]
    sums: dict[int, np.ndarray] = {}

    def body(rank: Rank) -> None:
        sums[rank.index] = rank.allreduce(terms[rank.index])

    run(Threads(), body, data, size=3)
    expected = np.array([[(0.1 + 0.2) + 0.3, (1e16 + 1.0) - 1e16]])
    assert [total.tolist() for total in sums.values()] == [expected.tolist()] * 3
    assert terms[0].tolist() == [[0.1, 1e16]]


def test_the_only_rank_knows_what_it_gave_and_its_sum_is_a_copy(data: dict[str, Dataset]) -> None:
    values, engine = np.array([1, 2]), data["train"].engine
    assert engine.spmd(lambda rank: rank.gather(7), data, SpmdOptions()) == [7]
    total = engine.spmd(lambda rank: rank.allreduce(values), data, SpmdOptions())
    assert (total.tolist(), np.shares_memory(total, values)) == ([1, 2], False)


def test_who_waits_for_a_lost_rank_is_let_go(data: dict[str, Dataset]) -> None:
    def body(rank: Rank) -> Any:
        if rank.index == 1:
            raise KeyboardInterrupt
        return rank.gather(None)

    launch = Threads()
    with pytest.raises(WorkerLostError, match=r"rank 1 .* its process ended"):
        run(launch, body, data, SpmdOptions(max_restarts=0))
    assert not any(thread.is_alive() for thread in launch.threads)


def test_a_rank_tells_where_others_reach_it_and_how_long_to_wait() -> None:
    with Listener("127.0.0.1", b"key of the test", 60.0, backlog=1) as listener:
        channel = Channel(place(listener, timeout=60.0))
        entered = threading.Thread(target=channel.__enter__)
        entered.start()
        coordinator = arrival(listener)
        entered.join()
        assert (channel.host, channel.timeout) == ("127.0.0.1", 60.0)
        coordinator.send(m.Answer([1, 2]))
        assert channel.gather(2) == [1, 2]
        assert hear(coordinator, m.Gather) == m.Gather(2)
        channel.__exit__(None, None, None)
        coordinator.close()


def test_only_an_error_of_a_collective_call_means_a_lost_peer() -> None:
    import torch.distributed
    from xgboost.core import XGBoostError

    for kind, text, lost in (
        (
            RuntimeError,
            "[third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [::1]:28046.",
            True,
        ),
        (RuntimeError, "[third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 4000ms", True),
        (RuntimeError, "mat1 and mat2 shapes cannot be multiplied (0x3 and 4x1)", False),
        (RuntimeError, "NCCL error encountered at: call='ncclAllReduce(...)', Reason=6:remote process exited", True),
        (RuntimeError, "NCCL_ERROR: b'unhandled system error (run with NCCL_DEBUG=INFO for details)'", True),
        (RuntimeError, "exception occurred! ERROR: syncStream failed. This can be caused by a failed rank_.", True),
        (RuntimeError, "An error occurred in the distributed operation. This can result from a failed rank", True),
        (RuntimeError, "olsFit: no algorithm with this id has been implemented", False),
        (XGBoostError, "[11:02:03] /src/collective/comm.cc:1: recv failed", True),
        (ValueError, "[11:02:03] /src/collective/comm.cc:1: recv failed", False),
        (XGBoostError, "Label contains NaN", False),
        (torch.distributed.DistBackendError, "NCCL error: remote process exited", True),
        (torch.distributed.DistNetworkError, "NCCL error: remote process exited", True),
        (torch.distributed.DistStoreError, "NCCL error: remote process exited", True),
    ):
        assert is_lost_peer(kind(text)) is lost, (kind, text)
