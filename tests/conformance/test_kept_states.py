"""Every stage that learns from statistics learns the same from states that were kept."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from grouping import EXAMPLES

import penstock as ps
from penstock.core.errors import PenstockError
from penstock.stages.vectors import over
from penstock.testing import tables
from penstock.testing.cases import trains


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """The rows of the conformance suite, in files that are a fragment each."""
    folder, rows = tmp_path_factory.mktemp("rows"), tables.ordinary()
    for place, size in enumerate([40, 1, 79]):
        first = [0, 40, 41][place]
        pq.write_table(rows.slice(first, size), folder / f"{place}.parquet")
    return folder


def _learns(stage) -> bool:
    schema = tables.ordinary().schema
    try:
        bound = stage.bind(schema)
        return bool(over.statistics(bound, schema)) and not trains(stage)
    except PenstockError:
        return False


LEARNERS = [stage for stage in EXAMPLES if _learns(stage)]


@pytest.mark.thorough
@pytest.mark.parametrize("stage", LEARNERS, ids=lambda stage: stage.title)
def test_states_that_were_kept_are_as_good(local, files, tmp_path, stage):
    data = local.read_parquet(str(files / "*.parquet"), fragment_bytes=1)
    plain = ps.Pipeline(stage).fit(data)
    cached = data.cache_states(tmp_path)
    fits = [ps.Pipeline(stage).fit(cached) for _ in range(2)]
    assert [fit.digest for fit in fits] == [plain.digest] * 2
    assert fits[1].report.rows.cached == fits[1].report.rows.read
