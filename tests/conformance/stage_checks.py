"""Checks of each stage, by tier and engine."""

import functools
import zlib

import pytest

from penstock.stages.base import Stage, Trainer
from penstock.stages.registry import discover
from penstock.testing import Check, checks_for, examples_of, tables

KINDS = discover()
"""Classes of stages by name. Examples are made in tests, as some import large libraries."""

each_stage = pytest.mark.parametrize("name", [pytest.param(key, marks=pytest.mark.xdist_group(key)) for key in KINDS])
"""Tests of a class stay in one process, which keeps its fits, where tests are shared among processes."""

FAST = (None, "ordinary", "offset", "all_null", "unseen")
"""Tables that --fast tries: the most sensitive ones, and ``unseen``, which needs no fit of its own."""

ANOTHER_FIT = ("refit", "warm_start", "repeatable", "nan_is_missing", "needed_columns", "vectors")
"""Words in the names of checks that fit again: mostly they test code that all stages share."""

TELLING = ("check_any_partitioning[ordinary]", "check_any_partitioning[offset]")
"""Tables for partitioning: one that all stages accept, and the one that is hard on sums. The others test what stages
do with rows, whatever the partitions."""

OF_FUNCTIONS = ("check_engines_agree[ordinary]", "check_any_partitioning[ordinary]", "check_scores_elsewhere")
"""Checks on a cluster of a stage that learns nothing: to an engine it is one function, whatever it does."""

SHARED = ("check_no_rows", "check_infinity_is_found[infinite_later]", "check_engines_agree[offset]")
"""Checks on a cluster of code that all stages share, with a fit each."""


@functools.cache
def examples(name: str) -> tuple[Stage, ...]:
    return examples_of(KINDS[name])


@functools.cache
def all_checks(name: str) -> tuple[Check, ...]:
    """Return the checks of all examples of a class, its oracle's included."""
    from oracles import ORACLES

    return tuple(check for stage in examples(name) for check in checks_for(stage, ORACLES.get(type(stage))))


def in_process(name: str, *, fast: bool) -> list[Check]:
    """Return the checks in one process: a sample, with the oracle of every example on the ordinary table."""
    asked = [check for check in all_checks(name) if _is_asked_in_process(check)]
    return [check for check in asked if not check.fitted or (_is_fast(check) if fast else _is_asked(check))]


def on_clusters(name: str) -> list[Check]:
    """Return the checks of the first example whose answer an engine can change; of what stages share, a sample.

    An engine takes part in what a trainer does; of any other stage it sees a reduction, or a function.
    """
    first = examples(name)[0]
    asked = [check for check in all_checks(name) if check.scheduled and check.stage is first]
    asked = [check for check in asked if check.name not in SHARED or _in_turn(check, 4)]
    if isinstance(first, Trainer) or (_gathers(first) and _hash(name) % 3 == 0):
        return asked
    if _gathers(first) or _hash(name) % 4:
        return []
    return [check for check in asked if check.name in OF_FUNCTIONS]


def _is_asked_in_process(check: Check) -> bool:
    if check.name.startswith("check_engines_agree"):
        return False
    return "partitioning" not in check.name or check.name in TELLING


def _gathers(stage: Stage) -> bool:
    schema = tables.ordinary(1).schema
    return bool(stage.bind(schema).statistics(schema))


def _is_asked(check: Check) -> bool:
    if _index(check):
        return check.name == "check_oracle[ordinary]" or _in_turn(check, 12)
    return _fits_once(check) or _in_turn(check, 3)


def _is_fast(check: Check) -> bool:
    return _index(check) == 0 and _fits_once(check) and _in_turn(check, 4)


def _in_turn(check: Check, number: int) -> bool:
    """Return whether a check is in a sample of one in `number`: checks of a case share its fit, and are together."""
    return (_hash(f"{type(check.stage).__name__} {check.case or check.name}") + _index(check)) % number == 0


def _hash(word: str) -> int:
    return zlib.crc32(word.encode())


def _index(check: Check) -> int:
    return next(i for i, stage in enumerate(examples(type(check.stage).__name__)) if stage is check.stage)


def _fits_once(check: Check) -> bool:
    """Return whether a check needs no fit beyond the one that the checks of its example share."""
    if check.case not in FAST or any(word in check.name for word in ANOTHER_FIT):
        return False
    several = check.case not in (None, "ordinary") or "schema" in check.name or "one_row" in check.name
    return "changed_state" not in check.name and not (several and isinstance(check.stage, Trainer))
