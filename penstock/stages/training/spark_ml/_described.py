"""An estimator of Spark ML in plain values: its class, its parameters, and the columns that they name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np

from penstock.core.errors import ConfigError
from penstock.core.extras import importing

PACKAGES = ("pyspark.ml.", "spark_rapids_ml.")
"""Where classes are from: nothing else is imported by a name that a saved model has."""

ESTIMATOR = "estimator"
"""The key of a mapping that stands for an estimator, or for an evaluator."""
_MADE = (
    "outputCol", "outputCols", "predictionCol", "probabilityCol", "rawPredictionCol", "topicDistributionCol",
    "varianceCol", "leafCol", "quantilesCol", "linkPredictionCol",
)  # fmt: skip
_LEARNED_FROM = ("labelCol", "weightCol", "ratingCol", "foldCol", "censorCol", "validationIndicatorCol")


@dataclass(frozen=True)
class SparkMLDescribed:
    """What is known of an estimator or transformer: all that stays of the unfitted one when a model is saved.

    Attributes
    ----------
    name : str
        Of the class, with its module: ``"pyspark.ml.recommendation.ALS"``.
    params : mapping of str to JSON value
        Those that were given; one that is an estimator is a mapping of "estimator" to its description.
    columns : mapping of str to str or list of str, or None
        The parameters that name columns, those that are the default too; None for a class that was never called, which
        may take a session of Spark.
    uid : str
        Under which a grid of parameters refers to it; empty where it was never made.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] | None = None
    uid: str = ""

    def __post_init__(self) -> None:
        if not self.name.startswith(PACKAGES):
            raise ConfigError(
                f"{self.name} is not from {' or '.join(package[:-1] for package in PACKAGES)}",
                hint="Nothing else is imported by the name that a saved model has; make a stage of your own of it.",
            )

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_json(), sort_keys=True))

    def __repr__(self) -> str:
        return f"{self.short_name}({', '.join(f'{name}={_shown(value)}' for name, value in self.params.items())})"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        columns = None if self.columns is None else dict(self.columns)
        return {"name": self.name, "params": dict(self.params), "columns": columns, "uid": self.uid}

    def build(self) -> Any:
        """Return a new estimator; of most classes that takes a running session of Spark.

        Raises
        ------
        MissingExtraError
            PySpark is not installed.
        ConfigError
            The class has no such parameter, or does not take the value; or there is no session.
        """
        given = {name: from_plain(value, _built) for name, value in self.params.items()}
        # Names of outputs that are the default have the estimator's own in them.
        made = {name: value for name, value in (self.columns or {}).items() if value and name in _MADE}
        try:
            estimator = _made(self._class(), made | given)
        except (TypeError, ValueError, AttributeError, AssertionError) as error:
            # PySpark asserts, without a word, that there is a session.
            reason = str(error) or "there is no session of Spark"
            hint = "Make the SparkEngine first." if not str(error) else None
            raise ConfigError(f"{self!r:.200} cannot be made: {reason}", hint=hint) from error
        if self.uid:
            estimator._resetUid(self.uid)
        return estimator

    def _class(self) -> Any:
        module, _, name = self.name.rpartition(".")
        with importing(module.partition(".")[0], "spark"):
            return getattr(import_module(module), name)

    @property
    def short_name(self) -> str:
        """The class without its module."""
        return self.name.rpartition(".")[2]

    @cached_property
    def makes(self) -> tuple[str, ...]:
        """The columns that it makes."""
        return tuple(self.made_by)

    @cached_property
    def made_by(self) -> dict[str, str]:
        """The parameter that names each column that it makes."""
        return {name: parameter for part in self._parts() for parameter in _MADE for name in part._columns([parameter])}

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The columns that it reads of the rows that it scores."""
        made: set[str] = set()
        names: list[str] = []
        for part in self._parts():
            others = set(part.columns or ()).difference(_MADE, _LEARNED_FROM)
            names += [name for name in part._columns(others) if name not in made]
            made.update(part._columns(_MADE))
        return _unique(names)

    @cached_property
    def learns_from(self) -> tuple[str, ...]:
        """The columns that it reads besides where it is fitted."""
        parts = (*self._parts(), *self._inner("evaluator"))
        names = _unique(name for part in parts for name in part._columns(_LEARNED_FROM))
        return tuple(name for name in names if name not in (*self.reads, *self.makes))

    def _parts(self) -> Iterator[SparkMLDescribed]:
        """Yield what transforms, in order: the stages of a pipeline, what a search tunes, and itself."""
        for inner in (*self._inner("stages"), *self._inner(ESTIMATOR)):
            yield from inner._parts()
        yield self

    def _inner(self, name: str) -> list[SparkMLDescribed]:
        value = self.params.get(name) or []
        return [SparkMLDescribed(**each[ESTIMATOR]) for each in ([value] if isinstance(value, Mapping) else value)]

    def _columns(self, parameters: Iterable[str]) -> Iterator[str]:
        """Yield the columns under these parameters."""
        for name, value in (self.columns or {}).items():
            if value and name in parameters:
                yield from [value] if isinstance(value, str) else value


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    """Return a new object; what its class has, and does not take when it is made, as ALS's predictionCol, is set."""
    known = signature(kind).parameters
    takes_all = any(each.kind is Parameter.VAR_KEYWORD for each in known.values())
    later = {} if takes_all else {name: value for name, value in values.items() if name not in known}
    return kind(**{name: value for name, value in values.items() if name not in later})._set(**later)


