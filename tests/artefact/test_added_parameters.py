"""Parameters that stages gained: at their default a digest is what it was without them."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

import penstock as ps
from penstock.stages import Clip, Imputer
from penstock.stages.parameter_checks import added_later, defaults_added


@dataclasses.dataclass(frozen=True)
class Limit(Clip):
    """A stage as it was, which the next class is with one parameter more."""


@dataclasses.dataclass(frozen=True)
class Later(Clip):
    strict: bool = dataclasses.field(default=False, kw_only=True, metadata=added_later())


Later.__name__ = "Limit"


def digest(local, stage):
    return ps.Pipeline(stage).fit(local.from_arrow(pa.table({"x": [1.0, 2.0]}))).digest


def test_a_parameter_at_its_default_leaves_the_digest_as_it_was(local):
    before = digest(local, Limit("x", lower=0))
    assert digest(local, Later("x", lower=0)) == before
    assert digest(local, Later("x", lower=0, strict=True)) != before


def test_only_parameters_that_were_added_are_left_out():
    assert defaults_added(Imputer("x")) == {"by"}
    assert defaults_added(Imputer("x", by="k")) == set()
