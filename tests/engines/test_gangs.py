"""Gangs on clusters: ranks share the rows; killed and frozen ranks are restarted."""

import pyarrow as pa
import pytest
from gang_bodies import AddUp

from penstock import devices
from penstock.errors import ConfigError, DataValueError, UserCodeError
from penstock.spmd import SpmdOptions

pytestmark = pytest.mark.cpu("there are two ranks, and one GPU is for one rank")

TWO = SpmdOptions(world_size=2, timeout=60)


@pytest.fixture
def numbers(distributed_engine):
    """0 to 99 in ten fragments; their sum is 4950."""
    dataset = distributed_engine.from_arrow(pa.table({"x": range(100)}), fragment_bytes=80)
    assert len(dataset.fragments) == 10
    return {"train": dataset}


def test_ranks_add_up_all_rows_each_its_share_if_any(distributed_engine, numbers):
    result = distributed_engine.spmd(AddUp(rounds=3), numbers, TWO)
    assert result == {"total": 3 * 4950.0, "rows": [50.0, 50.0], "threads": 1, "from": 0}
    one = {"train": distributed_engine.from_arrow(pa.table({"x": [5.0]}))}
    result = distributed_engine.spmd(AddUp(rounds=2), one, TWO)
    assert (result["total"], sorted(result["rows"])) == (10.0, [0.0, 1.0])


def test_one_rank_has_all_cores_of_this_machine_unless_told(distributed_engine, numbers):
    cores = min(distributed_engine.slots, devices.usable_cores())
    for size in (None, 1):
        result = distributed_engine.spmd(AddUp(rounds=1), numbers, SpmdOptions(world_size=size))
        assert result == {"total": 4950.0, "rows": [100.0], "threads": cores, "from": 0}


def test_more_ranks_than_there_is_room_for_are_refused_at_once(distributed_engine, numbers):
    with pytest.raises(ConfigError, match=r"world_size is 3, but (Spark runs 2|the Dask cluster has 2)"):
        distributed_engine.spmd(AddUp(), numbers, SpmdOptions(world_size=3))


def test_an_error_of_a_rank_is_raised_and_not_tried_again_and_a_gang_runs_after_it(
    distributed_engine, numbers, engine_notes
):
    for unlucky in (0, 1):
        with pytest.raises(DataValueError, match="x is infinite"):
            distributed_engine.spmd(AddUp(fault="bad value", rank=unlucky), numbers, TWO)
    with pytest.raises(UserCodeError, match=r"rank 1 .* raised ZeroDivisionError: seven by nothing"):
        distributed_engine.spmd(AddUp(fault="crash"), numbers, TWO)
    assert distributed_engine.spmd(AddUp(rounds=1), numbers, TWO)["total"] == 4950.0
    assert engine_notes == []


@pytest.mark.slow
@pytest.mark.faults
def test_a_killed_rank_0_is_started_again_from_the_checkpoint(distributed_engine, numbers, tmp_path):
    body = AddUp(rounds=6, fault="kill", rank=0, at=4, marker=str(tmp_path / "killed"))
    options = SpmdOptions(world_size=2, checkpoint_interval=2, timeout=30)
    result = distributed_engine.spmd(body, numbers, options)
    assert (tmp_path / "killed").exists()
    assert result["total"] == 6 * 4950.0
    assert result["from"] in (2, 4)  # the checkpoint of round 4 may or may not have left the process


@pytest.mark.slow
@pytest.mark.faults
def test_a_frozen_rank_is_found_by_its_silence_ended_and_started_again(distributed_engine, numbers, tmp_path):
    body = AddUp(rounds=4, fault="freeze", at=2, marker=str(tmp_path / "frozen"))
    options = SpmdOptions(world_size=2, checkpoint_interval=1, timeout=4, max_restarts=4)
    result = distributed_engine.spmd(body, numbers, options)
    assert (tmp_path / "frozen").exists()
    assert result["total"] == 4 * 4950.0
