"""What shows itself in notebooks."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, cast


class Displayed:
    """Shows itself in notebooks, by a function that is imported when it is first asked for."""

    _display: ClassVar[str]
    """Which function, as ``module:name``: it takes the object and returns HTML."""

    def _repr_html_(self) -> str:
        module, _, name = self._display.partition(":")
        return cast(str, getattr(import_module(module), name)(self))
