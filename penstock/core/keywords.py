"""Wrong keywords of classes, refused with the nearest right one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from penstock.core.errors import ConfigError, did_you_mean

Made = TypeVar("Made")


def with_known_keywords(cls: type[Made], /, *arguments: Any, **keywords: Any) -> Made:
    """Return a new object, the ``__new__`` of a class; ConfigError for a keyword that its ``__init__`` does not take.

    Examples
    --------
    >>> from penstock.stages import StandardScaler
    >>> StandardScaler("x", ouput_columns=["y"])
    Traceback (most recent call last):
    penstock.errors.ConfigError: StandardScaler has no parameter 'ouput_columns'. Did you mean 'output_columns'?
      Hint: It has columns, output_columns, with_mean, with_std.
    """
    # Not the __call__ of a metaclass, which would hide the signatures of all its classes from help and editors.
    if cls.__init__ is object.__init__ and (arguments or keywords):
        raise TypeError(f"{cls.__name__}() takes no arguments")
    known = _parameters(cls.__init__) if keywords else None
    wrong = [name for name in keywords if known is not None and name not in known]
    if known is not None and wrong:
        problem = f"{cls.__name__} has no parameter {wrong[0]!r}.{did_you_mean(wrong[0], known)}"
        raise ConfigError(problem, hint=f"It has {', '.join(known) or 'none'}.")
    return object.__new__(cls)


@cache
def _parameters(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of the parameters, without ``self``; None where any keyword is taken."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return None if any_name else [parameter.name for parameter in parameters]
