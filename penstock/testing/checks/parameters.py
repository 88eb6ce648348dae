"""A stage is its parameters: they can be stored, shipped, compared and told, and are checked against a schema."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import cast

import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.selectors import is_vector
from penstock.engines.base import Engine
from penstock.stages.base import Stage
from penstock.stages.capabilities import NumbersTaker
from penstock.testing import tables
from penstock.testing.cases import read_by
from penstock.testing.compare import demand

_SCHEMA = tables.ordinary(1).schema
_REFUSED = {
    "numeric": [pa.string(), pa.date32(), pa.list_(pa.float64())],
    "string": [pa.int64(), pa.float64(), pa.bool_()],
    "binary": [pa.string(), pa.int64(), pa.list_(pa.uint8())],
    "list": [pa.string(), pa.int64(), pa.binary()],
    "string list": [pa.string(), pa.list_(pa.int64()), pa.list_(pa.list_(pa.string()))],
    "categorical": [pa.float64(), pa.timestamp("us"), pa.list_(pa.string())],
    "any": [],
}


def check_parameters_are_json(stage: Stage, _: Engine) -> None:
    """Check that parameters survive JSON, as they were given and bound to columns."""
    for each in (stage, stage.bind(_SCHEMA)):
        again = type(each).from_parameters(json.loads(json.dumps(each.parameters(), allow_nan=False)))
        demand(again == each, f"from_parameters(parameters()) is {again!r}, expected {each!r}")


def check_unknown_parameter_is_refused(stage: Stage, _: Engine) -> None:
    """Check that a parameter that the stage does not have is an error that names it."""
    try:
        type(stage).from_parameters({**stage.parameters(), "no_such_parameter": 1})
    except ConfigError as error:
        demand("no_such_parameter" in str(error), f"the error does not name the parameter: {error}")
    else:
        raise AssertionError(f"{stage.title} takes a parameter that it does not have")


def check_pickle(stage: Stage, _: Engine) -> None:
    """Check that a copy that travelled to a worker is equal, with the same tags."""
    for each in (stage, stage.bind(_SCHEMA)):
        again = pickle.loads(pickle.dumps(each))
        demand(again == each and again.tags == each.tags, f"pickle gives {again!r}, expected {each!r}")


def check_hash(stage: Stage, _: Engine) -> None:
    """Check that equal stages have equal hashes, so that they can be held in sets and caches."""
    again = type(stage).from_parameters(stage.parameters())
    demand(hash(again) == hash(stage), f"two equal stages have the hashes {hash(again)} and {hash(stage)}")


def check_frozen(stage: Stage, _: Engine) -> None:
    """Check that no parameter can be changed once it has been checked."""
    for field in dataclasses.fields(stage):  # type: ignore[arg-type]
        try:
            setattr(stage, field.name, getattr(stage, field.name))
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"parameter {field.name!r} of {stage.title} can be changed; make it a frozen dataclass")


def check_repr(stage: Stage, _: Engine) -> None:
    """Check that the text of a stage names its class and its parameters, and no address in memory."""
    text = repr(stage.bind(_SCHEMA))
    demand(text.startswith(f"{type(stage).__qualname__}("), f"the text is {text!r}, expected {stage.title}(...)")
    absent = [name for name in stage.parameters() if f"{name}=" not in text]
    demand(not absent, f"{text!r} lacks parameter {', '.join(absent)}")
    demand(" at 0x" not in text, f"{text!r} has an address in it")


def check_bind_twice(stage: Stage, _: Engine) -> None:
    """Check that binding leaves the stage as it is, and a bound stage binds to itself."""
    text = repr(stage)
    bound = stage.bind(_SCHEMA)
    demand(repr(stage) == text, f"binding changed the stage from {text} to {stage!r}")
    demand(bound.bind(_SCHEMA) == bound, f"binding again gives {bound.bind(_SCHEMA)!r}, expected {bound!r}")


def check_missing_column_is_refused(stage: Stage, _: Engine) -> None:
    """Check that before anything is read, a missing column is a SchemaError that names it."""
    bound = stage.bind(_SCHEMA)
    for name in read_by(stage):
        _demand_refused(bound, _SCHEMA.remove(_SCHEMA.get_field_index(name)), name, "is missing")


def check_wrong_type_is_refused(stage: Stage, _: Engine) -> None:
    """Check that before anything is read, a column of a type that the tags leave out is a SchemaError that names it."""
    bound = stage.bind(_SCHEMA)
    for name in bound.inputs():
        for kind in _REFUSED[stage.tags.accepts]:
            is_taken = stage.tags.vectors and name in cast(NumbersTaker, bound).number_columns and is_vector(kind)
            if kind == _SCHEMA.field(name).type or is_taken:  # the former of a sparse vector, no column of numbers
                continue
            schema = _SCHEMA.set(_SCHEMA.get_field_index(name), pa.field(name, kind))
            _demand_refused(bound, schema, name, f"is {kind}")


def _demand_refused(bound: Stage, schema: pa.Schema, name: str, fault: str) -> None:
    try:
        bound.bind(schema)
    except SchemaError as error:
        demand(repr(name) in str(error), f"column {name!r} {fault}, and the error does not name it: {error}")
    else:
        raise AssertionError(f"{bound.title} takes a schema in which column {name!r} {fault}")
