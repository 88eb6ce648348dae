"""Every stage that learns from statistics learns the same from states that were kept."""

import pyarrow.parquet as pq
import pytest
from stage_checks import KINDS, examples

import penstock as ps
from penstock.core.errors import PenstockError
from penstock.stages.vectors import over
from penstock.testing import tables
from penstock.testing.cases import trains


def learns(stage) -> bool:
    schema = tables.ordinary().schema
    try:
        bound = stage.bind(schema)
        return bool(over.statistics(bound, schema)) and not trains(stage)
    except PenstockError:
        return False


@pytest.mark.thorough
def test_states_that_were_kept_are_as_good(local, tmp_path, subtests):
    rows = tables.ordinary()
    for first, size in [(0, 40), (40, 1), (41, 79)]:  # each file is a fragment
        pq.write_table(rows.slice(first, size), tmp_path / f"{first}.parquet")
    data = local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=1)
    cached = data.cache_states(tmp_path / "states")
    for stage in filter(learns, (examples(name)[0] for name in KINDS)):
        with subtests.test(repr(stage)):
            plain = ps.Pipeline(stage).fit(data)
            fits = [ps.Pipeline(stage).fit(cached) for _ in range(2)]
            assert [fit.digest for fit in fits] == [plain.digest] * 2
            assert fits[1].report.rows.cached == fits[1].report.rows.read
