"""Describing and testing columns on a GPU, run on the stand-in for cuDF: what is found is as on a CPU."""

import datetime as dt
import math

import pyarrow as pa
import pytest
from on_stand_in import cpu, gpu, stand_in  # noqa: F401

from penstock import stat

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

TABLE = pa.table(
    {
        "x": [1.0, None, 2.5, -3.0, 2.5, 0.0, 7.0, 1.0],
        "n": pa.array([3, 1, 2, 2, 1, 3, 1, 2], pa.int8()),
        "zone": ["a", "b", None, "ccc", "a", "a", "b", ""],
        "late": [True, False, True, None, False, True, True, False],
        "day": [dt.date(2024, 1, 1 + place) for place in range(8)],
        "w": [0.5, 1.0, 0.0, 2.0, 1.0, 1.0, 3.0, 1.0],
    }
)


def test_descriptions_are_those_on_a_cpu(cpu, gpu):  # noqa: F811
    one, other = (engine.from_arrow(TABLE).describe() for engine in (gpu, cpu))
    for name in TABLE.column_names:
        found, expected = vars(one[name]), vars(other[name])
        assert {**found, "std": None} == {**expected, "std": None}
        assert (found["std"] or 0.0) == pytest.approx(expected["std"] or 0.0, rel=1e-12)


def test_lists_are_measured(gpu):  # noqa: F811
    column = gpu.from_arrow(pa.table({"words": [["a"], None, [], ["b", "c"]]})).describe()["words"]
    assert (column.count, column.length_min, column.length_max) == (3, 0, 2)


def test_infinite_numbers_are_counted(gpu):  # noqa: F811
    column = gpu.from_arrow(pa.table({"x": [1.0, math.inf, None]})).describe()["x"]
    assert (column.infinite, column.mean, column.distinct) == (1, None, 2)


def test_summaries_are_those_on_a_cpu(cpu, gpu):  # noqa: F811
    for weight in (None, "w"):
        one, other = (stat.summarize(engine.from_arrow(TABLE), ["x", "n"], weight) for engine in (gpu, cpu))
        for name in ("x", "n"):
            assert vars(one[name]) == pytest.approx(vars(other[name]), rel=1e-12)


def test_tests_are_those_on_a_cpu(cpu, gpu):  # noqa: F811
    one, other = (engine.from_arrow(TABLE) for engine in (gpu, cpu))
    for method in ("pearson", "spearman"):
        found = [stat.correlation(each, ["n", "w"], method)["n", "w"] for each in (one, other)]
        assert found[0] == pytest.approx(found[1], rel=1e-12)
    for test in (stat.chi_square_test, stat.mutual_information):
        assert test(one, "zone", "n") == test(other, "zone", "n")
    scores = [stat.anova_test(each, "w", "n")["w"].statistic for each in (one, other)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    assert stat.kolmogorov_smirnov_test(one, "x") == stat.kolmogorov_smirnov_test(other, "x")


@pytest.mark.thorough
def test_full_descriptions_are_those_on_a_cpu(cpu, gpu):  # noqa: F811
    table = TABLE.append_column("again", TABLE["x"]).append_column(
        "s", pa.array([" 1", "2", None, "3", "x", "07", "", "2"])
    )
    one, other = (engine.from_arrow(table).describe(full=True, label="late") for engine in (gpu, cpu))
    assert (one.warnings, one.missing_patterns) == (other.warnings, other.missing_patterns)
    for found, expected in zip(one.columns, other.columns, strict=True):
        assert (found.histogram, found.padded, found.numeric) == (expected.histogram, expected.padded, expected.numeric)
        assert (found.skewness or 0.0) == pytest.approx(expected.skewness or 0.0, rel=1e-12)
        assert found.association == expected.association
    for row, expected in zip(one.correlations.matrix, other.correlations.matrix, strict=True):
        assert row == pytest.approx(expected, rel=1e-12)


@pytest.mark.thorough
def test_rules_are_judged_as_rows_are_written(cpu, gpu, tmp_path):  # noqa: F811
    from penstock import rules

    asked = [rules.Between("x", least=0, severity="quarantine"), rules.Unique("day"), rules.Matches("zone", "[a-c]*")]
    asked += [rules.Unique("n", severity="quarantine")]
    reports = [engine.from_arrow(TABLE).write_parquet(tmp_path / engine.kind, rules=asked) for engine in (gpu, cpu)]
    assert reports[0].check.to_dict() == reports[1].check.to_dict()
    assert reports[0].quarantined == {"Between('x', least=0)": 1, "Unique(['n'])": 4}
