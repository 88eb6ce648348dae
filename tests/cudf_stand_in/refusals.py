"""What cuDF refuses for every object: becoming host memory unasked, iteration, a truth value."""

from typing import Any


class Refusals:
    """Mixed into all that has columns."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a host NumPy array via __array__ is not allowed, "
            "To explicitly construct a GPU matrix, consider using .to_cupy()\n"
            "To explicitly construct a host matrix, consider using .to_numpy()."
        )

    def __arrow_array__(self, type: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a host PyArrow object via __arrow_array__ "
            "is not allowed. Consider using .to_arrow()"
        )

    def __bool__(self) -> bool:
        raise ValueError(f"The truth value of a {type(self).__name__} is ambiguous.")


class NotIterable(Refusals):
    """A series or an index."""

    def __iter__(self) -> Any:
        raise TypeError(
            f"{type(self).__name__} object is not iterable. "
            "Consider using `.to_arrow()`, `.to_pandas()` or `.to_numpy()` if you wish to iterate over the values."
        )
