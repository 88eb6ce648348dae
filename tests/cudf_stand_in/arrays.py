"""CuPy's arrays over NumPy's: they do not become NumPy's unasked, and are not mixed with them.

What it does not show: other orders of addition, functions for which CuPy takes fewer types than NumPy, and memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from cudf_stand_in import spec
from cudf_stand_in.spec import Checked

_METHODS = (
    "all any argmax argmin argsort astype clip copy cumsum dot flatten max mean min nonzero prod ravel repeat reshape "
    "round sort squeeze std sum swapaxes take transpose var view"
)
_FACTS = "dtype itemsize nbytes ndim shape size strides flags"
_VIEWS = "T real imag"


class _AsNumpy:
    """What is as in NumPy."""


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *arguments, **options: on_device(getattr(self._host, name), arguments, options)


for _name in _METHODS.split():
    setattr(_AsNumpy, _name, _method(_name))
for _name in _FACTS.split():
    setattr(_AsNumpy, _name, property(lambda self, name=_name: getattr(self._host, name)))
for _name in _VIEWS.split():
    setattr(_AsNumpy, _name, property(lambda self, name=_name: self._of(getattr(self._host, name))))


class ndarray(_AsNumpy, NDArrayOperatorsMixin, Checked, owner="cupy.ndarray"):  # noqa: N801  # CuPy's name
    """An array on the device; in fact `_host`."""

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def _of(host: Any) -> ndarray:
        made = ndarray.__new__(ndarray)
        made._host = np.asarray(host)
        return made

    def get(self) -> np.ndarray:
        return self._host.copy()

    def item(self, *place: Any) -> Any:
        return self._host.item(*place)

    def tolist(self) -> Any:
        return self._host.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        spec.signature("cupy", ufunc.__name__)
        with spec.observed("cupy", ufunc.__name__):
            return on_device(getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        module = function.__module__.replace("numpy", "cupy", 1)
        if function.__name__ not in spec.MEMBERS.get(module, {}):
            return NotImplemented
        spec.bind(module, function.__name__, arguments, options)
        with spec.observed(module, function.__name__):
            return on_device(function, arguments, options)

    def __dlpack__(self, **options: Any) -> Any:
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._host.__dlpack_device__()

    def __getitem__(self, key: Any) -> ndarray:
        return self._of(self._host[host(key, takes_host=True)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._host[host(key, takes_host=True)] = host(value)

    def __len__(self) -> int:
        return len(self._host)

    def __bool__(self) -> bool:
        return bool(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __iter__(self) -> Iterator[ndarray]:
        return (self._of(each) for each in self._host)

    def __repr__(self) -> str:
        return f"cupy {self._host!r}"


def host(value: Any, takes_host: bool = False) -> Any:
    """Return arrays as NumPy's, also inside lists; one that is NumPy's is refused unless the callee `takes_host`."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, list | tuple):
        return type(value)([host(each, takes_host) for each in value])
    if isinstance(value, np.ndarray) and value.ndim and not takes_host:
        raise TypeError(f"Unsupported type {np.ndarray}")
    return value


def on_device(function: Callable[..., Any], arguments: tuple, options: dict[str, Any], takes_host: bool = False) -> Any:
    """Call a function of NumPy's; the arrays and scalars that it makes are on the device, which warns of no number."""
    given = [host(value, takes_host) for value in arguments]
    with np.errstate(all="ignore"):
        return _device(function(*given, **{name: host(value, takes_host) for name, value in options.items()}))


def _device(made: Any) -> Any:
    if isinstance(made, tuple | list):
        return type(made)(_device(each) for each in made)
    return ndarray._of(made) if isinstance(made, np.ndarray | np.generic) else made


def given_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a library that reads CuPy's arrays where they are, and here is given NumPy's."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        given = [host(value, takes_host=True) for value in arguments]
        return function(*given, **{name: host(value, takes_host=True) for name, value in options.items()})

    return call
