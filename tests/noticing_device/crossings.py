"""Where numbers of the stand-in cross between the host and the device, each by the name of what moves them."""

import functools
import threading
from collections.abc import Callable
from typing import Any

import cudf_stand_in
import numpy as np
import pyarrow as pa
import pytest
from cudf_stand_in import array_functions
from cudf_stand_in.arrays import ndarray

Notice = Callable[[str, int], None]
"""Is told by which name how many numbers cross, before they do."""

_LEAVE = {
    ndarray: "get item tolist __array__ __bool__ __float__ __int__",
    cudf_stand_in.DataFrame: "to_arrow",
    cudf_stand_in.Series: "to_arrow to_numpy to_pandas",
}
_inside = threading.local()


def watch(patch: pytest.MonkeyPatch, notice: Notice) -> None:
    """Tell `notice` of all that crosses until `patch` is undone."""
    for owner, names in _LEAVE.items():
        for name in names.split():
            patch.setattr(owner, name, _telling(getattr(owner, name), name, notice, lambda self, *_, **__: _size(self)))
    for owner in (cudf_stand_in.DataFrame, cudf_stand_in.Series):
        told = _telling(owner.from_arrow, "from_arrow", notice, lambda values: _size(values))
        patch.setattr(owner, "from_arrow", staticmethod(told))
    for name in ("__getitem__", "__setitem__"):  # CuPy copies an index that is on the host
        on_host = _telling(getattr(ndarray, name), name, notice, lambda self, key, *_: _of_numpy(key))
        patch.setattr(ndarray, name, on_host)
    made = _telling(array_functions.on_device, "asarray", notice, lambda _, given, *__, **___: _of_numpy(given))
    patch.setattr(array_functions, "on_device", made)


def _telling(function: Callable[..., Any], name: str, notice: Notice, size: Callable[..., int | None]) -> Any:
    """Return a function that tells of numbers that cross in it, but not of what crosses inside of that.

    Tables without rows, of which types are learned, are none.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        numbers = size(*arguments, **options)
        if not numbers or getattr(_inside, "told", False):
            return function(*arguments, **options)
        notice(name, numbers)
        _inside.told = True
        try:
            return function(*arguments, **options)
        finally:
            _inside.told = False

    return call


def _size(values: Any) -> int:
    """Return how many values an array, a column or a table has."""
    if isinstance(values, ndarray):
        return int(values.size)
    if isinstance(values, pa.Table | cudf_stand_in.DataFrame):
        return int(np.prod(values.shape))
    return len(values)


def _of_numpy(value: Any) -> int | None:
    """Return how many numbers the arrays of NumPy in an argument have, None where there is none."""
    if isinstance(value, tuple | list):
        sizes = [size for each in value if (size := _of_numpy(each)) is not None]
        return sum(sizes) if sizes else None
    return value.size if isinstance(value, np.ndarray) and value.ndim else None
