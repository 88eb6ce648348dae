"""Values of parameters of Spark ML as JSON values, and back: vectors, matrices, estimators, grids of parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from penstock.core.errors import ConfigError

ESTIMATOR = "estimator"
"""The key of a mapping that stands for an estimator, or for an evaluator."""


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
