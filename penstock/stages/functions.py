"""Functions on frames by name, for `FunctionStage`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.stages._named import Named

Function = TypeVar("Function", bound=Callable[[Any], Any])

_FUNCTIONS: Named[Any] = Named("function", "register_function")


def register_function(name: str) -> Callable[[Function], Function]:
    """Register the function that follows, from one partition to one, under a name; `FunctionStage` calls it by that.

    A saved model stores the name. Register the function again, under the same name, where the model is loaded; workers
    are sent it with their work.

    Parameters
    ----------
    name : str
        Of your own; the last one registered under a name is used.

    Raises
    ------
    ConfigError
        The name is empty or no string, as where the parentheses were forgotten.

    Examples
    --------
    >>> import narwhals as nw
    >>> @register_function("double")
    ... def double(frame):
    ...     return frame.select(y=nw.col("x") * 2)
    """
    return _FUNCTIONS.register(name)


def check_function(name: Any) -> None:
    """Raise ConfigError for what cannot be the name of a function."""
    _FUNCTIONS.check(name)


class CarriesFunction:
    """A stage with a field `function`, a registered name: the code goes with it when it is sent to a worker."""

    function: str

    def code(self) -> Callable[[Any], Any]:
        """Return the function; raises UnsupportedStepError where it is not registered."""
        return _FUNCTIONS.lookup(self.function)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_code": _FUNCTIONS.get(self.function)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        code = state.pop("_code")
        self.__dict__.update(state)
        _FUNCTIONS.restore(self.function, code)
