"""Parameters of the stages of a pipeline, addressed from outside: ``stage.parameter``, or ``stage.parameter.key``."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.core.errors import ConfigError, PenstockError, did_you_mean
from penstock.stages.base import Stage
from penstock.stages.step import StageStep


def get_params(stages: Mapping[str, Stage]) -> dict[str, Any]:
    """Return the value of every parameter, by ``stage.parameter``, of stages by name."""
    return {
        f"{name}.{field}": _copied(getattr(stage, field)) for name, stage in stages.items() for field in _fields(stage)
    }


def with_params(stages: Mapping[str, Stage], params: Mapping[str, Any]) -> dict[str, Stage | None]:
    """Return the stages with parameters, or whole stages, replaced; None for one that is left out.

    Raises
    ------
    ConfigError
        A name is not known, or a stage does not take a value.
    """
    changes: dict[str, dict[str, Any]] = {name: {} for name in stages}
    whole = dict[str, Any](stages)
    for address, value in params.items():
        name, dot, parameter = _checked(address, stages).partition(".")
        if dot:
            changes[name][parameter] = value
        else:
            whole[name] = _replacement(name, value)
    return {name: _changed(name, stage, changes[name]) for name, stage in whole.items()}


def _fields(stage: Stage) -> list[str]:
    return [field.name for field in dataclasses.fields(stage) if field.init]  # type: ignore[arg-type]


def _copied(value: Any) -> Any:
    """Return a mapping as one that can be changed without changing the stage."""
    return dict(value) if isinstance(value, Mapping) else value


def _checked(address: Any, stages: Mapping[str, Stage]) -> str:
    """Return an address whose stage is known."""
    name, dot, _ = str(address).partition(".")
    if isinstance(address, str) and name in stages:
        return address
    of_class = [known for known, stage in stages.items() if type(stage).__name__ == name]
    if of_class:
        raise ConfigError(
            f"{address!r} names no stage: the {name} of this pipeline is called {' or '.join(of_class)}",
            hint="A stage that has a name of its own, or whose class occurs again, goes by that name or number.",
            stage=name,
        )
    raise ConfigError(
        f"the pipeline has no stage {name!r}.{_nearest(str(address), name, bool(dot), stages)}"
        f" It has: {', '.join(stages) or 'none'}",
        hint="Write stage.parameter, as get_params() does.",
        stage=name,
    )


def _nearest(address: str, name: str, dotted: bool, stages: Mapping[str, Stage]) -> str:
    if dotted:
        return did_you_mean(name, stages)
    known = [*stages, *get_params(stages)]
    same = [each for each in known if each.endswith(f".{name}")]
    return did_you_mean(same[0], same) if same else did_you_mean(address, known)


def _replacement(name: str, value: Any) -> Stage | None:
    if value is None or isinstance(value, Stage):
        return value
    raise ConfigError(f"stage {name} is to be {value!r:.100}, expected a stage, or None to leave it out", stage=name)


def _changed(name: str, stage: Stage | None, changes: Mapping[str, Any]) -> Stage | None:
    if not changes:
        return stage
    if stage is None:
        raise ConfigError(f"stage {name} is left out, and {next(iter(changes))!r} of it is given", stage=name)
    values = _values(name, stage, changes)
    try:
        return dataclasses.replace(stage, **values)  # type: ignore[type-var]
    except PenstockError as error:
        raise StageStep(stage, None, 0, name=name).blamed(error) from error.__cause__
    except (TypeError, ValueError, AttributeError) as error:
        given = ", ".join(f"{parameter}={value!r:.100}" for parameter, value in values.items())
        raise ConfigError(f"{name} does not take {given}: {error}", stage=name) from error


def _values(name: str, stage: Stage, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that change; keys are put into a mapping that is given at the same time."""
    values: dict[str, Any] = {}
    for path in sorted(changes, key=lambda path: "." in path):
        parameter, dot, key = path.partition(".")
        if parameter not in _fields(stage):
            raise _unknown(name, parameter, _fields(stage), stage=name)
        part = changes[path]
        value = values.get(parameter, getattr(stage, parameter))
        values[parameter] = _with_key(name, parameter, value, key, part) if dot else part
    return values


def _with_key(name: str, parameter: str, value: Any, key: str, part: Any) -> Any:
    """Return a mapping with another value under `key`, or an estimator of scikit-learn's with another parameter."""
    if isinstance(value, Mapping) and key:
        return {**value, key: part}
    if isinstance(value, Stage) and key:
        return _changed(f"{name}.{parameter}", value, {key: part})
    if not (hasattr(value, "get_params") and hasattr(value, "set_params")):
        raise ConfigError(
            f"{parameter} of {name} is {value!r:.100}, which has no {key!r}: only a mapping or an estimator has parts",
            stage=name,
        )
    known = value.get_params()
    if key not in known:
        raise _unknown(f"{parameter} of {name}", key, known, stage=name)
    return copy.deepcopy(value).set_params(**{key: part})


def _unknown(owner: str, parameter: str, known: Iterable[str], *, stage: str) -> ConfigError:
    near = did_you_mean(parameter, known)
    return ConfigError(f"{owner} has no parameter {parameter!r}.{near} It has: {', '.join(known)}", stage=stage)
