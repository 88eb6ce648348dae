"""Rules on a GPU: what they say on a CPU, on the stand-in for cuDF."""

# ruff: noqa: F811  # fixtures are parameters by the names that they are imported by

import pytest
from on_stand_in import cpu, gpu, stand_in  # noqa: F401
from rules.dirty import oracle_rows

from penstock import rules
from penstock.testing.compare import demand_equal

pytestmark = [pytest.mark.stand_in, pytest.mark.cpu("cuDF is a stand-in")]

RULES = [
    rules.NullShare("age"),
    rules.InSet("shop", ["s0", "s1"]),
    rules.InSet("id", [1, 2]),
    rules.Between("age", least=0, most=120),
    rules.Between("day", least="2024-01-03"),
    rules.Between("seen", most="2024-03-02T01:00"),
    rules.Matches("zip", r"\d{4}"),
    rules.Condition("age >= 0 and age < 120"),
    rules.Unique("id"),
    rules.Unique("seen"),
    rules.Unique(["shop", "day", "age"]),
    rules.Bounds("amount", "sum", least=0),
    rules.Bounds("age", "std", least=0),
    rules.Bounds("age", "q0.9", least=0),
    rules.Fresh("day", "9 days", now="2024-03-03"),
    rules.RowCount(least=1),
]


def test_rules_say_what_they_say_on_a_cpu(gpu, cpu):
    table = oracle_rows().to_arrow()
    found, expected = (engine.from_arrow(table).check(*RULES).to_dict()["outcomes"] for engine in (gpu, cpu))
    demand_equal(found, expected, "outcomes", rtol=1e-12)  # a GPU adds up in another order
