"""Every stage of the library, found and not listed, through the suite that is shipped: on each engine and device.

What an engine cannot change is checked in one process; ``exhaustive.py`` runs it on the others as well.
"""

from __future__ import annotations

import pytest
from grouping import by_stage

from penstock.testing import Check, checks_for, discover_examples

EXAMPLES = discover_examples()
FIRST = {type(stage): stage for stage in reversed(EXAMPLES)}
OF_EACH = ("check_engines_agree[ordinary]", "check_any_partitioning[ordinary]", "check_scores_elsewhere")
"""What is asked of every engine for each example of a stage; the rest for the first, as engines know no parameters."""


def asked_of_every_engine(check: Check) -> bool:
    return check.scheduled and (check.stage is FIRST[type(check.stage)] or check.name in OF_EACH)


CHECKS = [check for stage in EXAMPLES for check in checks_for(stage)]
ON_ENGINES = [check for check in CHECKS if asked_of_every_engine(check)]
IN_PROCESS = [
    check for check in CHECKS if not (asked_of_every_engine(check) or check.name.startswith("check_engines_agree"))
]


@pytest.mark.parametrize("check", by_stage(IN_PROCESS))
def test_in_one_process(check, local):
    check(local)


@pytest.mark.parametrize("check", by_stage(ON_ENGINES))
def test_on_every_engine(check, engine):
    check(engine)
