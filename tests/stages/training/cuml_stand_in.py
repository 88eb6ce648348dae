"""A stand-in for cuML: its classes by the table, fitted by scikit-learn on the host.

A fit takes CuPy arrays alone, and `as_sklearn` is for what is fitted. Algorithms and numbers are not cuML's.
"""

import importlib
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import cudf_stand_in.arrays
import numpy as np
from sklearn.base import BaseEstimator

from penstock.stages.training.cuml._estimators import Entry, entries

SEEN: list[Any] = []
"""The matrices of all fits."""


CONVERTED = {"PCA": ["n_samples_"], "Ridge": ["n_iter_"]}
"""What a conversion reads, and fits on several GPUs do not set."""


class UnsupportedOnCPU(ValueError):
    """What cuML raises for an estimator that it does not convert."""


class OnDevice:
    """What estimators of cuML have in common."""

    _cpu_class_path: str

    @classmethod
    def _get_cpu_class(cls) -> Any:
        return loaded(cls._cpu_class_path)

    def _params_to_cpu(self) -> dict[str, Any]:
        if getattr(self, "criterion", None) == "gamma":
            raise UnsupportedOnCPU("`split_criterion='gamma'` is not supported")
        return self.get_params(deep=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        given = {name: value for name, value in (("y", y), ("sample_weight", sample_weight)) if value is not None}
        for value in (X, *given.values()):
            if not isinstance(value, cudf_stand_in.arrays.ndarray):
                raise TypeError(f"{type(value)} is on the host")
        SEEN.append(X)
        twin = self._get_cpu_class()(**self._params_to_cpu())
        if hasattr(twin, "algorithm") and hasattr(twin, "n_neighbors"):
            twin.algorithm = "brute"  # the only one of cuML's that is converted
        self.twin_ = twin.fit(X.get(), **{name: value.get() for name, value in given.items()})
        vars(self).update(dict.fromkeys(CONVERTED.get(type(self).__name__, ())))
        return self

    def fit_predict(self, X: Any) -> Any:
        return cudf_stand_in.arrays.ndarray._of(self.fit(X).twin_.labels_)

    def fit_transform(self, X: Any) -> Any:
        return cudf_stand_in.arrays.ndarray._of(self.fit(X).twin_.embedding_)

    def as_sklearn(self) -> Any:
        if not hasattr(self, "twin_"):
            raise RuntimeError("cudaErrorInsufficientDriver")
        if type(self).__name__ == "SVC" and len(self.twin_.classes_) > 2:
            raise UnsupportedOnCPU("Converting multiclass models from GPU is not yet supported")
        for attribute in CONVERTED.get(type(self).__name__, ()):
            getattr(self, attribute)
        return self.twin_


def loaded(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _class(entry: Entry) -> type:
    name = entry.name.rpartition(".")[2]
    told = {"__module__": "cuml", "_cpu_class_path": entry.twin}
    if entry.twin is None or not entry.twin.startswith("sklearn."):
        return type(name, (BaseEstimator,), told)
    return type(name, (OnDevice, loaded(entry.twin)), told)


def module() -> ModuleType:
    """Return what is imported as cuML, with all classes under their own names."""
    cuml = ModuleType("cuml")
    cuml.__spec__ = ModuleSpec("cuml", None)
    for name, entry in entries().items():
        setattr(cuml, name, _class(entry))
    return cuml


class Proxy(BaseEstimator):
    """What `cuml.accel` puts in the place of an estimator of scikit-learn: it tells neither module nor class."""

    __module__ = "sklearn.cluster"
    _gpu_class: type

    def __init__(self, n_clusters: int = 8, algorithm: str = "lloyd") -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm

    @property
    def _cpu(self) -> Any:
        return loaded("sklearn.cluster.KMeans")(self.n_clusters, algorithm=self.algorithm)


def proxy_of(cuml: ModuleType) -> type[Proxy]:
    """Return the proxy of `KMeans`."""

    def params(model: Any) -> dict[str, Any]:
        if model.algorithm != "lloyd":
            raise ValueError(f"`algorithm={model.algorithm!r}` is not supported")
        return {"n_clusters": model.n_clusters}

    behind = type("KMeans", (cuml.KMeans,), {"__module__": "cuml.cluster", "_params_from_cpu": staticmethod(params)})
    return type("KMeans", (Proxy,), {"__module__": "sklearn.cluster", "_gpu_class": behind})


def numbers(rows: int = 240) -> np.ndarray:
    """Return rows around four centres, each a column of another size."""
    draw = np.random.default_rng(3)
    centres = np.array([[-4.0, 0.0, 0.0], [4.0, 0.0, 1.0], [0.0, 5.0, -2.0], [0.0, -5.0, 3.0]])
    return (centres[np.arange(rows) % 4] + draw.normal(size=(rows, 3))) * [1.0, 10.0, 0.1] + [0.0, 50.0, 0.0]


FEATURES = ("a", "b", "c")
X = numbers()
SIZE = np.array(["large", "medium", "small"])[np.digitize(X[:, 0], [-2.0, 2.0])]
Y = X @ [2.0, -0.5, 10.0] + 3.0
