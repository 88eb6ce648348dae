"""Estimators of Spark ML looked at: objects, classes and partials of classes become plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.core.errors import ConfigError
from penstock.stages.training.spark_ml._described import SparkMLDescribed
from penstock.stages.training.spark_ml._values import ESTIMATOR, is_params, to_plain

_IN_TEXT = {"formula": "st.StringIndexer and st.VectorAssembler", "statement": "engine.sql"}
"""Parameters whose text names columns, or makes other rows, with what to take instead."""


def describe(estimator: Any) -> SparkMLDescribed:
    """Return what is known of an estimator or transformer, of the class of one, or of a `functools.partial` of a class.

    Raises
    ------
    ConfigError
        It is none of these, or is fitted, or has a parameter that is no plain value, or names columns in a text.
    """
    if isinstance(estimator, type | partial):
        return _of_class(estimator)
    if not is_params(estimator):
        raise _no_estimator(estimator)
    _check(estimator)
    params = {param.name: to_plain(value, _described) for param, value in estimator._paramMap.items()}
    return SparkMLDescribed(_name(type(estimator)), params, _columns_of(estimator), estimator.uid)


def _columns_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters that name columns, those too that are the default."""
    naming = [param for param in estimator.params if param.name.endswith(("Col", "Cols"))]
    return {param.name: estimator.getOrDefault(param) for param in naming if estimator.isDefined(param)}


def _renamed(value: Any, uid: str, name: str) -> Any:
    return value.replace(uid, name) if isinstance(value, str) else value


def resolved(described: SparkMLDescribed) -> SparkMLDescribed:
    """Return a description with its columns: itself where they are known, else with those of a new estimator.

    The same one for the same class and parameters: where the default has the estimator's random name in it, the column
    has the name of the class there.
    """
    if described.columns is not None:
        return described
    inner = replace(described, params={name: _resolved(value) for name, value in described.params.items()})
    made = inner.build()
    _check(made)
    columns = {name: _renamed(value, made.uid, described.short_name) for name, value in _columns_of(made).items()}
    return replace(inner, columns=columns)


def _resolved(value: Any) -> Any:
    """Return a parameter with the estimators in it resolved."""
    if isinstance(value, list | tuple):
        return [_resolved(each) for each in value]
    if isinstance(value, Mapping) and ESTIMATOR in value:
        return {ESTIMATOR: resolved(SparkMLDescribed(**value[ESTIMATOR])).to_json()}
    return value


def _described(estimator: Any) -> dict[str, Any]:
    return describe(estimator).to_json()


def _of_class(maker: type | partial[Any]) -> SparkMLDescribed:
    kind, values, given = (maker.func, maker.args, maker.keywords) if isinstance(maker, partial) else (maker, (), {})
    if not isinstance(kind, type) or values:
        raise ConfigError(f"estimator is {maker!r:.200}, expected a class and its parameters, by name")
    return SparkMLDescribed(_name(kind), {name: to_plain(value, _described) for name, value in given.items()})


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def check_scores(estimator: Any) -> None:
    """Raise ConfigError for what neither learns nor transforms: an evaluator, say."""
    kind = estimator.func if isinstance(estimator, partial) else estimator
    if not isinstance(kind, SparkMLDescribed) and not any(hasattr(kind, name) for name in ("fit", "transform")):
        raise _no_estimator(estimator)


def _no_estimator(value: Any) -> ConfigError:
    return ConfigError(
        f"estimator is {value!r:.200}, expected an Estimator or Transformer of Spark ML",
        hint='Pass ALS(userCol="user"), or partial(ALS, userCol="user") where no session of Spark runs yet.',
    )


def _check(estimator: Any) -> None:
    """Raise ConfigError for what is fitted, and for what names columns in a text."""
    if any(kind.__name__ == "Model" for kind in type(estimator).__mro__):
        raise ConfigError(f"{estimator!r:.200} is fitted", hint="Pass the estimator that it was fitted by.")
    for name in _IN_TEXT:
        if estimator.hasParam(name):
            problem = f"{type(estimator).__name__} names columns in the text of {name!r}, and which is not known"
            raise ConfigError(problem, hint=f"Take {_IN_TEXT[name]} in its place.")