def _built(description: Mapping[str, Any]) -> Any:
    return SparkMLDescribed(**description).build()


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    is_estimator = isinstance(value, Mapping) and ESTIMATOR in value
    return repr(SparkMLDescribed(**value[ESTIMATOR]) if is_estimator else value)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def is_params(value: Any) -> bool:
    """Return whether a value has parameters as Spark ML has them: an estimator, a transformer, an evaluator."""
    return not isinstance(value, type) and any(kind.__name__ == "Params" for kind in type(value).__mro__)


def to_plain(value: Any, describe: Callable[[Any], Mapping[str, Any]]) -> Any:
    """Return a value as a JSON value; `describe` gives that of an estimator.

    Raises
    ------
    ConfigError
        It has none.

    Examples
    --------
    >>> to_plain([np.float64(0.5), np.arange(2)], dict)
    [0.5, [0, 1]]
    """
    if isinstance(value, np.generic | np.ndarray):  # a number of NumPy may be a float of Python too
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_plain(each, describe) for each in value]
    if isinstance(value, Mapping):
        return {"grid": [[param.parent, param.name, to_plain(each, describe)] for param, each in value.items()]}
    if isinstance(value, type | partial) or is_params(value):
        return {ESTIMATOR: dict(describe(value))}
    if type(value).__name__ in ("DenseVector", "SparseVector"):
        return {"vector": value.toArray().tolist()}
    if type(value).__name__ in ("DenseMatrix", "SparseMatrix"):
        return {"matrix": value.toArray().tolist()}
    raise ConfigError(
        f"{value!r:.200} is a parameter that cannot be stored without storing code",
        hint="Take numbers, texts, vectors, matrices, other estimators of Spark ML, or lists of these.",
    )


def from_plain(value: Any, build: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return the value that `to_plain` made a JSON value of; `build` makes an estimator of its description."""
    if isinstance(value, list | tuple):
        return [from_plain(each, build) for each in value]
    if not isinstance(value, Mapping):
        return value
    (kind, content), *_ = value.items()
    if kind == ESTIMATOR:
        return build(content)
    if kind == "grid":
        return {_param(uid, name): from_plain(each, build) for uid, name, each in content}
    linalg = import_module("pyspark.ml.linalg")
    if kind == "vector":
        return linalg.Vectors.dense(content)
    array = np.asarray(content, dtype=np.float64)
    return linalg.Matrices.dense(*array.shape, array.ravel(order="F"))


def _param(uid: str, name: str) -> Any:
    """Return the parameter of an estimator, which is known by its name, as a key of a grid."""
    parent = import_module("pyspark.ml.util").Identifiable()
    parent.uid = uid
    return import_module("pyspark.ml.param").Param(parent, name, "")
