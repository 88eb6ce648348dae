"""Counts in shards: as whole ones, whatever is merged with what; against the standard library's Counter."""

import copy
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gathering import states_of

from penstock.frames.hashing import murmur3_text
from penstock.statistics import ValueCounts
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.frequencies import ShardedFrequencies

COUNTS = ValueCounts(("x",))
RNG = np.random.default_rng(7)
LETTERS = "\xe9\uff21\U0001f600a"
NUMBERS = RNG.integers(-300, 300, 4000)
COLUMNS = {
    "strings": pa.array([f"{LETTERS[n % 4]}{n}" for n in NUMBERS], pa.string()),
    "integers": pa.array(NUMBERS, pa.int16()),
    "unsigned": pa.array(NUMBERS.astype(np.uint64), pa.uint64()),
    "booleans": pa.array(NUMBERS > 0),
    "floats": pa.array(NUMBERS * 0.5),
    "zeros": pa.array([0.0, -0.0, 1.0, -0.0]),
    "nulls among": pa.array(NUMBERS, mask=NUMBERS % 3 == 0),
    "nothing but nulls": pa.array([None] * 9, pa.string()),
    "dates": pa.array(NUMBERS.astype(np.int32), pa.int32()).cast(pa.date32()),
}


@pytest.fixture
def sharded(monkeypatch):
    monkeypatch.setattr(shards, "LIMIT", 3)
    monkeypatch.setattr(shards, "_AT_ONCE", 0)


def state_of(column):
    return states_of(COUNTS, {"x": column})[0]


def pieces_of(column, count=5):
    size = -(-len(column) // count)
    return [column.slice(first, size) for first in range(0, len(column), size)]


def rows(found):
    return list(zip(found.table["value"].to_pylist(), found.table["count"].to_pylist(), strict=True))


def expected(column):
    counted = Counter(value for value in column.to_pylist() if value is not None)
    return sorted(counted.items(), key=lambda item: (-item[1], _bytes(item[0])))


def _bytes(value):
    return value.encode() if isinstance(value, str) else value


@pytest.mark.thorough
def test_counts_are_those_of_a_counter(sharded, subtests):
    for name, column in COLUMNS.items():
        with subtests.test(name):
            found = COUNTS.finish(COUNTS.merge([state_of(piece) for piece in pieces_of(column)]))["x"]
            assert rows(found) == expected(column)
            assert (found.nulls, found.distinct) == (column.null_count, len(expected(column)))
            assert found.total == len(column) - column.null_count
            assert found.table.schema == pa.schema({"value": column.type, "count": pa.int64()})
            assert found.table["value"].num_chunks <= 1


@pytest.mark.parametrize("name", ["strings", "integers", "floats"])
def test_what_is_asked_for_before_the_table_is_as_afterwards(sharded, name):
    column = COLUMNS[name]
    found, wanted = COUNTS.finish(state_of(column))["x"], expected(column)
    assert isinstance(found, ShardedFrequencies)
    for _ in range(2):
        assert found.mode == wanted[0][0]
        assert (found.distinct, found.total) == (len(wanted), len(column))
        assert [rows(found.top(k)) for k in (0, 1, 7, 10**6)] == [wanted[:k] for k in (0, 1, 7, 10**6)]
        assert found.at_least(1) is found  # very many values are not copied
        for least in (1, 2, 8, 10**6):
            assert rows(found.at_least(least)) == [pair for pair in wanted if pair[1] >= least]
        assert rows(found.at_least(5).top(3)) == [pair for pair in wanted if pair[1] >= 5][:3]
        assert rows(found) == wanted


def test_a_state_that_was_stored_whole_merges_with_one_in_shards(monkeypatch):
    left, right = pieces_of(COLUMNS["strings"], 2)
    whole = state_of(left)
    monkeypatch.setattr(shards, "LIMIT", 3)
    merged = COUNTS.merge([whole, state_of(right)])
    assert "table" in whole["x"]
    assert "shards" in merged["x"]
    assert rows(COUNTS.finish(merged)["x"]) == expected(COLUMNS["strings"])


def test_states_in_shards_are_whole_again_when_they_are_few(sharded, monkeypatch):
    state = state_of(COLUMNS["integers"])
    monkeypatch.setattr(shards, "LIMIT", 10**6)
    assert "table" in COUNTS.merge([state, state])["x"]


def test_few_values_stay_in_one_table():
    assert "table" in state_of(COLUMNS["strings"])["x"]


def test_long_partitions_are_counted_by_slices(sharded, monkeypatch):
    monkeypatch.setattr("penstock.statistics.distinct.value_counts._ROWS", 900)
    state = state_of(COLUMNS["nulls among"])
    assert state["x"]["nulls"] == COLUMNS["nulls among"].null_count
    assert rows(COUNTS.finish(state)["x"]) == expected(COLUMNS["nulls among"])


def test_merging_that_consumes_gives_the_same_and_empties_the_list(sharded):
    states = [state_of(piece) for piece in pieces_of(COLUMNS["strings"])]
    kept = copy.deepcopy(states)
    merged = COUNTS.merge(states)
    assert states == kept
    assert COUNTS.merge_consuming(states) == merged
    assert states == []


def test_every_string_is_in_the_shard_of_its_hash(sharded):
    for place, shard in enumerate(state_of(COLUMNS["strings"])["x"]["shards"]):
        assert all(murmur3_text(value) >> 26 == place for value in shard["value"].to_pylist())


def test_a_number_has_one_shard_whatever_its_width():
    wide = pa.chunked_array([list(range(-128, 128))], pa.int64())
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        assert shards.places(wide.cast(kind)).tolist() == shards.places(wide).tolist()


def test_multiples_of_a_power_of_two_are_scattered():
    held = np.bincount(shards.places(pa.chunked_array([np.arange(64_000) * 1024])), minlength=shards.SHARDS)
    assert 800 < held.min() <= held.max() < 1200


def test_shards_share_no_memory():
    parts = shards.split(pa.table({"value": pa.array(range(6400)), "count": pa.array([1] * 6400)}))
    addresses = [part["value"].chunk(0).buffers()[1].address for part in parts]
    assert len(set(addresses)) == shards.SHARDS


COUNT = """
import json, sys
import penstock as ps
from penstock.statistics import ValueCounts

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024

data = ps.LocalEngine(device="cpu").read_parquet(sys.argv[1], fragment_bytes=2**23)
before = peak()
(state,), _ = data.gather([ValueCounts(("x",))])
found = ValueCounts(("x",)).finish(state)["x"]
print(json.dumps([peak() - before, found.distinct, found.total]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory_is_a_few_times_that_of_the_values(tmp_path):
    """Two million strings of 12 bytes are 48 MB with their counts; the bound is below what one table of them needs."""
    column = pa.array((np.arange(2_000_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) % np.uint64(2**40))
    pq.write_table(pa.table({"x": column.cast(pa.string())}), tmp_path / "x.parquet", row_group_size=100_000)
    command = [sys.executable, "-c", COUNT, str(tmp_path / "x.parquet")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    grown, distinct, total = json.loads(done.stdout)
    assert (distinct, total) == (2_000_000, 2_000_000)
    assert grown < 400 * 2**20
