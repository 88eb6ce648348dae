"""A few rounds of `kill_runs`, which is to be run for hundreds; a pipeline that fits in no time."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kill_runs import NEVER, Workplace
from kills import failures
from small_projects import pipeline_module

PIPELINE = pipeline_module(
    'st.Expect("x < 90", action="quarantine"), st.Imputer("x")',
    '[st.RegressionEvaluator(label="y", prediction="x", metrics=["mae"])]',
)


@pytest.mark.thorough
@pytest.mark.faults
def test_fits_that_are_killed_or_race_leave_the_outputs_of_one_run_whole(tmp_path):
    (tmp_path / "quick.py").write_text(PIPELINE)
    x = np.arange(100.0)
    pq.write_table(pa.table({"x": x, "y": x}), tmp_path / "data")
    workplace = Workplace(tmp_path, "local", random.Random(3), ["quick.py"], ["--format", "parquet"], aimed=1.0)
    workplace.prepare()
    workplace.kill_one(["driver"])
    workplace.kill_one(["driver"])
    workplace.race()
    assert workplace.counts["killed: driver"] == 2
    assert failures(workplace.counts, NEVER) == {}
