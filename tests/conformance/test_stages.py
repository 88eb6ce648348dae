"""Every stage of the library, found and not listed, through the suite that is shipped: on each engine and device.

What an engine cannot change is checked in one process; ``-m exhaustive`` runs it on the others as well.
"""

from __future__ import annotations

import pytest

from penstock.testing import checks_for, discover_examples

CHECKS = [check for stage in discover_examples() for check in checks_for(stage)]
IN_PROCESS = [each for each in CHECKS if not each.scheduled and not each.name.startswith("check_engines_agree")]


@pytest.mark.parametrize("check", IN_PROCESS, ids=str)
def test_in_one_process(check, local):
    check(local)


@pytest.mark.parametrize("check", [check for check in CHECKS if check.scheduled], ids=str)
def test_on_every_engine(check, engine):
    check(engine)


@pytest.mark.exhaustive
@pytest.mark.parametrize("check", [check for check in CHECKS if not check.scheduled and "[" in check.name], ids=str)
def test_hostile_data_on_every_engine(check, engine):
    check(engine)
