"""CuPy's modules: NumPy's functions under the names that CuPy has."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import scipy.special

from cudf_stand_in import spec
from cudf_stand_in.arrays import ndarray, on_device
from cudf_stand_in.refusals import Refusals

_TAKE_HOST = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}


class _Functions(ModuleType):
    """A module whose functions are those of `numpy_module` that CuPy has too."""

    def __init__(self, name: str, numpy_module: Any) -> None:
        super().__init__(name)
        self._numpy_module = numpy_module

    def __getattr__(self, name: str) -> Any:
        is_function = spec.signature(self.__name__, name) is not None
        found = getattr(self._numpy_module, name)
        return self._function(name, found) if is_function and not isinstance(found, type) else found

    def _function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            spec.bind(self.__name__, name, arguments, options)
            given = tuple(_as_array(value) for value in arguments)
            with spec.observed(self.__name__, name):
                return on_device(function, given, options, takes_host=name in _TAKE_HOST)

        return call


def _as_array(value: Any) -> Any:
    """Return a column as the array that CuPy sees in it, which has no nulls."""
    if not isinstance(value, Refusals):
        return value
    if value._values.null_count:
        raise ValueError("CuPy currently does not support masked arrays.")
    return value.to_cupy()


def _fuse(kernel_name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Stand for `cupy.fuse` with a name: one call, however many functions of CuPy are in it."""

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arrays: Any) -> Any:
            with spec.observed("cupy.fuse", kernel_name):
                return formula(*arrays)

        return call

    return decorate


def modules() -> dict[str, ModuleType]:
    """Return what is imported as CuPy."""
    cupy = _Functions("cupy", np)
    cupy.ndarray, cupy.linalg = ndarray, _Functions("cupy.linalg", np.linalg)
    cupy.fuse = _fuse
    cupyx = [ModuleType("cupyx"), ModuleType("cupyx.scipy"), _Functions("cupyx.scipy.special", scipy.special)]
    return {each.__name__: each for each in (cupy, cupy.linalg, *cupyx)}
