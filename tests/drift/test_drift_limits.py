"""Limits of drift: what a file may say, and what is refused."""

from pathlib import Path

import pytest

from penstock import DriftLimits
from penstock.errors import ConfigError
from penstock.pipeline.drift.column_drift import CategoryShare, ColumnDrift, DriftMeasure
from penstock.pipeline.drift.profiling import judged


def test_a_file_that_is_wrong_is_refused_by_its_name(tmp_path, subtests):
    path = tmp_path / "clicks.yaml"
    for text, told in [
        ("level: 2", "level is 2, expected a number between 0 and 1"),
        ("limits: {psy: 0.1}", "psy.*Did you mean 'psi'"),
        ("limits: {psi: high}", "psi of limits is 'high', expected a number"),
        ("columns: {age: 0.1}", "limits of column 'age' are 0.1, expected a mapping"),
        ("columns: {age: {missing: -1}}", "missing of limits of column 'age' is -1"),
        ("limit: {psi: 0.1}", "line 1, column .*drift has no 'limit'. Did you mean 'limits'"),
    ]:
        path.write_text(text)
        with subtests.test(text), pytest.raises(ConfigError, match=f"clicks.yaml.*{told}"):
            DriftLimits.read(path)


def test_what_is_just_as_likely_as_the_level_is_an_alarm_and_named():
    measure, value = DriftMeasure("values", 0.5, 0.1, 0.2, 0.25), CategoryShare("a", 0.0, 0.5, 0.25)
    column = ColumnDrift("c", "input", (10, 10), (measure,), (value,), (), {}, {})
    (found,), _ = judged([column], [], DriftLimits(level=0.25))
    assert (found.drifted, found.categories) == (True, (value,))


def test_the_limits_of_clicks_are_read():
    limits = DriftLimits.read(Path(__file__).parents[2] / "conf" / "drift" / "clicks.yaml")
    assert limits.of("C9") == {"psi": 0.1, "missing": 0.02, "values": 0.005}
