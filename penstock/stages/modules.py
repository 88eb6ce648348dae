"""PyTorch modules by name: a model names its architecture, and holds weights; code never comes from a file."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import ConfigError, MissingExtraError, UnsupportedStepError, did_you_mean

if TYPE_CHECKING:
    import torch

Factory = Callable[..., "torch.nn.Module"]
Function = TypeVar("Function", bound=Callable[..., Any])

_FACTORIES: dict[str, Factory] = {}
_BUILT_IN = {
    "resnet18": "penstock.stages.inference._resnet",
}
"""The library's own modules and where each is registered; imported, with PyTorch, when one is asked for."""


def register_module(name: str) -> Callable[[Function], Function]:
    """Register what follows, a function or class that makes a `torch.nn.Module`, under a name.

    A model that was trained with the module stores this name and the options given, as JSON values; register it again,
    under the same name, where the model is loaded. Workers are sent the factory with their work.

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
    >>> @register_module("line")
    ... def line(inputs, outputs):
    ...     import torch
    ...     return torch.nn.Linear(inputs, outputs)
    >>> module_factory("line") is line
    True
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f"a module is registered as {name!r}, expected a name", hint="@register_module('my-net')")

    def keep(factory: Function) -> Function:
        _FACTORIES[name] = factory
        return factory

    return keep


def module_factory(name: str) -> Factory:
    """Return the factory that is registered as `name`, by the user or by the library itself.

    Raises
    ------
    UnsupportedStepError
        None is; nothing is imported by name.
    MissingExtraError
        It is one of the library's, and PyTorch is not installed.
    """
    if name not in _FACTORIES and name in _BUILT_IN:
        try:
            importlib.import_module(_BUILT_IN[name])
        except ImportError as error:
            raise MissingExtraError(
                f"module {name!r} needs PyTorch, which cannot be imported: {error}",
                hint="pip install 'penstock[torch]'",
            ) from error
    if name not in _FACTORIES:
        known = {*_FACTORIES, *_BUILT_IN}
        raise UnsupportedStepError(
            f"module {name!r} is not registered.{did_you_mean(name, known)} Registered are: {', '.join(sorted(known))}",
            hint=f"Import what registers it first: @penstock.register_module({name!r}).",
        )
    return _FACTORIES[name]


class CarriesModule:
    """A stage with a field `module`, a registered name: the factory goes with it when it is sent to a worker."""

    module: str

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_factory": _FACTORIES.get(self.module)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        factory = state.pop("_factory")
        self.__dict__.update(state)
        if factory is not None:
            _FACTORIES.setdefault(self.module, factory)
